//! Compiles the eBPF programs; what comes out is embedded in the crate.

use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: [&str; 2] = ["drop_reasons", "tap"];

fn main() {
    let source = Path::new("src/collectors");
    println!("cargo::rerun-if-changed=src/collectors/bpf");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let endian = std::env::var("CARGO_CFG_TARGET_ENDIAN").expect("cargo sets the target's endian");
    let target = match endian.as_str() {
        "big" => "--target=bpfeb",
        _ => "--target=bpfel",
    };
    // The object keeps the names of its sources; where they were built is nobody's business.
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let paths = format!("-fdebug-prefix-map={here}=hawser-kernel");
    for program in PROGRAMS {
        let file = source.join(program).join(format!("{program}.bpf.c"));
        println!("cargo::rerun-if-changed={}", file.display());
        // -g makes the type information (BTF) from which members are found at load time.
        let output = Command::new("clang")
            .args([target, &paths, "-g", "-O2"])
            .args(["-Wall", "-Wextra", "-Werror", "-c"])
            .arg(&file)
            .arg("-o")
            .arg(out.join(format!("{program}.bpf.o")))
            .output();
        match output {
            Err(e) => panic!(
                "clang could not be run ({e}): it compiles Hawser's eBPF programs. \
                 Install the package `clang` (Debian, Ubuntu, Fedora, openSUSE), version 12 or later."
            ),
            Ok(output) if !output.status.success() => panic!(
                "clang could not compile {} (version 12 or later is needed, with its BPF target):\n{}",
                file.display(),
                String::from_utf8_lossy(&output.stderr)
            ),
            Ok(_) => {}
        }
    }
}
