//! A drill that cannot fail proves nothing: clusters with a part that lies, which a drill must catch.
//!
//! Each takes minutes, so they run only when they are asked for:
//! `cargo test -p hawser --test drill_liars -- --ignored --test-threads=1`.

mod support;

use std::fs;

use serde_json::Value;
use support::{Lab, json, run};

/// Runs a drill that must fail; answers its report.
#[track_caller]
fn fails(lab: &Lab, scenario: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("case.json").display().to_string();
    let ran = run(&[
        "drill",
        scenario,
        "--lab",
        lab.name(),
        "--json",
        "--case",
        &case,
    ]);
    assert_eq!(
        ran.code,
        Some(1),
        "{scenario}: {}{}",
        ran.stdout,
        ran.stderr
    );
    json(&ran, "drill")
}

#[track_caller]
fn broke(report: &Value, any_of: &[&str]) {
    let broken = report["broken"].as_array().expect("a list");
    assert!(
        broken
            .iter()
            .any(|code| any_of.iter().any(|any| code == any)),
        "none of {any_of:?}: {report:#}"
    );
}

/// Puts a program in the place of another one in a node, until the node loses its power.
fn replace(lab: &Lab, node: &str, program: &str, script: &str) {
    let name = program.rsplit('/').next().expect("a name");
    lab.sh(
        node,
        &format!(
            "cp {program} /run/true-{name} && cat > /run/false-{name} <<'END'\n{script}\nEND\n\
             chmod 755 /run/false-{name} && mount --bind /run/false-{name} {program}"
        ),
    );
}

#[test]
#[ignore = "takes minutes"]
fn a_fence_agent_that_says_off_and_cuts_nothing_is_caught() {
    let lab = Lab::up_with(&["--cluster"]);
    replace(
        &lab,
        "head2",
        "/usr/sbin/fence_ipmilan",
        "#!/bin/sh\n\
         asked=$(cat)\n\
         case $asked in *action=off*|*action=reboot*) exit 0 ;; esac\n\
         printf '%s\\n' \"$asked\" | exec /run/true-fence_ipmilan \"$@\"",
    );
    let report = fails(&lab, "hang");
    assert_eq!(report["two_active"], true, "{report:#}");
    broke(&report, &["no-two-heads"]);
}

#[test]
#[ignore = "takes minutes"]
#[cfg(target_arch = "x86_64")]
fn a_target_that_ignores_flushes_is_caught_by_a_power_cut() {
    let lab = Lab::up_with(&["--cluster", "--bare"]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/ignore_flush.py");
    let script = fs::read_to_string(script).expect("a script");
    lab.sh(
        "head1",
        &format!(
            "cat > /run/ignore_flush.py <<'END'\n{script}\nEND\n\
             pkill -KILL -x tgtd; sleep 1; pidof tgtd && exit 1; rm -f /run/tgtd/*\n\
             setsid python3 /run/ignore_flush.py tgtd -f >/run/tgtd.log 2>&1 </dev/null & sleep 1; pidof tgtd"
        ),
    );
    let applied = run(&["apply", "--lab", lab.name()]);
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    let report = fails(&lab, "power-cut");
    broke(&report, &["no-write-lost", "no-write-stale"]);
}

#[test]
#[ignore = "takes minutes"]
fn a_head_that_serves_an_old_copy_after_a_takeover_is_caught() {
    let lab = Lab::up_with(&["--cluster"]);
    // Whoever mounts the pool on head2 gets a copy of the shelf, and waits until there is one.
    replace(
        &lab,
        "head2",
        "/usr/bin/mount",
        "#!/bin/bash\n\
         case $* in */srv/shelf/vmpool01.img*)\n\
         for i in $(seq 300); do [ -e /run/old.img ] && break; sleep 0.1; done ;; esac\n\
         exec /run/true-mount \"${@//\\/srv\\/shelf\\/vmpool01.img//run/old.img}\"",
    );
    let report = std::thread::scope(|scope| {
        // Copied when the client has written every block (4 MiB of them), and long before the head dies: the slow BMCs
        // have to be seen first, and meanwhile it writes them again.
        scope.spawn(|| {
            lab.sh(
                "client1",
                "for i in $(seq 600); do\n\
                 written=$(awk '/^wchar/ { print $2 }' /proc/$(pidof -s hawser-client)/io 2>/dev/null)\n\
                 [ ${written:-0} -gt 8000000 ] && exit 0; sleep 0.1; done; exit 1",
            );
            lab.sh(
                "head2",
                "cp --sparse=always /srv/shelf/vmpool01.img /run/new.img && mv /run/new.img /run/old.img",
            );
        });
        fails(&lab, "slow-fencing")
    });
    broke(&report, &["no-write-stale"]);
    assert_ne!(report["writes"]["stale"], 0, "{report:#}");
    assert_eq!(report["two_active"], false, "{report:#}");
}
