//! The watch of a head as systemd runs it, hardened, beside a Corosync and a Pacemaker that systemd runs too.

use crate::support::verbs::{ok, verb};
use crate::support::{Lab, eventually};
use crate::{SLOW, has_images};

/// What the watch says over its own socket.
const READING: &str = "python3 -c 'import json, urllib.request as u; \
                       print(json.load(u.urlopen(\"http://127.0.0.1:9967/reading.json\"))[\"heads\"][0][\"quorate\"])'";

/// The codes of the alarms that it has.
const ALARMS: &str = "python3 -c 'import json, urllib.request as u; \
                      print(*[a[\"code\"] for a in json.load(u.urlopen(\"http://127.0.0.1:9967/reading.json\"))[\"alarms\"]])'";

/// What it counts, by the metric's name.
fn metric(lab: &Lab, head: &str, name: &str) -> Option<f64> {
    let ask = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:9967/metrics\").read().decode())'";
    let metrics = lab.try_sh(head, ask).stdout;
    let mut lines = metrics.lines();
    lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// The processes of Corosync and Pacemaker.
fn engine(lab: &Lab, head: &str) -> String {
    lab.sh(head, "systemctl show -P MainPID corosync pacemaker")
}

#[test]
#[ignore = "boots machines"]
fn systemd_runs_a_watch_on_each_head_that_restarts_alone_and_goes_with_the_field() {
    if !has_images() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let without = include_str!("../../../../examples/lab/machines.toml");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the cluster file");
        path.display().to_string()
    };
    let with = format!("{without}\n[watch]\nunit = true\ntell = \"/usr/local/bin/told\"\n");
    let watched = file("watched.toml", &with);
    let lab = Lab::up_with(&["--machines", "--cluster", "--file", &watched]);
    let active =
        |head: &str| lab.try_sh(head, "systemctl is-active hawser-watch").stdout == "active\n";
    assert!(ok(&lab, "plan", &[]).contains("0 changes"));

    // It reads the cluster, keeps what it read, and is heard by Pacemaker's own user alone.
    for head in ["head1", "head2"] {
        assert_eq!(
            lab.sh(head, "systemctl is-enabled hawser-watch"),
            "enabled\n"
        );
        assert_eq!(lab.sh(head, "cat /etc/hawser/hawser.toml"), with);
        let read = eventually(SLOW, || lab.try_sh(head, READING).stdout == "True\n");
        let seen = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:9967/reading.json\").read())'; \
                    corosync-quorumtool -s; journalctl -u hawser-watch -o cat";
        assert!(read, "{head}: {}", lab.try_sh(head, seen).stdout);
        lab.sh(head, "test -s /var/lib/hawser/readings/00000001.full");
        let woken = lab.sh(head, "stat -c '%U %a' /run/hawser-watch/woken");
        assert_eq!(woken, "hacluster 600\n");
    }

    // Whom it is to tell is not there, which is said and keeps it from nothing.
    let said = lab.sh("head1", "journalctl -u hawser-watch -o cat");
    assert!(said.contains("/usr/local/bin/told"), "{said}");
    let program = "printf '#!/bin/sh\ncat >>/var/lib/hawser/told\n' >/usr/local/bin/told; chmod 755 /usr/local/bin/told";
    lab.sh("head1", program);

    // It may ask the network too: whether packets of full size come back, and who else has its addresses.
    let address = "10.72.2.1/24 dev san01";
    lab.sh("head2", &format!("ip address add {address}"));
    lab.ok(&[
        "impair",
        "head1/san02",
        "--direction",
        "to-node",
        "--mtu",
        "1400",
    ]);
    lab.sh("head1", "systemctl restart hawser-watch");
    let mut alarms = String::new();
    let told = eventually(SLOW, || {
        alarms = lab.try_sh("head1", ALARMS).stdout;
        let codes = ["duplicate-address", "full-size-lost"];
        let heard = lab.try_sh("head1", "cat /var/lib/hawser/told").stdout;
        codes
            .iter()
            .all(|code| alarms.contains(code) && heard.contains(code))
    });
    assert!(
        told,
        "{alarms}{}",
        lab.sh(
            "head1",
            "journalctl -u hawser-watch -o cat; cat /var/lib/hawser/told || :"
        )
    );
    // Its own mounts can only be read, and those of the pools cannot.
    assert!(!alarms.contains("pool-full"), "{alarms}");
    lab.sh("head2", &format!("ip address del {address}"));
    lab.ok(&["clear", "head1/san02"]);

    // One that is stopped is started again, and nothing of the cluster is.
    let before = engine(&lab, "head1");
    let first = lab.sh("head1", "systemctl show -P MainPID hawser-watch");
    lab.sh("head1", "systemctl kill -s STOP hawser-watch");
    let again = eventually(SLOW, || {
        let now = lab.sh("head1", "systemctl show -P MainPID hawser-watch");
        now != first && now != "0\n" && active("head1")
    });
    assert!(
        again,
        "{}",
        lab.sh("head1", "systemctl status hawser-watch || :")
    );
    assert_eq!(engine(&lab, "head1"), before);

    a_clock_that_is_set_is_told(&lab);

    // An event of the cluster touches what the watch looks at.
    let woken = "stat -c %Y /run/hawser-watch/woken";
    let before = lab.sh("head1", woken);
    ok(&lab, "move", &["vmpool02", "head1"]);
    assert!(eventually(SLOW, || lab.sh("head1", woken) != before));

    // What somebody changed is told, and put right.
    lab.sh("head2", "systemctl disable --now hawser-watch");
    let plan = ok(&lab, "plan", &[]);
    let line = "~ watch on head2: it does not start at boot; it does not run";
    assert!(plan.lines().any(|it| it == line), "{plan}");
    ok(&lab, "apply", &[]);
    assert!(active("head2") && ok(&lab, "plan", &[]).contains("0 changes"));

    // It goes with the field, and what was not Hawser's stays.
    let bare = file("bare.toml", without);
    let engines = [engine(&lab, "head1"), engine(&lab, "head2")];
    let gone = verb(&lab, "apply", &["-f", &bare]);
    assert_eq!(gone.code, Some(0), "{}{}", gone.stdout, gone.stderr);
    for head in ["head1", "head2"] {
        let units = lab.sh(
            head,
            "systemctl list-unit-files --no-legend hawser-watch.service || :",
        );
        assert_eq!(units, "");
        lab.sh(head, "test ! -e /etc/hawser/alert && test -e /etc/hawser/hawser.toml && ! pgrep -f 'hawser watc[h]'");
    }
    assert_eq!([engine(&lab, "head1"), engine(&lab, "head2")], engines);
    assert!(ok(&lab, "plan", &["-f", &bare]).contains("0 changes"));
}

