//! What the build compiles for the kernel and for machines says nothing of where it was built, so two builds are the same.

#[test]
fn no_object_names_the_folder_of_its_build() {
    let here = env!("CARGO_MANIFEST_DIR").as_bytes();
    let objects: [(&str, &[u8]); 4] = [
        (
            "impair",
            include_bytes!(concat!(env!("OUT_DIR"), "/impair.bpf.o")),
        ),
        (
            "merged",
            include_bytes!(concat!(env!("OUT_DIR"), "/merged.bpf.o")),
        ),
        (
            "clock",
            include_bytes!(concat!(env!("OUT_DIR"), "/clock.so")),
        ),
        (
            "preload",
            include_bytes!(concat!(env!("OUT_DIR"), "/preload.so")),
        ),
    ];
    for (name, object) in objects {
        let found = object.windows(here.len()).any(|bytes| bytes == here);
        assert!(!found, "{name} has {}", env!("CARGO_MANIFEST_DIR"));
    }
}
