//! Drills with something broken, each made of a recorded one.

use hawser_model::drill::{
    ClientBreach, ClientRecord, DrillCase, Hold, LinkMeasured, Moment, PauseFacts, WrongWrite,
};
use hawser_model::units::{Nanos, Packets};

/// A drill, what must break in it, and what must be found.
pub struct Planted {
    pub name: &'static str,
    pub case: DrillCase,
    pub broken: &'static [&'static str],
    pub codes: &'static [&'static str],
}

/// All of them. `load` reads a recorded one.
pub fn planted(load: &dyn Fn(&str) -> DrillCase) -> Vec<Planted> {
    let tuned = || small(load("power-cut"));
    let stock = || small(load("stock-power-cut"));
    let mut all = Vec::new();
    let mut put = |name, case: DrillCase, broken, codes| {
        let mut case = case;
        case.scenario.name = String::from(name);
        all.push(Planted {
            name,
            case,
            broken,
            codes,
        });
    };

    let mut two = tuned();
    let taken = two
        .watch
        .holds
        .iter()
        .find(|hold| hold.host.as_str() == "head2" && hold.pool == "vmpool01");
    let taken = taken.expect("head2 took over").clone();
    two.watch.holds.push(Hold {
        host: "head1".into(),
        first: taken.first.shifted(-6_000_000),
        last: taken.first.shifted(250_000),
        ..taken
    });
    put("two-heads", two, &["no-two-heads"], &["static-fence-delay"]);

    let mut lost = tuned();
    lost.client.writes.lost = 1;
    lost.client.breaches.push(ClientBreach {
        wrong: WrongWrite::Lost,
        block: 17,
        acknowledged: 4_294,
        found: 0,
        at_the_end: true,
    });
    put(
        "lost-write",
        lost,
        &["no-write-lost"],
        &["static-fence-delay"],
    );

    let mut unwatched = tuned();
    unwatched.watch = Default::default();
    put(
        "unwatched",
        unwatched,
        &["no-two-heads"],
        &["static-fence-delay"],
    );

    let mut silent = tuned();
    for logs in silent.logs.values_mut() {
        logs.corosync.clear();
        logs.pacemaker.clear();
        logs.problem = Some("cat: /var/log/pacemaker/pacemaker.log: No such file".to_owned());
    }
    // Without logs nobody knows who was fenced but the fencer's own history.
    put(
        "logs-missing",
        silent,
        &["must-be-fenced"],
        &["unattributed-outage"],
    );

    let mut phase = tuned();
    for logs in phase.logs.values_mut() {
        logs.corosync.clear();
    }
    put(
        "phase-missing",
        phase,
        &[],
        &["static-fence-delay", "unattributed-outage"],
    );

    let mut import = tuned();
    later(&mut import, "action 11 (vmpool01_start_0", 4_000_000);
    // Nobody had healed anything by then.
    for fault in &mut import.faults {
        fault.heal_ordered = fault.heal_ordered.map(|at| at.shifted(4_000_000));
        fault.healed = fault.healed.map(|at| at.shifted(4_000_000));
    }
    import.scenario.promises.outage_ms = None;
    put(
        "slow-import",
        import,
        &[],
        &["slow-import", "static-fence-delay"],
    );

    let mut serial = tuned();
    let pool = serial
        .cluster
        .pools
        .iter_mut()
        .find(|pool| pool.name == "vmpool01");
    for resource in pool.into_iter().flat_map(|pool| &mut pool.resources) {
        if resource.name == "vmpool01-san01" {
            resource.agent = "ocf:heartbeat:iSCSILogicalUnit".to_owned();
        }
    }
    later(
        &mut serial,
        "(vmpool01-exports_start_0 on head2) confirmed",
        700_000,
    );
    later(
        &mut serial,
        "(vmpool01-san01_start_0 on head2) confirmed",
        900_000,
    );
    serial.scenario.promises.outage_ms = None;
    put(
        "serial-exports",
        serial,
        &[],
        &["serial-exports", "static-fence-delay"],
    );

    let mut busy = tuned();
    let first = "(vmpool01_start_0 on head2) confirmed";
    let line = marked(&busy, first).expect("a start");
    let high = moved(&line[..19], -8)
        + " head2 pacemaker-controld  [38] (throttle_check_thresholds) \tnotice: High CPU load detected: 5.860000";
    let logs = busy.logs.get_mut("head2").expect("the survivor's");
    logs.pacemaker.insert(0, high);
    later(
        &mut busy,
        "Initiating start operation vmpool01-exports_start_0",
        300_000,
    );
    busy.scenario.promises.outage_ms = None;
    put(
        "engine-throttled",
        busy,
        &[],
        &["engine-throttled", "static-fence-delay"],
    );

    let mut back_off = tuned();
    client_late(&mut back_off.client, 3_000_000);
    back_off.scenario.promises.outage_ms = None;
    put(
        "client-back-off",
        back_off.clone(),
        &[],
        &["client-back-off", "static-fence-delay"],
    );

    let mut arp = back_off;
    for logs in arp.logs.values_mut() {
        logs.pacemaker.retain(|line| !line.contains("send_arp"));
    }
    put(
        "no-gratuitous-arp",
        arp,
        &[],
        &["no-gratuitous-arp", "static-fence-delay"],
    );

    let mut token = stock();
    let link = LinkMeasured {
        sent: Packets(3000),
        lost: Packets(0),
        median: Nanos(180_000),
        longest: Nanos(4_100_000),
    };
    token.cluster.links = ["ring0", "ring1"].map(|name| (name.into(), link)).into();
    let pause = |longest| PauseFacts {
        watched: Nanos(30_000_000_000),
        longest: Nanos(longest),
    };
    token.cluster.pauses = [
        ("head1".into(), pause(9_000_000)),
        ("head2".into(), pause(31_000_000)),
    ]
    .into();
    put(
        "token",
        token,
        &[],
        &["static-fence-delay", "token-longer-than-needed"],
    );

    let mut waits = stock();
    later(
        &mut waits,
        "targeting head1 using fence-head1 returned 0",
        2_100_000,
    );
    waits.scenario.promises.outage_ms = None;
    waits.cluster.links.clear();
    put(
        "power-wait",
        waits,
        &[],
        &["power-wait", "static-fence-delay"],
    );

    // The same lines as of a fencing that works, with the fencer's words for one that does not.
    let mut failed = small(load("bmc-unreachable"));
    let logs = failed.logs.get_mut("head2").expect("the survivor's");
    let line = |lines: &[String], what: &str| {
        let at = lines.iter().position(|line| line.contains(what));
        at.unwrap_or_else(|| panic!("no {what}"))
    };
    let lines = &mut logs.pacemaker;
    let (ended, done) = (line(lines, "returned 0"), line(lines, ": OK (complete)"));
    let refused = moved(&lines[ended].replace("returned 0", "returned 1"), -20);
    let given_up = moved(
        &lines[done].replace(": OK (complete)", ": Error occurred (complete)"),
        -20,
    );
    let again = moved(&lines[line(lines, "Requesting fencing")], 22);
    lines.extend([refused, given_up, again]);
    put(
        "fencing-failed",
        failed,
        &[],
        &["takeover-waited-for-human", "static-fence-delay"],
    );

    all
}

