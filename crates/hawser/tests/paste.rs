//! `hawser explain` of what somebody pasted, from a file and from standard input; and of a folder of logs.

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hawser_model::drill::DrillCase;
use support::{Ran, hawser, json};

const PASTE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../cases/paste/receive-errors-no-buffer-errors.txt"
);

fn explain(args: &[&str], stdin: Stdio) -> Ran {
    let mut command = Command::new(hawser());
    Ran::from(
        command
            .arg("explain")
            .args(args)
            .stdin(stdin)
            .output()
            .expect("hawser runs"),
    )
}

#[test]
fn a_paste_is_explained_as_far_as_one_side_goes() {
    let paste = || Stdio::from(File::open(PASTE).expect("a paste"));
    let from_file = explain(&[PASTE], Stdio::null());
    let from_stdin = explain(&["-"], paste());
    assert_eq!(from_file.code, Some(1), "{}", from_file.stderr);
    assert_eq!(
        (from_stdin.code, from_stdin.stdout),
        (Some(1), from_file.stdout.clone())
    );
    assert!(
        from_file
            .stdout
            .contains("What does not follow from one side")
    );
    let answer = explain(&[PASTE, "--json"], Stdio::null());
    assert!(
        json(&answer, "paste")["pastes"][0]["loss"]
            .as_bool()
            .expect("a truth")
    );
    let clean = PASTE.replace("receive-errors-no-buffer-errors", "nothing");
    assert_eq!(explain(&[&clean], Stdio::null()).code, Some(0));
}

#[test]
fn a_text_that_is_neither_says_what_is_known() {
    let cargo = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let ran = explain(&[cargo], Stdio::null());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("netstat -su"), "{}", ran.stderr);
}

/// As an unpacked crm_report has them: a folder a head.
fn report_of(drill: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let case: DrillCase = hawser_cases::read(drill);
    for (host, logs) in &case.logs {
        let of = folder.path().join(host.as_str());
        fs::create_dir(&of).expect("a folder");
        fs::write(of.join("corosync.log"), logs.corosync.join("\n")).expect("a log");
        fs::write(of.join("pacemaker.log"), logs.pacemaker.join("\n")).expect("a log");
    }
    folder
}

