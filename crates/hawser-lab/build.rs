//! Compiles the eBPF programs of the impairments; what comes out is embedded in the crate.

use std::path::PathBuf;
use std::process::Command;

const PROGRAMS: [&str; 2] = ["impair", "merged"];

fn main() {
    for program in PROGRAMS {
        compile(program);
    }
}

fn compile(program: &str) {
    let source = format!("src/impair/bpf/{program}.bpf.c");
    println!("cargo::rerun-if-changed={source}");
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("no {name}"));
    let object = PathBuf::from(variable("OUT_DIR")).join(format!("{program}.bpf.o"));
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
        .args(["-idirafter", &headers, "-c", &source, "-o"])
        .arg(&object)
        .output();
    match output {
        Err(e) => panic!(
            "clang could not be run ({e}): it compiles Hawser's eBPF programs; install clang \
             (12 or later) and libbpf's headers (Debian, Ubuntu: clang libbpf-dev)"
        ),
        Ok(output) if !output.status.success() => panic!(
            "clang could not compile {source} (clang 12 or later and libbpf's headers are \
             needed; Debian, Ubuntu: clang libbpf-dev):\n{}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Ok(_) => {}
    }
}
