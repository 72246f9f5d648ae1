//! The bill of materials that the packages bring: whole, with licences and checksums, and the same each time.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use serde_json::Value;

#[test]
fn a_bill_names_what_is_linked_with_licence_and_checksum() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let to = tempfile::tempdir().expect("a folder");
    let bills = |name: &str| -> Option<[String; 2]> {
        let folder = to.path().join(name);
        let ran = Command::new("python3")
            .arg("packaging/sbom")
            .arg(&folder)
            .current_dir(&root)
            .output();
        if ran
            .as_ref()
            .is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
        {
            println!("skipped: no python3 here");
            return None;
        }
        let ran = ran.expect("python3 runs");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{said}");
        let read = |program: &str| {
            let file = folder.join(format!("{program}.cdx.json"));
            fs::read_to_string(file).expect("a bill")
        };
        Some([read("hawser"), read("hawser-client")])
    };
    let (Some(first), Some(second)) = (bills("first"), bills("second")) else {
        return;
    };
    assert_eq!(first, second);
    for (text, has, lacks) in [
        // A procedural macro, what only tests need, and what the other program has.
        (
            &first[0],
            ["serde", "openssl", "glibc"],
            ["serde_derive", "proptest", "cc"],
        ),
        (
            &first[1],
            ["serde", "crc32fast", "clap"],
            ["serde_derive", "tempfile", "openssl"],
        ),
    ] {
        let bill: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(bill["bomFormat"], "CycloneDX");
        let parts = bill["components"].as_array().expect("components");
        let named = |name: &str| parts.iter().any(|part| part["name"] == name);
        for name in has {
            assert!(named(name), "{name}");
        }
        for name in lacks {
            assert!(!named(name), "{name}");
        }
        for part in parts {
            let name = part["name"].as_str().expect("a name");
            assert!(part["licenses"][0]["expression"].is_string(), "{name}");
            let own = name.starts_with("hawser-");
            let of_system = part["purl"]
                .as_str()
                .is_some_and(|it| it.starts_with("pkg:generic/"));
            assert_eq!(
                part["hashes"][0]["content"].is_string(),
                !own && !of_system,
                "{name}"
            );
        }
    }
}
