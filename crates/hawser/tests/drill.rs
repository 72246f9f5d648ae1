//! A cluster that is drilled: a switchover and a power cut under a client that knows what it wrote.

mod support;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use hawser_cluster::host::drill::HostFault;
use hawser_cluster::host::questions::{MakeFault, ShowFault};
use hawser_host::transport::Command as Transport;
use hawser_host::{Agent, Host};
use hawser_model::traffic::RunKey;
use serde_json::Value;
use support::{Lab, Ran, json, run};

/// Runs a drill and wants it to pass.
#[track_caller]
fn passes(lab: &Lab, scenario: &str, case: &str) -> Value {
    // How long clients wait is no matter of this test: it must pass on a busy machine too.
    let ran = drill(
        lab,
        &[scenario, "--json", "--case", case, "--budget", "90s"],
    );
    assert_eq!(
        ran.code,
        Some(0),
        "{scenario}: {}{}",
        ran.stdout,
        ran.stderr
    );
    let report = json(&ran, "drill");
    assert_eq!(report["passed"], true, "{report:#}");
    assert_eq!(report["scenario"], scenario);
    assert_eq!(report["two_active"], false);
    let writes = &report["writes"];
    assert!(
        writes["acknowledged"].as_u64().is_some_and(|n| n > 100),
        "{writes}"
    );
    for wrong in ["lost", "stale", "torn"] {
        assert_eq!(writes[wrong], 0, "{wrong}: {report:#}");
    }
    report
}

fn drill(lab: &Lab, rest: &[&str]) -> Ran {
    run(&[&["drill", "--lab", lab.name()], rest].concat())
}

/// What is left of a drill in a lab: its note, its client.
#[track_caller]
fn nothing_is_left(lab: &Lab) {
    let note = hawser_lab::labs_folder().join(lab.name()).join("drill");
    assert!(!note.exists(), "{}", note.display());
    let client = lab.try_sh("client1", "pidof hawser-client");
    assert_ne!(client.code, Some(0), "{}", client.stdout);
}

#[test]
fn a_switchover_and_a_power_cut_lose_no_acknowledged_write() {
    let lab = Lab::up_with(&["--cluster"]);
    let folder = tempfile::tempdir().expect("a folder");
    let case = |name: &str| folder.path().join(name).display().to_string();

    let report = passes(&lab, "switchover", &case("switchover.json"));
    assert_eq!(report["fenced"], serde_json::json!([]));
    nothing_is_left(&lab);

    // The pool is on head2 now.
    let report = passes(&lab, "power-cut", &case("cut.json"));
    assert_eq!(report["fenced"], serde_json::json!(["head2"]));
    assert_eq!(report["outage_over"], true);
    nothing_is_left(&lab);

    // The same again from the case alone.
    let explained = run(&["explain", &case("cut.json"), "--json"]);
    assert_eq!(json(&explained, "drill"), report);
}

#[test]
#[ignore = "simulated heads are interrupted, cut off and killed at every question (hawser-drill, every_question.rs)"]
fn a_drill_that_is_interrupted_killed_or_led_by_ssh_leaves_nothing() {
    let lab = Lab::up_with(&["--cluster"]);
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("case.json").display().to_string();
    one_that_is_interrupted_leaves_the_cluster_whole(&lab);
    nothing_is_left(&lab);
    one_that_is_killed_is_named_and_healed(&lab);
    nothing_is_left(&lab);
    from_another_host(&lab, &case);
    nothing_is_left(&lab);
    a_clock_steps(&lab, &case);
    nothing_is_left(&lab);
}

/// Begins a drill and lets it run until it says this.
#[track_caller]
fn begun(lab: &Lab, scenario: &str, until: &str) -> (Child, BufReader<ChildStderr>, String) {
    let mut child = Command::new(support::hawser())
        .args(["drill", scenario, "--lab", lab.name()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hawser runs");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    while !said.contains(until) {
        let more = lines.read_line(&mut said).expect("it is read");
        assert!(more > 0, "no {until}: {said}");
    }
    (child, lines, said)
}

/// Ctrl-C right after the cut: the cluster shoots the head all the same, when it has its power again.
#[track_caller]
fn one_that_is_interrupted_leaves_the_cluster_whole(lab: &Lab) {
    let (mut child, mut lines, mut said) = begun(lab, "power-cut", "\npower-cut of head1");
    std::thread::sleep(Duration::from_secs(1));
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.expect("kill runs").success());
    lines.read_to_string(&mut said).expect("it is read");
    let code = child.wait().expect("it ends").code();
    assert_eq!(code, Some(2), "{said}");
    let whole = "interrupted; the faults of the drill are undone, and the cluster is whole";
    assert!(said.contains(whole), "{said}");
    let now = json(&run(&["status", "--lab", lab.name(), "--json"]), "status");
    assert_eq!(now["redundant"], true, "{now:#}");
}