#[test]
fn a_folder_of_logs_tells_why_a_service_was_away() {
    let folder = report_of("drill/power-cut");
    let path = folder.path().to_str().expect("a path");
    let ran = explain(&["--logs", path], Stdio::null());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for told in [
        "head1 was lost: head2 waited 1000 ms for the token in vain",
        "fenced: head1",
        "vmpool01 was away for 5.548 s, until it stood on head2",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
    let answer = explain(&["--logs", path, "--json"], Stdio::null());
    let report = json(&answer, "incidents");
    assert_eq!(report["incidents"][0]["services"][0]["service"], "vmpool01");
    // What was printed is explained again, and without the logs.
    let printed = folder.path().join("printed");
    fs::write(&printed, &answer.stdout).expect("a file");
    let again = explain(&[printed.to_str().expect("a path")], Stdio::null());
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    for told in ["vmpool01 was away for 5.548 s", "What was logged and read"] {
        assert!(again.stdout.contains(told), "{told}: {}", again.stdout);
    }
    fs::remove_file(&printed).expect("a file");
    // A CIB that is none is said, and the names of the resources tell the services.
    fs::write(folder.path().join("cib.xml"), "<cib").expect("a file");
    let ran = explain(&["--logs", path], Stdio::null());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("cib.xml: not a CIB"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("vmpool01 was away for 5.548 s"),
        "{}",
        ran.stdout
    );
}

/// Corosync's and Pacemaker's lines of both heads among others' in one file, as rsyslog writes it.
#[test]
fn a_central_syslog_tells_the_same_to_the_second_and_what_it_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("central.log");
    fs::write(&file, central_syslog("drill/power-cut")).expect("a file");
    let path = file.to_str().expect("a path");
    let ran = explain(&["--logs", path], Stdio::null());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for told in [
        "of syslog, 2026-11-22 11:14:13.000 to ",
        "head1 was lost: head2 waited 1000 ms for the token in vain",
        "fenced: head1",
        "vmpool01 was away for 6.000 s, until it stood on head2",
        "head2: syslog, whose stamps here are of whole seconds",
        "head2: syslog has of Pacemaker only what it calls a notice or worse",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
    let answer = explain(&["--logs", path, "--json"], Stdio::null());
    let report = json(&answer, "incidents");
    assert_eq!(report["heads"][1]["corosync"], 0);
    assert!(report["heads"][1]["syslog"].as_u64() > Some(50), "{report}");
    assert_eq!(report["incidents"][0]["lines"][0]["syslog"], true);
    // In a folder it is found by its name, compressed too.
    let gzip = Command::new("gzip").arg(&file).status().expect("gzip");
    assert!(gzip.success());
    let packed = folder.path().join("syslog.2.gz");
    fs::rename(folder.path().join("central.log.gz"), &packed).expect("a file");
    let within = folder.path().to_str().expect("a path");
    let again = explain(&["--logs", within], Stdio::null());
    assert_eq!((again.code, &again.stdout), (Some(1), &ran.stdout));
    // One that was not copied to its end is said.
    let bytes = fs::read(&packed).expect("a file");
    fs::write(&packed, &bytes[..bytes.len() / 2]).expect("a file");
    let cut = explain(&["--logs", within], Stdio::null());
    assert!(
        cut.stdout.contains("syslog.2.gz is damaged after "),
        "{}",
        cut.stdout
    );
}

/// The logs of a drill in one file: of Pacemaker its notices and worse.
fn central_syslog(drill: &str) -> String {
    let case: DrillCase = hawser_cases::read(drill);
    let corosync = case.logs.values().flat_map(|logs| &logs.corosync);
    let corosync = corosync.filter_map(|line| {
        let (host, said) = line
            .get(20..)?
            .split_once("] ")?
            .1
            .split_once(" corosync ")?;
        let (_level, said) = said.split_once('[')?;
        Some((line, format!("{host} corosync[1]:   [{said}")))
    });
    let pacemaker = case.logs.values().flat_map(|logs| &logs.pacemaker);
    let pacemaker = pacemaker.filter_map(|line| {
        let (program, said) = line.get(20..)?.split_once('[')?;
        let said = said.split_once('\t')?.1.split(" | ").next()?;
        let told = format!("{}[1]:  {said}", program.trim_end());
        (!said.starts_with("info: ")).then_some((line, told))
    });
    let mut all: Vec<_> = corosync.chain(pacemaker).collect();
    all.sort_by_key(|(line, _)| line.get(..19));
    let all = all.into_iter().map(|(line, told)| {
        let stamp = &line[..15];
        format!("{stamp} {told}\n{stamp} head1 sshd[7]: Accepted publickey for root\n")
    });
    all.collect()
}

#[test]
fn the_time_that_is_asked_about_is_chosen_and_a_wrong_one_is_one_error() {
    let folder = report_of("drill/power-cut");
    let path = folder.path().to_str().expect("a path");
    let within = [
        "--logs",
        path,
        "--since",
        "11:14",
        "--until",
        "2026-11-22 11:15",
    ];
    let ran = explain(&within, Stdio::null());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("vmpool01 was away for 5.548 s"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("head2: its logs begin at 2026-11-22 11:14:13.159: what was from 2026-11-22 11:14:00.000 on"),
        "{}",
        ran.stdout
    );
    let after = explain(
        &["--logs", path, "--until", "2026-11-22 11:14"],
        Stdio::null(),
    );
    assert_eq!(after.code, Some(0), "{}", after.stderr);
    assert!(
        after
            .stdout
            .contains("1 incident is not told: after 2026-11-22 11:14:00.000"),
        "{}",
        after.stdout
    );
    for (wrong, told) in [
        (
            vec!["--since", "yesterday"],
            "write \"2026-11-27 03:12\", \"03:12\" (the last one) or \"2h\" (ago)",
        ),
        (
            vec!["--since", "2026-11-22 11:15", "--until", "2026-11-22 11:14"],
            "it ends before it begins",
        ),
        (
            vec!["--host", "head1", "--host", "head2"],
            "--logs reads files",
        ),
    ] {
        let ran = explain(&[&["--logs", path], &wrong[..]].concat(), Stdio::null());
        assert_eq!(ran.code, Some(2), "{wrong:?}");
        assert!(ran.stderr.contains(told), "{wrong:?}: {}", ran.stderr);
    }
}

/// The CIB says which head has which number; no cluster file, so the link has Corosync's.
#[test]
fn a_folder_of_logs_tells_of_a_link_that_was_down() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/link/link-cut");
    for head in ["head1", "head2"] {
        fs::create_dir(folder.path().join(head)).expect("a folder");
        let log = Path::new(head).join("corosync.log");
        fs::copy(cases.join(&log), folder.path().join(&log)).expect("a log");
    }
    let nodes = r#"<node id="1" uname="head1"/><node id="2" uname="head2"/>"#;
    let cib = format!("<cib><configuration><nodes>{nodes}</nodes></configuration></cib>");
    fs::write(folder.path().join("cib.xml"), cib).expect("a file");
    let path = folder.path().to_str().expect("a path");
    let ran = explain(&["--logs", path], Stdio::null());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for told in [
        "1127-193356: link 1 between head1 and head2 was down\n",
        "link 1 between head1 and head2 was down for 13.428 s; head1 and head2 say so\n",
        "no service was away for it",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
    let answer = explain(&["--logs", path, "--json"], Stdio::null());
    let report = json(&answer, "incidents");
    let incident = &report["incidents"][0];
    assert_eq!(incident.get("outage_s"), None);
    assert_eq!(incident["links"][0]["down_s"], 13.428);
}

#[test]
fn what_the_watches_have_kept_tells_the_same_as_the_logs() {
    let report = report_of("drill/power-cut");
    let plain = explain(
        &["--logs", report.path().to_str().expect("a path"), "--json"],
        Stdio::null(),
    );
    let kept = tempfile::tempdir().expect("a folder");
    let case: DrillCase = hawser_cases::read("drill/power-cut");
    for (host, logs) in &case.logs {
        let folder = kept.path().join(host.as_str()).join("incidents");
        fs::create_dir_all(&folder).expect("a folder");
        let of = serde_json::json!({
            "id": "20261122-111412", "corosync": logs.corosync, "pacemaker": logs.pacemaker
        });
        fs::write(folder.join("20261122-111412.json"), of.to_string()).expect("a file");
    }
    fs::write(kept.path().join("20261122-111413.json"), "{").expect("a file");
    let path = kept.path().to_str().expect("a path");
    let ran = explain(&["--logs", path, "--json"], Stdio::null());
    let (plain, ran) = (json(&plain, "incidents"), json(&ran, "incidents"));
    assert_eq!(ran["incidents"], plain["incidents"]);
    let gaps = ran["gaps"].to_string();
    assert!(gaps.contains("no incident that a watch has kept"), "{gaps}");
}

#[test]
fn logs_that_logrotate_has_compressed_are_read_as_far_as_they_are_whole() {
    let folder = report_of("drill/power-cut");
    let path = folder.path().to_str().expect("a path");
    let plain = explain(&["--logs", path], Stdio::null());
    for head in ["head1", "head2"] {
        for log in ["corosync.log", "pacemaker.log"] {
            let log = folder.path().join(head).join(log);
            if log.exists() {
                let ran = Command::new("gzip").arg(&log).status().expect("gzip");
                assert!(ran.success());
                fs::rename(log.with_extension("log.gz"), rotated(&log)).expect("a log");
            }
        }
    }
    let packed = explain(&["--logs", path], Stdio::null());
    assert_eq!((packed.code, &packed.stdout), (Some(1), &plain.stdout));
    // One that was not copied to its end is said.
    let log = rotated(&folder.path().join("head2/pacemaker.log"));
    let bytes = fs::read(&log).expect("a log");
    fs::write(&log, &bytes[..bytes.len() / 2]).expect("a log");
    let cut = explain(&["--logs", path], Stdio::null());
    assert!(
        cut.stdout
            .contains("pacemaker.log-20261123.gz is damaged after "),
        "{}{}",
        cut.stdout,
        cut.stderr
    );
}

#[test]
fn an_archive_of_logs_is_read_like_its_folder() {
    let report = report_of("drill/power-cut");
    let plain = explain(
        &["--logs", report.path().to_str().expect("a path")],
        Stdio::null(),
    );
    let folder = tempfile::tempdir().expect("a folder");
    for (option, end) in [
        ("-cf", "tar"),
        ("-czf", "tar.gz"),
        ("-cjf", "tar.bz2"),
        ("-cJf", "tar.xz"),
    ] {
        let archive = folder.path().join(format!("crm_report.{end}"));
        let mut tar = Command::new("tar");
        tar.arg(option)
            .arg(&archive)
            .arg("-C")
            .arg(report.path())
            .arg(".");
        assert!(tar.status().expect("tar").success());
        let path = archive.to_str().expect("a path");
        // In a folder it is found by its name.
        let within = folder.path().to_str().expect("a path");
        for named in [path, within] {
            let ran = explain(&["--logs", named], Stdio::null());
            assert_eq!(
                (ran.code, &ran.stdout),
                (Some(1), &plain.stdout),
                "{named}: {}",
                ran.stderr
            );
        }
        let bytes = fs::read(&archive).expect("an archive");
        fs::write(&archive, &bytes[..bytes.len() / 3]).expect("an archive");
        let cut = explain(&["--logs", path], Stdio::null());
        let all = cut.stdout + &cut.stderr;
        assert!(all.contains("damaged"), "{end}: {all}");
        fs::remove_file(&archive).expect("an archive");
    }
    // What is neither says so.
    let text = folder.path().join("notes");
    fs::write(&text, "it failed over\nquietly\n".repeat(100)).expect("a text");
    let ran = explain(&["--logs", text.to_str().expect("a path")], Stdio::null());
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    for told in [
        "no corosync.log or pacemaker.log in it",
        "no archive, or a damaged one",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("quietly"), "{}", ran.stderr);
    // A text that is named may be a syslog, and is none.
    let named = folder.path().join("notes.txt");
    fs::rename(&text, &named).expect("a text");
    let ran = explain(&["--logs", named.to_str().expect("a path")], Stdio::null());
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let told = "no syslog with a line of theirs";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(
        !ran.stderr.contains("archive, or a damaged"),
        "{}",
        ran.stderr
    );
}

fn rotated(log: &Path) -> PathBuf {
    PathBuf::from(format!("{}-20261123.gz", log.display()))
}

#[test]
fn a_folder_without_logs_is_one_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pacemaker.log-20261101.zst");
    fs::write(&file, b"\x28\xb5\x2f\xfd\x04\x00").expect("a file");
    let ran = explain(
        &["--logs", folder.path().to_str().expect("a path")],
        Stdio::null(),
    );
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr
            .contains("no corosync.log or pacemaker.log in it"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("unpack it first"), "{}", ran.stderr);
    // It is so too where that file is named itself.
    let ran = explain(&["--logs", file.to_str().expect("a path")], Stdio::null());
    assert!(ran.stderr.contains("unpack it first"), "{}", ran.stderr);
    // Nothing was seen is not said of a text in which nothing could be.
    let log = folder.path().join("corosync.log");
    fs::write(&log, "garbage\n").expect("a log");
    let ran = explain(&["--logs", log.to_str().expect("a path")], Stdio::null());
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(
        ran.stderr
            .contains("no line of a log in it begins with a time stamp"),
        "{}",
        ran.stderr
    );
}
