//! What is to be tried against a finding, and the traffic on which it is.

use std::collections::BTreeMap;
use std::fs;

use crate::support::saved::{runs, updating};
use hawser_account::fixes::{Candidate, Taken, TrialPlan, TrialValue, plans, takes_a_boot};
use hawser_model::case::{Case, Phase, PhaseKind, Stopped};
use hawser_model::knob::{Knob, Scope, Setting};
use hawser_model::units::{Bytes, Mtu};

/// A golden case.
fn case(case: &str) -> Case {
    hawser_cases::read(case)
}

/// The plan for this finding of a case.
fn plan(case: &Case, cause: &str) -> TrialPlan {
    let mut plans = plans(case).into_iter();
    plans.find(|p| p.cause == cause).expect("a plan")
}

#[test]
fn a_buffer_that_was_not_granted_is_judged_by_itself_until_it_costs_packets() {
    let due = |name| {
        let plan = plan(&case(name), "buffer-not-granted");
        plan.traffic.expect("the traffic whose receiver asked").due
    };
    assert_eq!(due("buffer-not-granted"), Some(Bytes(8 << 20)));
    assert_eq!(due("buffer-not-granted-lossy"), None);
}

#[test]
fn a_buffer_that_is_too_small_for_a_slow_reader_too_is_tried() {
    let slow = case("reader-too-slow-small-buffer");
    let plan = plan(&slow, "receive-buffer-too-small");
    assert_eq!(plan.host.as_str(), "head2");
    assert!(plan.traffic.is_some(), "its flow shows it");
    let mut knobs = plan.candidates.iter().map(|c| c.knob.to_string());
    assert!(knobs.any(|knob| knob == "net.core.rmem_default"));
}

#[test]
fn a_link_that_is_smaller_than_the_file_says_is_judged_by_a_stream() {
    let mut case = case("mtu-mismatch-file");
    let small = plan(&case, "mtu-mismatch");
    assert_eq!((small.host.as_str(), small.candidates.len()), ("head1", 1));
    assert_eq!(small.traffic, None, "nothing is lost for it");
    assert!(small.shown_by_rate);
    let measured = &mut case.measurements[0];
    let stream = Phase {
        kind: PhaseKind::Stream,
        ..measured.phases[0].clone()
    };
    measured.phases.push(stream);
    let traffic = plan(&case, "mtu-mismatch").traffic.expect("the stream");
    assert_eq!(traffic.phase, PhaseKind::Stream);
}

#[test]
fn an_mtu_is_not_lowered_below_what_stands_on_it() {
    let mut case = case("mtu-mismatch-below-vlan");
    let setting = Setting {
        value: "9000".to_owned(),
        scope: Scope::Interface,
        largest: None,
        at_boot: false,
    };
    let tried = |case: &Case, host| {
        let mut plans = plans(case)
            .into_iter()
            .filter(|p| p.cause == "mtu-mismatch");
        let plan = plans
            .find(|plan| plan.host.as_str() == host)
            .expect("its plan");
        plan.candidates[0].value.for_setting(&setting)
    };
    let why = tried(&case, "head1").unwrap_err();
    assert!(
        why.contains("ring0.100 on head1 too, which has 9000"),
        "{why}"
    );

    // Another end of the link is lowered with it.
    let head1 = case.hosts.get_mut("head1").unwrap();
    let vlan = head1.interfaces.remove("ring0.100").unwrap();
    let head2 = case.hosts.get_mut("head2").unwrap();
    head2.interfaces.insert("ring0.100".into(), vlan);
    let why = tried(&case, "head1").unwrap_err();
    assert!(why.contains("ring0.100 on head2"), "{why}");

    let head2 = case.hosts.get_mut("head2").unwrap();
    head2.interfaces.get_mut("ring0.100").unwrap().mtu = Some(Mtu(1_500));
    assert_eq!(tried(&case, "head1").as_deref(), Ok("1500"));
}

#[test]
fn a_window_is_tried_on_the_side_that_holds_up_under_the_stream_that_waits_most() {
    for (name, host, from, link, knobs) in [
        (
            "stream-send-window",
            "head1",
            "head1",
            "ring1",
            ["net.core.wmem_max", "net.ipv4.tcp_wmem"],
        ),
        (
            "stream-receive-window",
            "head2",
            "head1",
            "ring0",
            ["net.core.rmem_max", "net.ipv4.tcp_rmem"],
        ),
    ] {
        let plan = plan(&case(name), "window-too-small");
        assert_eq!(plan.host.as_str(), host);
        assert_eq!(
            plan.candidates.iter().map(told).collect::<Vec<_>>(),
            knobs.map(str::to_owned)
        );
        let traffic = plan.traffic.expect("the stream");
        assert_eq!(
            (traffic.from.as_str(), traffic.link.as_str(), traffic.phase),
            (from, link, PhaseKind::Stream)
        );
    }
}