#[track_caller]
fn one_that_is_killed_is_named_and_healed(lab: &Lab) {
    let nothing = drill(lab, &["--heal"]);
    assert_eq!(nothing.code, Some(0), "{}", nothing.stderr);
    assert!(
        nothing
            .stdout
            .contains("no interrupted drill is known here")
    );
    // The second one is what takes back the first.
    for (what, until) in [
        ("ring-down", "\nring-down of "),
        ("--heal", "waiting until the cluster is whole"),
    ] {
        let (mut child, _, _) = begun(lab, what, until);
        child.kill().expect("it is killed");
        child.wait().expect("it has ended");
    }
    let healed = drill(lab, &["--heal"]);
    assert_eq!(healed.code, Some(0), "{}{}", healed.stdout, healed.stderr);
    assert!(
        healed
            .stderr
            .contains("an earlier drill was interrupted: ring-down"),
        "{}",
        healed.stderr
    );
    assert!(healed.stdout.contains("the cluster is whole"));
    // Where the rest of this test wants it.
    let moved = run(&["move", "--lab", lab.name(), "vmpool01", "head1"]);
    assert_eq!(moved.code, Some(0), "{}{}", moved.stdout, moved.stderr);
}

/// The name that the target admits below.
const ADMITTED: &str = "iqn.2026-01.lab.hawser:drill";

