//! Compiles the eBPF program of the impairments; what comes out is embedded in the crate.

use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "src/impair/bpf/impair.bpf.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("no {name}"));
    let object = PathBuf::from(variable("OUT_DIR")).join("impair.bpf.o");
    let target = match variable("CARGO_CFG_TARGET_ENDIAN").as_str() {
        "big" => "--target=bpfeb",
        _ => "--target=bpfel",
    };
    // Debian keeps <asm/types.h> in a folder of the architecture, which the BPF target of clang
    // does not search.
    let headers = format!(
        "/usr/include/{}-linux-gnu",
        variable("CARGO_CFG_TARGET_ARCH")
    );
    let output = Command::new("clang")
        // v3 has atomic operations that return the old value; kernels since 5.12 run it.
        .args([
            target, "-mcpu=v3", "-g", "-O2", "-Wall", "-Wextra", "-Werror",
        ])
        .args(["-idirafter", &headers, "-c", SOURCE, "-o"])
        .arg(&object)
        .output();
    match output {
        Err(e) => panic!(
            "clang could not be run ({e}): it compiles Hawser's eBPF programs; install clang \
             (12 or later) and libbpf's headers (Debian, Ubuntu: clang libbpf-dev)"
        ),
        Ok(output) if !output.status.success() => panic!(
            "clang could not compile {SOURCE} (clang 12 or later and libbpf's headers are \
             needed; Debian, Ubuntu: clang libbpf-dev):\n{}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Ok(_) => {}
    }
}
