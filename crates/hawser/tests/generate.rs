//! `hawser generate`: every verb of the help has a manual page, the client's too, and the completions ask hawser.
//! The packages that are made of it guard their removal.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use support::{Ran, hawser};

fn run(args: &[&str]) -> Ran {
    let output = Command::new(hawser())
        .args(args)
        .stdin(Stdio::null())
        .output();
    Ran::from(output.expect("hawser runs"))
}

#[test]
fn every_verb_has_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().display().to_string();
    let ran = run(&["generate", &to]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let read = |name: &str| {
        fs::read_to_string(folder.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let help = run(&["--help"]).stdout;
    let commands = help
        .split("Commands:")
        .nth(1)
        .and_then(|rest| rest.split("\n\n").next());
    let verbs = commands
        .expect("verbs")
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let verbs: Vec<&str> = verbs
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.contains(&"import") && verbs.len() > 15, "{verbs:?}");
    for verb in verbs.into_iter().filter(|verb| *verb != "help") {
        let page = read(&format!("man1/hawser-{verb}.1"));
        assert!(
            page.contains(&format!("hawser {verb}")) || page.contains(&format!("hawser\\-{verb}")),
            "{verb}"
        );
    }
    // A verb that the help does not show has no page.
    assert!(!folder.path().join("man1/hawser-agent.1").exists());
    let agent = read("exports-agent");
    assert!(
        agent.contains("exec '/usr/bin/hawser' exports ocf \"$@\""),
        "{agent}"
    );
    for script in ["hawser", "_hawser", "hawser.fish"] {
        assert!(read(&format!("completions/{script}")).contains("command hawser complete"));
    }
    // The client has pages of its own, in a package of its own.
    let client = read("client/man1/hawser-client.1");
    assert!(client.contains("knows what it wrote"), "{client}");
    assert!(read("client/man1/hawser-client-run.1").contains("\\-\\-history"));
}

/// What `prerm` of the packages says, on a head whose Pacemaker runs or not, and whose cluster answers so.
#[test]
fn no_package_is_removed_that_a_running_cluster_needs() {
    let tools = tempfile::tempdir().expect("a folder");
    let tool = |name: &str, does: &str| {
        let path = tools.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{does}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    };
    let path = format!("{}:/usr/bin:/bin", tools.path().display());
    let prerm = |package: &str, how: &str, pacemaker: bool, cib: i32| {
        tool("systemctl", if pacemaker { "exit 0" } else { "exit 3" });
        tool("cibadmin", &format!("exit {cib}"));
        let script = format!(
            "{}/../../packaging/deb/{package}/prerm",
            env!("CARGO_MANIFEST_DIR")
        );
        let mut command = Command::new("sh");
        let ran = command.arg(script).arg(how).env("PATH", &path).output();
        Ran::from(ran.expect("it runs"))
    };
    for package in ["hawser", "hawser-exports-agent"] {
        for how in ["remove", "0"] {
            // A cluster that does not say what it has may have it.
            for cib in [0, 102, 124] {
                let ran = prerm(package, how, true, cib);
                assert_eq!(ran.code, Some(1), "{package} {how} {cib}");
                assert!(ran.stderr.contains("Nothing was removed"), "{}", ran.stderr);
            }
            // "No such object", and a Pacemaker that does not run.
            assert_eq!(
                prerm(package, how, true, 105).code,
                Some(0),
                "{package} {how}"
            );
            assert_eq!(
                prerm(package, how, false, 102).code,
                Some(0),
                "{package} {how}"
            );
        }
        for how in ["upgrade", "1", "deconfigure"] {
            assert_eq!(
                prerm(package, how, true, 0).code,
                Some(0),
                "{package} {how}"
            );
        }
    }
}
