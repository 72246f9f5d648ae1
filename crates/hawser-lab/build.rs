//! Compiles the eBPF programs of the impairments, and the libraries that are loaded before programs: the one that gives a
//! head a clock of its own, and the one that stands between a machine's kernel and the host. What comes out is embedded in
//! the crate.

use std::path::PathBuf;
use std::process::Command;

const PROGRAMS: [&str; 2] = ["impair", "merged"];

/// Where a head keeps by how much its clock is ahead.
const OFFSET: &str = "/run/hawser/clock/offset";

fn main() {
    for program in PROGRAMS {
        program_of_the_kernel(program);
    }
    println!("cargo::rustc-env=HAWSER_CLOCK_OFFSET={OFFSET}");
    let offset = format!("-DOFFSET_FILE=\"{OFFSET}\"");
    library("src/cluster/clock/clock.c", "clock.so", &[&offset]);
    println!("cargo::rerun-if-changed=src/machines/preload/access.h");
    library("src/machines/preload/preload.c", "preload.so", &[]);
}

fn library(source: &str, object: &str, own: &[&str]) {
    let target = format!("--target={}", variable("TARGET"));
    // For its own machine clang knows better where the C library's parts are.
    let target = (variable("TARGET") != variable("HOST")).then_some(target.as_str());
    let flags = ["-shared", "-fPIC", "-s", "-std=gnu11"].into_iter();
    let flags = flags.chain(own.iter().copied()).chain(target);
    compile(&flags.collect::<Vec<_>>(), source, object);
}

fn program_of_the_kernel(program: &str) {
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
    // The object keeps the names of its sources; where they were built is nobody's business.
    let paths = format!(
        "-fdebug-prefix-map={}=hawser-lab",
        variable("CARGO_MANIFEST_DIR")
    );
    // v3 has atomic operations that return the old value; kernels since 5.12 run it.
    let flags = [
        target,
        "-mcpu=v3",
        "-g",
        &paths,
        "-idirafter",
        &headers,
        "-c",
    ];
    let source = format!("src/impair/bpf/{program}.bpf.c");
    compile(&flags, &source, &format!("{program}.bpf.o"));
}

fn compile(flags: &[&str], source: &str, object: &str) {
    println!("cargo::rerun-if-changed={source}");
    let output = Command::new("clang")
        .args(["-O2", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(PathBuf::from(variable("OUT_DIR")).join(object))
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

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("no {name}"))
}