/// Only the lines that mark something, so that a derived case can be read.
fn small(mut case: DrillCase) -> DrillCase {
    let marks = [
        "token timed out",
        "A new membership",
        "Processing graph",
        "Initiating ",
        "Requesting fencing",
        "Delaying '",
        "Operation '",
        "confirmed: ",
        "Complete=",
        "Adding inet",
        "send_arp",
    ];
    for logs in case.logs.values_mut() {
        for lines in [&mut logs.corosync, &mut logs.pacemaker] {
            lines.retain(|line| {
                marks.iter().any(|mark| line.contains(mark)) && !line.contains("CPU load")
            });
        }
    }
    case
}

/// The line that has this in it.
fn marked(case: &DrillCase, what: &str) -> Option<String> {
    let mut lines = case.logs.values().flat_map(|logs| &logs.pacemaker);
    lines.find(|line| line.contains(what)).cloned()
}

/// From the line that has `what` in it on, everything happened so much later.
fn later(case: &mut DrillCase, what: &str, us: i64) {
    let from = marked(case, what).unwrap_or_else(|| panic!("no {what}"));
    let from = from[7..19].to_owned();
    for logs in case.logs.values_mut() {
        for line in &mut logs.pacemaker {
            // Those of the agents have whole seconds, and are never before what they belong to.
            if line[7..].get(..12).is_some_and(|clock| *clock >= *from) {
                *line = moved_us(line, us);
            }
        }
    }
    client_late(&mut case.client, us);
}

/// The client came back so much later.
fn client_late(client: &mut ClientRecord, us: i64) {
    let longest = client
        .stalls
        .iter()
        .max_by_key(|stall| stall.to.0 - stall.from.0);
    let back = longest.expect("a stall").from;
    let move_on = |at: &mut Moment| {
        if *at > back.shifted(1_000_000) {
            *at = at.shifted(us);
        }
    };
    for stall in &mut client.stalls {
        move_on(&mut stall.from);
        move_on(&mut stall.to);
    }
    client
        .paths
        .iter_mut()
        .for_each(|path| move_on(&mut path.at));
    move_on(&mut client.ended);
}

/// The client's clock is so much ahead of the drill's.
#[allow(dead_code)]
pub fn client_ahead(client: &mut ClientRecord, us: i64) {
    client.clock.offset_us = -us;
    for at in [&mut client.began, &mut client.ended] {
        *at = at.shifted(us);
    }
    for stall in &mut client.stalls {
        stall.from = stall.from.shifted(us);
        stall.to = stall.to.shifted(us);
    }
    for path in &mut client.paths {
        path.at = path.at.shifted(us);
    }
}

/// A line whose stamp is so many seconds later, within its day.
pub fn moved(line: &str, seconds: i64) -> String {
    moved_us(line, seconds * 1_000_000)
}

fn moved_us(line: &str, us: i64) -> String {
    let Some(ms) = line.get(16..19).and_then(|ms| ms.parse::<i64>().ok()) else {
        return line.to_owned();
    };
    let two = |at: usize| line[at..at + 2].parse::<i64>().expect("a clock");
    let all = ((two(7) * 60 + two(10)) * 60 + two(13)) * 1000 + ms + us / 1000;
    let (seconds, ms) = (all / 1000, all % 1000);
    format!(
        "{}{:02}:{:02}:{:02}.{ms:03}{}",
        &line[..7],
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        &line[19..]
    )
}
