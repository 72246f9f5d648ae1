use super::*;

fn said(text: &str) -> Mark {
    pacemaker(text).unwrap_or_else(|| panic!("{text}"))
}

fn on(resource: &str, task: &str, host: &str) -> Operation {
    Operation {
        resource: resource.to_owned(),
        task: task.to_owned(),
        recurs: task == "monitor",
        host: host.into(),
    }
}

#[test]
fn corosync_says_when_it_gave_up_waiting_and_who_is_left() {
    let endless = "token timed out (20000000000000000ms), waiting";
    assert_eq!(corosync(endless), None);
    let lost = "[14] head2 corosync notice  [TOTEM ] A processor failed, forming new configuration: \
                token timed out (1000ms), waiting 1200ms for consensus.";
    assert_eq!(corosync(lost), Some(Mark::TokenLost { token_ms: 1000 }));
    let left =
        "[14] head2 corosync notice  [TOTEM ] A new membership (2.16) was formed. Members left: 1";
    assert_eq!(corosync(left), Some(Mark::Left));
    let joined =
        "[14] head2 corosync notice  [TOTEM ] A new membership (1.9) was formed. Members joined: 1";
    assert_eq!(corosync(joined), Some(Mark::Joined));
    let same = "[17] head2 corosync notice  [TOTEM ] A new membership (1.1d) was formed. Members";
    assert_eq!(corosync(same), Some(Mark::Formed));
    let both = "[14] head2 corosync notice  [TOTEM ] A new membership (1.9) was formed. Members joined: 3 left: 1";
    assert_eq!(corosync(both), Some(Mark::Left));
    let started = "[97] head1 corosync notice  [MAIN  ] Corosync Cluster Engine 3.1.7 starting up";
    assert_eq!(corosync(started), Some(Mark::Started));
}

#[test]
fn the_controller_says_what_it_orders_and_what_became_of_it() {
    assert_eq!(
        said(
            "head2 pacemaker-controld  [38] (do_te_invoke) \tinfo: Processing graph 6 (ref=pe_calc-1) derived"
        ),
        Mark::TransitionBegun(6)
    );
    assert_eq!(
        said(
            "notice: Transition 6 (Complete=14, Pending=0, Fired=0, Source=/x/pe-warn-1.bz2): Complete"
        ),
        Mark::TransitionEnded {
            number: 6,
            whole: true
        }
    );
    assert_eq!(
        said("(x) \tnotice: Requesting fencing (off) of node head1 | action=1 timeout=60000"),
        Mark::FenceAsked("head1".into())
    );
    assert_eq!(
        said("(x) \tnotice: Requesting fencing (off) targeting node head1 | action=1 timeout=60"),
        Mark::FenceAsked("head1".into())
    );
    assert_eq!(
        said(
            "(x) \tnotice: Initiating start operation vmpool01-exports_start_0 locally on head2 | action 14"
        ),
        Mark::OperationBegun(on("vmpool01-exports", "start", "head2"))
    );
    assert_eq!(
        said("(x) \tnotice: Initiating stop operation vmpool01-san02_stop_0 on head1 | action 23"),
        Mark::OperationBegun(on("vmpool01-san02", "stop", "head1"))
    );
    assert_eq!(
        said(
            "info: Transition 10 action 23 (vmpool01-san02_stop_0 on head1) confirmed: ok | rc=0 call-id=57"
        ),
        Mark::OperationEnded(on("vmpool01-san02", "stop", "head1"), true)
    );
    assert_eq!(
        said(
            "notice: Transition 16 action 18 (a-exports_start_0 on head1): expected 'ok' but got 'error' | x"
        ),
        Mark::OperationEnded(on("a-exports", "start", "head1"), false)
    );
    assert_eq!(
        said(
            "info: Transition 3 action 9 (a_monitor_0 on head1) confirmed: not running | rc=7 call-id=7"
        ),
        Mark::OperationEnded(
            Operation {
                recurs: false,
                ..on("a", "monitor", "head1")
            },
            true
        ),
        "a probe"
    );
}

#[test]
fn a_probe_that_finds_another_state_than_expected_is_no_end_unless_it_was_to_run_there() {
    let found = "notice: Transition 0 action 5 (a_monitor_0 on head1): expected 'not running' but got 'ok' | rc=0";
    let cannot = found.replace("'ok'", "'not installed'");
    let promoted = found.replace("'ok'", "'promoted'");
    for well in [found, &cannot, &promoted] {
        assert!(
            matches!(said(well), Mark::OperationEnded(_, true)),
            "{well}"
        );
    }
    for unknown in ["error", "insufficient privileges", "Timed Out"] {
        let unknown = found.replace("'ok'", &format!("'{unknown}'"));
        assert!(matches!(said(&unknown), Mark::ProbeFailed(_)), "{unknown}");
    }
    for failed in [
        found.replace("_0 ", "_10000 "),
        cannot.replace("'not running'", "'ok'"),
        found.replace("'not running' but got 'ok'", "'ok' but got 'not running'"),
    ] {
        assert!(
            matches!(said(&failed), Mark::OperationEnded(_, false)),
            "{failed}"
        );
    }
}

#[test]
fn the_fencer_says_what_it_waits_for_and_what_came_of_it() {
    assert_eq!(
        said(
            "notice: Delaying 'off' action targeting head1 using fence-head1 for 1s | timeout=60s"
        ),
        Mark::FenceDelayed {
            target: "head1".into(),
            us: 1_000_000
        }
    );
    assert_eq!(
        said(
            "notice: Operation 'off' [2467] targeting head1 using fence-head1 returned 0 | call 9 from x"
        ),
        Mark::FenceAgentEnded {
            target: "head1".into(),
            ok: true
        }
    );
    assert_eq!(
        said(
            "notice: Operation 'off' targeting head1 by head2 for pacemaker-controld.38@head2: OK (complete) | id=f"
        ),
        Mark::FenceEnded {
            target: "head1".into(),
            ok: true
        }
    );
    assert_eq!(
        said(
            "error: Operation 'off' targeting head1 by <no-one> for x@head2: Error occurred (No fence device)"
        ),
        Mark::FenceEnded {
            target: "head1".into(),
            ok: false
        }
    );
    for unfenced in [
        "notice: Operation 'on' targeting head1 by head1 for pacemaker-controld.38@head1: OK (complete) | id=f",
        "notice: Operation 'on' [2467] targeting head1 using shelf returned 0 | call 9 from x",
        "notice: Delaying 'on' action targeting head1 using shelf for 1s | timeout=60s",
        "notice: Requesting fencing (on) targeting node head1 | action=1 timeout=60",
    ] {
        assert_eq!(pacemaker(unfenced), None, "{unfenced}");
    }
    let quoted =
        "info: x_start_0[2] error output [ Operation 'off' targeting head1 by a for b: OK ]";
    assert_eq!(pacemaker(quoted), None);
}
