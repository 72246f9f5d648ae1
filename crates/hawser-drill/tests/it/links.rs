//! Links of real heads, which silence them themselves.

use hawser_cluster::host::questions::{FitsFault, MakeFault, MendFault};
use hawser_drill::DrillError;
use hawser_host::Ask;

use crate::whole::Again;

/// On a cluster that answers as one did whose SANs were down.
fn again(scenario: &str) -> Again {
    Again::another("sans-down", scenario, true)
}

#[test]
fn a_head_silences_all_its_links_at_once_and_has_them_back_at_once() {
    for (scenario, hit) in [
        ("split-brain", &["head1"][..]),
        ("sans-down", &["head1", "head2"]),
    ] {
        let again = again(scenario);
        let world = again.world();
        let case = again.drill(&world).unwrap();
        assert!(case.faults[0].verified.is_some(), "{scenario}");
        assert!(world.is_whole(), "{scenario}");
        let told = |what: &str| -> Vec<String> {
            let asked = world.wire.asked().into_iter();
            let told = asked.filter(|(_, it)| *it == what);
            told.map(|(head, _)| head.to_string()).collect()
        };
        assert_eq!(told(MakeFault::NAME), hit, "{scenario}");
        assert_eq!(told(MendFault::NAME), hit, "{scenario}");
    }
}

#[test]
fn a_head_that_cannot_silence_its_links_is_left_alone() {
    for scenario in ["split-brain", "ring-down", "sans-down"] {
        let again = again(scenario);
        let mut world = again.world();
        world.unfit = Some("this machine has no nft (nftables)".to_owned());
        let refused = again.drill(&world).unwrap_err();
        assert!(matches!(refused, DrillError::Unfit(_)), "{refused}");
        let said = refused.to_string();
        assert_eq!(
            said,
            format!(
                "{scenario} cannot be made here: head1: this machine has no nft (nftables); nothing was done"
            )
        );
        let last = world.wire.asked().pop().map(|(_, it)| it);
        assert_eq!(last, Some(FitsFault::NAME), "no client was asked");
        assert!(!again.note().exists());
    }
}
