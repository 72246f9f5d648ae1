//! A watch of a simulated head whose cluster engine does not answer for a while.

use crate::simulated::run_with;
use crate::watched::{AllWell, Hides};

#[test]
fn what_was_seen_of_the_cluster_is_not_over_because_its_engine_does_not_answer() {
    for (hides, code) in [
        (Hides::Corosync, "corosync-hangs"),
        (Hides::Pacemaker, "pacemaker-mute"),
    ] {
        // The second look, at 300 s, is made again half a minute later.
        let look = AllWell {
            hides: Some((2, hides)),
            ..AllWell::default()
        };
        let told = run_with(600, &[], true, look).told;
        let said = |second, sign, code: &str| (second, sign, code.to_owned(), 1);
        let expected = [
            said(1, '+', "head-away"),
            said(301, '+', code),
            said(335, '-', code),
        ];
        assert_eq!(told, expected);
    }
}
