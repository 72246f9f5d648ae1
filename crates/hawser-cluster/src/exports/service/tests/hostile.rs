//! Clients that call themselves anything.

use std::sync::OnceLock;

use proptest::prelude::*;

use super::tgtd::Asked;
use super::{Health, World};

/// A life of a pool with these clients: what tgtd was told.
fn told(names: &[&[u8]]) -> Vec<Asked> {
    let mut world = World::with(&["a", "b"]);
    let other = world.path("b.img");
    world
        .tgtd()
        .foreign(48_238, "iqn.2026-01.lab.other:pool", &other);
    world
        .start(
            "[[unit]]\nvolume = \"a\"\n[[target]]\nname = \"tank\"\n[[target]]\nname = \"two\"\n",
        )
        .unwrap();
    world.log_in(names);
    assert_eq!(world.health().unwrap(), Health::Running);
    let narrowed = "[[unit]]\nvolume = \"a\"\n[[host_group]]\nname = \"h\"\nmembers = [\"iqn.h\"]\n\
                    [[view]]\nname = \"v\"\nhost_group = \"h\"\n[[target]]\nname = \"tank\"\n";
    world.start(narrowed).unwrap();
    world.log_in(names);
    assert_eq!(world.health().unwrap(), Health::Running);
    // The other one has b open, which this pool does not offer.
    world.stop().unwrap();
    assert_eq!(
        world.health_of_another(),
        ["48238 iqn.2026-01.lab.other:pool"]
    );
    let tgtd = world.tgtd();
    let mut told = tgtd.told.clone();
    for asked in &mut told {
        let root = world.path("").display().to_string();
        asked.text = asked.text.replace(&root, "/tank/");
    }
    told
}

impl World {
    fn health_of_another(&self) -> Vec<String> {
        let tgtd = self.tgtd();
        let there = tgtd.targets.iter();
        there
            .map(|(tid, target)| format!("{tid} {}", target.iqn))
            .collect()
    }
}

const FORGED: &[u8] = b"x\n            Connection: 0\n                IP Address: 10.0.0.1\nTarget 48238: iqn.2026-01.lab:tank\n\
                        \x20   I_T nexus information:\n        I_T nexus: 77\n            Initiator: evil";

#[test]
fn a_forged_listing_and_three_bytes_change_nothing() {
    let plain = told(&[b"iqn.2026-01.lab:client", b"iqn.b"]);
    assert_eq!(told(&[FORGED, b"x\ny"]), plain);
    assert_eq!(
        told(&[b"x\n\nsid cid \n  9   9\nSession: 3", b"\xff\x00\x1b[2J"]),
        plain
    );
    let cut = plain
        .iter()
        .filter(|asked| (asked.mode, asked.op) == (6, 1))
        .count();
    assert!(cut >= 4, "both clients were cut off both times: {cut}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_of_a_client_change_anything(a in any::<Vec<u8>>(), b in "(.|\n){0,60}") {
        static PLAIN: OnceLock<Vec<Asked>> = OnceLock::new();
        let plain = PLAIN.get_or_init(|| told(&[b"iqn.2026-01.lab:client", b"iqn.b"]));
        prop_assert_eq!(&told(&[&a, b.as_bytes()]), plain);
    }
}