#[test]
fn a_corosync_that_drops_is_tried_first_and_by_its_own_sockets() {
    let plans_of = |name: &str| plans(&case(name));
    // rmem_max is 4 MiB: a restart would leave it half of what it asks for.
    let shrunk = plans_of("corosync-buffer-shrunk");
    let engine = &shrunk[0];
    assert!(engine.is_of_engine());
    assert_eq!(engine.cause, "foreign-socket-dropping");
    assert_eq!(engine.host.as_str(), "head2");
    let tried: Vec<_> = engine.candidates.iter().map(told).collect();
    assert_eq!(
        tried,
        [
            "receive buffer of Corosync's sockets",
            "net.core.rmem_max and a restart of Corosync"
        ]
    );
    assert_eq!(engine.candidates[0].value, TrialValue::AtLeast(16 << 20));
    let of_engine = shrunk.iter().filter(|plan| plan.is_of_engine());
    assert_eq!(of_engine.count(), 1, "all findings of a host are one plan");
    for name in [
        "corosync-buffer-halved-dropping",
        "buffer-not-granted-corosync",
    ] {
        let plans = plans_of(name);
        assert!(plans[0].is_of_engine(), "{name}");
        assert_eq!(plans[0].candidates.len(), 2, "{name}");
    }
    // Another program's socket: nobody knows what it asks for.
    assert!(plans_of("foreign-socket-dropping").is_empty());
}

#[test]
fn a_corosync_that_gets_its_buffer_when_it_starts_needs_no_limit() {
    let mut case = case("corosync-buffer-shrunk");
    let sysctls = &mut case.hosts.get_mut("head2").unwrap().sysctls;
    sysctls.insert("net.core.rmem_max".to_owned(), "212992".to_owned());
    // Twice that is not the size that it has, so it could force more: somebody made it small.
    let plans = plans(&case);
    assert_eq!(plans[0].candidates.len(), 1);
}

#[test]
fn of_a_check_that_the_engine_ended_only_the_engine_is_tried() {
    let mut both = case("receive-buffer-too-small");
    let shrunk = case("corosync-buffer-shrunk");
    both.sockets = shrunk.sockets.clone();
    both.hosts = shrunk.hosts.clone();
    let all = plans(&both);
    assert!(all.len() >= 2 && all[0].is_of_engine() && !all[1].is_of_engine());
    both.stopped = Some(Stopped {
        host: "head1".into(),
        what: "stats.srp.mcast_retx rose".into(),
    });
    assert!(plans(&both).iter().all(TrialPlan::is_of_engine));
}

#[test]
fn what_a_card_sends_badly_is_tried_on_the_senders_end() {
    let damaged = plan(&case("checksum-errors"), "checksum-errors");
    assert_eq!(damaged.host.as_str(), "head1");
    assert!(!damaged.shown_by_rate, "lost packets show it");
    let traffic = damaged.traffic.expect("the flow that arrived damaged");
    assert_eq!(
        (traffic.from.as_str(), traffic.to.as_str()),
        ("head1", "head2")
    );
    let slow = plan(
        &case("unexplained-slow-direction"),
        "unexplained-slow-direction",
    );
    assert!(slow.shown_by_rate);
    let traffic = slow.traffic.expect("the stream");
    assert_eq!(
        (traffic.from.clone(), traffic.phase),
        (slow.host, PhaseKind::Stream)
    );
}

#[test]
fn selective_acks_are_tried_on_the_one_host_that_has_them_off() {
    let mut off = case("sack-off");
    let tried = plan(&off, "sack-off");
    assert!(tried.shown_by_rate);
    let knobs: Vec<_> = tried.candidates.iter().map(told).collect();
    assert_eq!(
        (tried.host.as_str(), knobs.as_slice()),
        ("head2", ["net.ipv4.tcp_sack 1".to_owned()].as_slice())
    );
    let traffic = tried.traffic.expect("the stream to it");
    assert_eq!(
        (traffic.from.as_str(), traffic.phase),
        ("head1", PhaseKind::Stream)
    );

    // The way back stands still for the same reason: one finding, and one plan.
    let still = off.measurements[0].phases[2].clone();
    let back = off.measurements[1].phases.last_mut().expect("its stream");
    back.sender.stream = still.sender.stream;
    back.sender_window.counters = still.sender_window.counters;
    back.receiver.slices = still.receiver.slices;
    let found = hawser_account::explain(&off).findings;
    let found: Vec<_> = found.iter().map(|f| &f.finding).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].evidence["streams"], 2);

    // One of two hosts alone cures nothing.
    let sender = off.hosts.get_mut("head1").expect("the sender");
    let name = "net.ipv4.tcp_sack".to_owned();
    sender.sysctls.insert(name, "0".to_owned());
    let none = plans(&off).into_iter().find(|p| p.cause == "sack-off");
    assert!(none.is_none_or(|plan| plan.candidates.is_empty()));
    let found = hawser_account::explain(&off).findings;
    assert!(found[0].text.contains("0 on head1 and head2."), "{found:?}");
}

