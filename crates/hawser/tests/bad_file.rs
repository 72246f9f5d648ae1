//! Each mistake in a cluster file gives one clear error at its place, before any node is reached.
//!
//! `HAWSER_REGENERATE=1 cargo test -p hawser --test bad_file` writes the answers again, for a person to read the
//! difference.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{Ran, hawser};

const EXAMPLE: &str = include_str!("../../../examples/lab/hawser.toml");
const BMC: &str = "[node.bmc]\naddress = \"10.72.9.10N\"\nusername = \"admin\"\n\
                   password = \"file:/etc/hawser/secrets/headN-bmc\"\ncipher = 3\n";
const FENCING: &str = "[fencing]\ndelay = { head1 = \"2s\" }\n";

/// The example with these changes.
#[track_caller]
fn changed(changes: &[(&str, &str)]) -> String {
    let mut text = EXAMPLE.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "the example has no {from}");
        text = text.replacen(from, to, 1);
    }
    text
}

/// `hawser apply` of this file, in a folder of its own with a secret of this mode.
fn apply(text: &str, mode: u32) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("bmc");
    fs::write(&secret, "hunter2\n").expect("a secret");
    fs::set_permissions(&secret, fs::Permissions::from_mode(mode)).expect("its mode");
    let here = folder.path().display().to_string();
    fs::write(
        folder.path().join("hawser.toml"),
        text.replace("/etc/hawser/secrets/head1-bmc", &format!("{here}/bmc"))
            .replace("/etc/hawser/secrets/head2-bmc", &format!("{here}/bmc")),
    )
    .expect("the file");
    let mut command = Command::new(hawser());
    command
        .args(["apply", "--ssh-config", "/dev/null"])
        .current_dir(folder.path())
        .env_remove("BMC_PASSWORD")
        .stdin(Stdio::null());
    let mut ran = Ran::from(command.output().expect("hawser runs"));
    ran.stderr = ran.stderr.replace(&here, "HERE");
    ran
}

/// What is found in a good file, and what it is replaced by.
type Edits<'a> = &'a [(&'a str, &'a str)];

#[test]
fn each_mistake_is_one_error_at_its_place() {
    let bmc = |n: &str| BMC.replace('N', n);
    let (one, two) = (bmc("1"), bmc("2"));
    let device = |name: &str, port: &str| {
        format!(
            "{FENCING}\n[[fencing.device]]\nname = \"{name}\"\nagent = \"fence_apc\"\n\
             ports = {{ head1 = \"{port}\", head2 = \"2\" }}\noptions = {{ ip = \"10.72.9.110\" }}\n"
        )
    };
    let as_a_bmc = device("fence-head1", "1");
    let divided = device("pdu", "1:3");
    let digit = device("1st-pdu", "1");
    let cases: [(&str, Edits, u32); 15] = [
        (
            "duplicate-address",
            &[("ring0 = \"10.72.0.2\"", "ring0 = \"10.72.0.1\"")],
            0o600,
        ),
        (
            "san-address-outside-its-network",
            &[("san01 = \"10.72.2.207\"", "san01 = \"10.99.2.207\"")],
            0o600,
        ),
        (
            "link-with-one-node",
            &[("ring1 = \"10.72.1.2\", ", "")],
            0o600,
        ),
        (
            "no-fencing",
            &[(&one, ""), (&two, ""), (FENCING, "")],
            0o600,
        ),
        (
            "no-fencing-not-accepted",
            &[
                (&one, ""),
                (&two, ""),
                (FENCING, "[fencing]\nnone = \"yes\"\n"),
            ],
            0o600,
        ),
        (
            "fence-device-named-as-a-bmc",
            &[(FENCING, &as_a_bmc)],
            0o600,
        ),
        ("port-that-pacemaker-divides", &[(FENCING, &divided)], 0o600),
        (
            "fence-device-that-begins-with-a-digit",
            &[(FENCING, &digit)],
            0o600,
        ),
        ("secret-readable-by-all", &[], 0o644),
        (
            "secret-not-there",
            &[("head2-bmc", "head2-bmc-of-last-year")],
            0o600,
        ),
        (
            "secret-not-set",
            &[("file:/etc/hawser/secrets/head2-bmc", "env:BMC_PASSWORD")],
            0o600,
        ),
        (
            "unknown-agent",
            &[("cipher = 3", "cipher = 3\nagent = \"fence_ipmilann\"")],
            0o600,
        ),
        (
            "unknown-agent-like-no-other",
            &[("cipher = 3", "agent = \"fence_by_hand\"")],
            0o600,
        ),
        (
            "watch-tells-nobody",
            &[(
                "[timing]",
                "[watch]\ntell = \"hooks.example.org/alarms\"\n\n[timing]",
            )],
            0o600,
        ),
        (
            "pool-prefers-a-node-that-does-not-exist",
            &[("prefer = \"head1\"", "prefer = \"head3\"")],
            0o600,
        ),
    ];
    for (name, changes, mode) in cases {
        let ran = apply(&changed(changes), mode);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{name}");
        assert!(
            !ran.stderr.contains("hunter2"),
            "{name} shows the secret: {}",
            ran.stderr
        );
        let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/bad_file")
            .join(format!("{name}.expected"));
        // How a line of the file is marked depends on how long the folder's name is.
        let words = ran
            .stderr
            .lines()
            .filter(|line| !line.contains('│') && !line.contains('─') && !line.contains('·'));
        let words: Vec<&str> = words.map(str::trim_end).filter(|l| !l.is_empty()).collect();
        let said = words.join("\n") + "\n";
        if std::env::var_os("HAWSER_REGENERATE").is_some() {
            fs::write(&golden, &said).expect("the golden file");
        }
        let wanted = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(said, wanted, "{name}");
        let (_, place) = said.split_once("hawser.toml:").expect("a place");
        assert!(place.starts_with(|c: char| c.is_ascii_digit()), "{said}");
    }
}

#[test]
fn an_error_fits_the_columns_that_are_told() {
    let mut command = Command::new(hawser());
    command
        .args(["explain", "receive-bufer-too-smal"])
        .env("COLUMNS", "50")
        .stdin(Stdio::null());
    // As it was drawn: `Ran` joins its lines.
    let ran = command.output().expect("hawser runs");
    assert_eq!(ran.status.code(), Some(2));
    let drawn = String::from_utf8(ran.stderr).expect("text");
    let widest = drawn.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(50), "{drawn}");
}