/// The unit may ask who keeps the clock, and a clock that somebody sets is said and stops nothing.
#[track_caller]
fn a_clock_that_is_set_is_told(lab: &Lab) {
    // Nothing is served before its first reading.
    let kept = || metric(lab, "head1", "hawser_clock_synchronised");
    assert!(
        eventually(SLOW, || matches!(kept(), Some(0.0 | 1.0))),
        "the unit may not ask the kernel: {:?}",
        kept()
    );
    let watch = || lab.sh("head1", "systemctl show -P MainPID hawser-watch");
    let engines = || [engine(lab, "head1"), engine(lab, "head2")];
    let before = (watch(), engines());
    // What is less is a machine that got no processor for a while.
    let told = || {
        let said = lab.sh("head1", "journalctl -u hawser-watch -o cat");
        let steps = said.lines().filter_map(|line| {
            let (_, step) = line.split_once("the clock was stepped by ")?;
            step.split_once(" s:")?.0.parse().ok()
        });
        steps
            .filter(|by: &f64| by.abs() > 1000.0)
            .collect::<Vec<_>>()
    };
    // Ahead and back: what is kept before it is neither lost nor taken for newer.
    for (times, by) in [(1, "+1 hour"), (2, "-1 hour")] {
        lab.sh("head1", &format!("date -s '{by}' >/dev/null"));
        assert!(eventually(SLOW, || told().len() == times), "{:?}", told());
    }
    assert_eq!((watch(), engines()), before);
    let told = told();
    assert!(
        matches!(told[..], [on, back] if (on - 3600.0).abs() < 10.0 && (back + 3600.0).abs() < 10.0),
        "{told:?}"
    );
    let steps = metric(lab, "head1", "hawser_watch_clock_steps_total");
    assert!(steps.is_some_and(|steps| steps >= 2.0), "{steps:?}");
    let readings = || metric(lab, "head1", "hawser_watch_readings_kept_total");
    let kept = readings();
    assert!(
        kept.is_some() && eventually(SLOW, || readings() > kept),
        "it keeps no more readings"
    );
}