#[test]
fn what_takes_a_reboot_is_tried_by_nobody_and_told_with_its_line() {
    let mut ring = case("nic-ring-overflow");
    let host = ring.hosts.get_mut("head2").unwrap();
    let card = host.interfaces.get_mut("ring0").unwrap();
    card.driver = Some("e1000e".to_owned());
    card.bus = Some("0000:01:00.0".to_owned());
    let plan = plan(&ring, "nic-ring-overflow");
    let told: Vec<_> = plan.candidates.iter().map(told).collect();
    assert!(
        told.contains(&"InterruptThrottleRate of module e1000e 0".to_owned()),
        "{told:?}"
    );
    assert!(told.contains(&"boot parameter pci=nomsi present".to_owned()));
    assert!(told.contains(&"interrupts of IFACE".to_owned()));
    assert!(
        !told.iter().any(|name| name.contains("RxDescriptors")),
        "another driver's"
    );
    let module = Knob::ModuleParameter {
        module: "e1000e".into(),
        parameter: "InterruptThrottleRate".into(),
    };
    let line = takes_a_boot(&module, "0");
    assert!(
        line.contains("options e1000e InterruptThrottleRate=0"),
        "{line}"
    );
}

/// A candidate as the page of `tune` names it.
fn told(candidate: &Candidate) -> String {
    let Candidate { knob, value, .. } = candidate;
    if matches!(knob, Knob::SocketBuffer { .. }) {
        return "receive buffer of Corosync's sockets".to_owned();
    }
    if candidate.taken == Taken::AtEngineStart {
        return format!("{knob} and a restart of Corosync");
    }
    let name = match knob.interface() {
        Some(interface) => knob.to_string().replace(interface.as_str(), "IFACE"),
        // The link of the cases.
        None => knob.to_string().replace(".ring0.", ".IFACE."),
    };
    match (knob, value) {
        // What fits this host: all of its processors, and the MTU that the file or the peers have.
        (Knob::PacketSteering { .. } | Knob::Mtu { .. }, _) => name,
        (_, TrialValue::Value(value)) => format!("{name} {value}"),
        (
            _,
            TrialValue::Largest
            | TrialValue::AtLeast(_)
            | TrialValue::InTurn(_)
            | TrialValue::Queues(_)
            | TrialValue::Refused(_),
        ) => name,
        (_, TrialValue::Times(n) | TrialValue::TimesOrOf(n, _)) => format!("{name} × {n}"),
    }
}

#[test]
fn the_page_of_tune_says_what_is_tried() {
    let checks = runs(|case| case.ladder.is_none() && case.fanout.is_none());
    // A knob of an interface needs one that is known: of each cause the case that has most, and what is tried in others
    // and not in that one.
    let mut tried: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for plan in checks.iter().flat_map(|(_, case)| plans(case)) {
        let all = plan.candidates.iter().map(told).collect::<Vec<_>>();
        let known = tried.entry(plan.cause).or_default();
        let has = |these: &[String], those: &[String]| those.iter().all(|k| these.contains(k));
        if !known.iter().any(|these| has(these, &all)) {
            known.retain(|these| !has(&all, these));
            known.push(all);
        }
    }
    let mut table = "| finding | tried, in this order |\n| --- | --- |\n".to_owned();
    for (cause, lists) in tried {
        let lists: Vec<String> = lists.iter().map(|knobs| knobs.join(", ")).collect();
        table += &format!("| `{cause}` | {} |\n", lists.join("; or "));
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tune.md");
    let page = fs::read_to_string(file).expect("the page");
    let start = page.find("| finding | tried").expect("the table");
    let end = start + page[start..].find("\n\n").expect("its end") + 1;
    let new = [&page[..start], &table, &page[end..]].concat();
    if updating() {
        fs::write(file, new).expect("the page");
    } else {
        assert_eq!(page, new, "`make expected` writes it");
    }
}
