//! The reader of a verb's output may have read enough, as `| head -1` has.

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::unistd::pipe;
use support::{Ran, hawser};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs it with a standard output that nobody reads any more.
fn unheard(arguments: &[&str]) -> Ran {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(hawser());
    command.args(arguments).current_dir(ROOT);
    command.stdin(Stdio::null()).stdout(writer);
    command.output().expect("hawser runs").into()
}

#[test]
fn a_verb_that_nobody_reads_ends_quietly() {
    for arguments in [
        &["explain", "cases/bases/heads.json"][..],
        &[
            "explain",
            "--json",
            "crates/hawser-account/src/causes/cpu_limit/cases/ladder-cpu-limit-streams/case.json",
        ],
        &["plan", "-f", "examples/lab/hawser.toml", "--print", "cib"],
        &["report", "cases/bases/heads.json", "-o", "/dev/stdout"],
        &["lab", "list", "--json"],
        &["exports", "ocf", "meta-data"],
    ] {
        let ran = unheard(arguments);
        // 128 and SIGPIPE's number, as a shell shows it of a program that the signal ended.
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (Some(141), ""),
            "{arguments:?}"
        );
    }
}

/// Its heads do not answer, so that nothing changes that it could write.
#[test]
fn a_verb_that_has_nothing_more_to_say_sees_that_nobody_reads_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config");
    std::fs::write(&config, "Host *\n  ProxyCommand false\n").expect("a file");
    let mut command = Command::new(hawser());
    command.args(["top", "-f", "examples/lab/hawser.toml", "--ssh-config"]);
    command.arg(&config).current_dir(ROOT);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut top = command.spawn().expect("hawser runs");
    let mut lines = BufReader::new(top.stdout.take().expect("a pipe")).lines();
    let said = |line: std::io::Result<String>| line.is_ok_and(|it| it.starts_with("pool vmpool02"));
    assert!(lines.any(said));
    drop(lines);
    let begun = Instant::now();
    let mut ended = None;
    while ended.is_none() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
        ended = top.try_wait().expect("it can be waited for");
    }
    if ended.is_none() {
        top.kill().expect("it is killed");
    }
    top.wait().expect("it has ended");
    assert_eq!(ended.expect("it goes on").code(), Some(141));
}

#[test]
fn an_error_that_nobody_reads_is_still_an_error() {
    let ran = unheard(&["explain", "no-such-file.json"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no-such-file.json"), "{}", ran.stderr);

    let mut command = Command::new(hawser());
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    command
        .args(["explain", "no-such-file.json"])
        .stderr(writer);
    assert_eq!(command.status().expect("hawser runs").code(), Some(2));
}

#[test]
fn a_disk_that_is_full_is_said() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = Command::new(hawser());
    command.args(["explain", "cases/bases/heads.json"]);
    command.current_dir(ROOT).stdout(full.expect("/dev/full"));
    let ran = Ran::from(command.output().expect("hawser runs"));
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr
            .starts_with("cannot write to standard output: No space left"),
        "{}",
        ran.stderr
    );
}