/// The nodes as hosts of somebody's own: by ssh alone, with the client on a third one, at a target that admits one
/// initiator.
fn from_another_host(lab: &Lab, case: &str) {
    on_the_active_head(
        lab,
        &format!(
            "cp /srv/vmpool01/exports.toml /run/exports-before; cat >/srv/vmpool01/exports.toml <<X\n\
             [[target]]\nname = \"vmpool01\"\n[[target_group]]\nname = \"t\"\nmembers = [\"vmpool01\"]\n\
             [[host_group]]\nname = \"h\"\nmembers = [\"{ADMITTED}\"]\n\
             [[view]]\nname = \"v\"\nhost_group = \"h\"\ntarget_group = \"t\"\nX\n\
             /run/hawser/lab/hawser exports start vmpool01"
        ),
    );
    let refused = drill(lab, &["ring-down", "--case", case]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for part in ["as iqn.2026-01.io.hawser:client without CHAP", "host group"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }

    let keys = tempfile::tempdir().expect("a folder");
    let config = over_ssh(lab, keys.path());
    let file = hawser_lab::labs_folder()
        .join(lab.name())
        .join("admin/hawser.toml");
    let ran = run(&[
        "drill",
        "ring-down",
        "-f",
        &file.display().to_string(),
        "--ssh-config",
        &config,
        "--client-host",
        "root@client1",
        "--initiator",
        ADMITTED,
        "--yes-break",
        "lab/vmpool01",
        "--json",
        "--case",
        case,
        "--budget",
        "90s",
    ]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = json(&ran, "drill");
    assert!(report["clock_error_s"].as_f64() > Some(0.0), "{report:#}");
    assert_eq!(report["writes"]["lost"], 0, "{report:#}");
    let case: Value =
        serde_json::from_str(&std::fs::read_to_string(case).expect("a case")).expect("JSON");
    assert_eq!(case["client"]["host"], "client1");
    let left = lab.try_sh(
        "client1",
        "ls /run/hawser/hawser-* 2>/dev/null; pgrep -af ' agen[t]$'",
    );
    assert_ne!(left.code, Some(0), "{}", left.stdout);
    on_the_active_head(
        lab,
        "cp /run/exports-before /srv/vmpool01/exports.toml; /run/hawser/lab/hawser exports start vmpool01",
    );
}

/// Runs this where the pool is.
fn on_the_active_head(lab: &Lab, script: &str) {
    for head in ["head1", "head2"] {
        lab.sh(
            head,
            &format!("grep -q ' /srv/vmpool01 ' /proc/mounts || exit 0\n{script}"),
        );
    }
}

/// Lets this machine reach the nodes by ssh, and by nothing else: each connection has an sshd of its own in the
/// node. The ssh configuration for it.
fn over_ssh(lab: &Lab, keys: &std::path::Path) -> String {
    for key in ["host", "user"] {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f", key])
            .current_dir(keys)
            .status();
        assert!(made.expect("ssh-keygen runs").success());
    }
    let read = |name: &str| std::fs::read_to_string(keys.join(name)).expect("a key");
    let (host, public, user) = (read("host"), read("host.pub"), read("user.pub"));
    let mut known = String::new();
    for node in ["head1", "head2", "client1"] {
        lab.sh(
            node,
            &format!("umask 077; mkdir -p /run/ssh-test; echo '{host}' >/run/ssh-test/host; echo '{user}' >/run/ssh-test/user"),
        );
        known += &format!("{node} {public}");
    }
    std::fs::write(keys.join("known_hosts"), known).expect("it is written");
    let sshd = "mkdir -p /run/sshd; exec /usr/sbin/sshd -i -f /dev/null -h /run/ssh-test/host \
                -o AuthorizedKeysFile=/run/ssh-test/user -o StrictModes=no -o PidFile=none";
    let config = format!(
        "Host *\n User root\n IdentityFile {keys}/user\n IdentitiesOnly yes\n UserKnownHostsFile {keys}/known_hosts\n \
         ProxyCommand {hawser} lab exec --name {lab} %h -- sh -c '{sshd}'\n",
        keys = keys.display(),
        hawser = support::hawser().display(),
        lab = lab.name(),
    );
    let path = keys.join("ssh_config");
    std::fs::write(&path, config).expect("it is written");
    path.display().to_string()
}

/// The clock of head1, which has the pool, steps. Whether a machine that is short of processors then also loses a token
/// is not what this is about.
fn a_clock_steps(lab: &Lab, case: &str) {
    let ran = drill(
        lab,
        &["clock-back", "--json", "--case", case, "--budget", "90s"],
    );
    assert!(
        matches!(ran.code, Some(0 | 1)),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    let report = json(&ran, "drill");
    assert_eq!(report["two_active"], false, "{report:#}");
    for wrong in ["lost", "stale", "torn"] {
        assert_eq!(report["writes"][wrong], 0, "{wrong}: {report:#}");
    }
    let text = std::fs::read_to_string(case).expect("the case");
    let recorded: Value = serde_json::from_str(&text).expect("a case");
    let step = &recorded["logs"]["head1"]["step"];
    assert_eq!(step["by_us"], -3_600_000_000_i64);
    assert_eq!(recorded["logs"]["head2"].get("step"), None);
    assert!(
        recorded["faults"][0]["verified"].is_u64(),
        "{}",
        recorded["faults"]
    );
}

/// An agent in a node, as a drill on real heads has one.
fn agent(lab: &Lab, node: &'static str) -> Agent {
    let name = lab.name().to_owned();
    let transport = Transport::new(node.into(), move || {
        let lab = hawser_lab::Lab::open(&name)?;
        let agent = lab.agent_binary().display().to_string();
        lab.command(node, [agent.as_str(), "agent"])
    });
    Agent::connect(&transport, RunKey(1)).expect("an agent")
}

#[test]
fn a_fault_that_a_head_made_on_itself_ends_with_its_agent() {
    let lab = Lab::up();
    let mut head1 = agent(&lab, "head1");
    let silence = HostFault::Silence {
        addresses: vec!["10.72.0.1".parse().expect("an address")],
        incoming: true,
        outgoing: true,
        percent: 100,
    };
    assert!(lab.reaches("head1", "10.72.0.2"));
    let make = MakeFault {
        fault: silence.clone(),
        seconds: 600,
    };
    let pid = head1.pid();
    let head1: &mut dyn Host = &mut head1;

    // The clock of a container is this machine's. Were it not refused, it would step by nothing.
    let fault = HostFault::Clock { ahead_s: 0 };
    let seconds = 600;
    let refused = head1.ask(&MakeFault { fault, seconds });
    let why = refused.expect_err("it is refused").to_string();
    assert!(why.contains("this head is a container"), "{why}");
    lab.sh("head1", "test ! -e /run/hawser/drill-clock");

    head1.ask(&make).expect("it is made");
    assert!(!lab.reaches("head1", "10.72.0.2"));
    assert!(lab.reaches("head1", "10.72.1.2"), "the other link goes on");
    let shown = head1.ask(&ShowFault(silence)).expect("it can be asked");
    let words = shown.expect("it is shown");
    assert!(words.contains("packets"), "{words}");
    lab.sh("head1", &format!("kill -KILL {pid}"));
    assert!(lab.soon_reaches("head1", "10.72.0.2"));
    let table = lab.try_sh("head1", "nft list table inet hawser_drill");
    assert_ne!(table.code, Some(0), "{}", table.stdout);
}

#[test]
fn a_drill_on_real_heads_is_refused_unless_what_it_breaks_is_named() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/lab/hawser.toml"
    );
    let refused = |rest: &[&str], why: &str| {
        let ran = run(&[&["drill", "-f", file], rest].concat());
        assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
        // Lines are folded.
        let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(why), "{why}: {}", ran.stderr);
    };
    refused(
        &["switchover"],
        "confirmed on a terminal, or by --yes-break lab/vmpool01; nothing was done",
    );
    refused(
        &["switchover", "--yes-break", "lab/vmpool02"],
        "this would break lab/vmpool01",
    );
    refused(
        &["hang", "--yes-break", "lab/vmpool01"],
        "exists only in a lab",
    );
    refused(
        &["switchover", "--package", "pacemaker"],
        "--package: only the scenario upgrade takes it",
    );
}
