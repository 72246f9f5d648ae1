//! Each head is asked whether it could take over, and whether what Pacemaker believes is so.

use super::*;
use crate::adopted::adopted;
use crate::scheduler::Scheduler;
use hawser_cluster::cib::edit::{with_ports, with_standby};
use hawser_cluster::host::view::{Folder, Port};
use hawser_cluster::live::{Ahead, Sign, judgement};
use hawser_cluster::plan::boot::{BootFacts, Mount};
use hawser_cluster::plan::{WatchFacts, WatchUnitFile};
use hawser_model::finding::Severity;
use hawser_model::output::cluster::ServiceState;

fn now(facts: &StatusFacts) -> ClusterStatus {
    status(&Golden::named("lab").file, facts, &Scheduler).unwrap()
}

fn here(offered: Told<Option<Vec<String>>>, file: Option<&str>, room: Room) -> PoolView {
    PoolView::Here {
        file: Told::Said(file.map(str::to_owned)),
        offered,
        room: Told::Said(Some(room)),
        disks: Told::Said(None),
        ports: [].into(),
        encrypted: Told::Said(Vec::new()),
    }
}

fn whole() -> Told<Option<Vec<String>>> {
    Told::Said(Some(Vec::new()))
}

fn room(used: u8) -> Room {
    Room {
        used,
        ..Room::default()
    }
}

#[test]
fn a_large_disk_has_room_for_logs_when_it_is_nearly_full() {
    let golden = Golden::named("lab");
    let found = |free: u64| {
        now(&but(healthy(&golden), 2, |head| {
            let room = Room {
                free: Some(free),
                ..room(96)
            };
            let path = "/var/log".to_owned();
            head.folders = vec![Folder { path, room }];
        }))
        .degraded
    };
    assert_eq!(found(1 << 30), Vec::<String>::new());
    let few = found((1 << 30) - 1);
    assert!(
        few[0].contains("no room in /var/log (96 % used, 1024.0 MiB left)"),
        "{few:?}"
    );
}

#[test]
fn a_pool_that_is_nearly_full_is_a_warning_and_one_that_takes_no_more_an_error() {
    let golden = Golden::named("lab");
    for (used, severity) in [(96, Severity::Warning), (100, Severity::Error)] {
        let facts = but(healthy(&golden), 1, |head| {
            let pool = here(whole(), None, room(used));
            head.pools.insert("vmpool01".into(), pool);
        });
        let now = judgement(&golden.file, &facts, &Scheduler).unwrap();
        let full = now
            .said
            .iter()
            .find(|said| said.mark.sign == Sign::PoolFull);
        assert_eq!(full.unwrap().severity, severity, "{used} %");
        assert!(!now.status.redundant);
    }
}

#[test]
fn each_thing_that_would_fail_the_next_takeover_is_named_before_it() {
    let golden = Golden::named("lab");
    let of_vmpool01 = |view: PoolView| {
        but(healthy(&golden), 1, |head| {
            head.pools.insert("vmpool01".into(), view);
        })
    };
    let dead = || {
        Told::Said(Some(
            "it does not run (systemctl enable --now tgt)".to_owned(),
        ))
    };
    let toml = "/srv/vmpool01/exports.toml:12:3: unclosed table";
    let cases: Vec<(&str, StatusFacts, &str)> = vec![
        (
            "tgtd-dead-on-the-passive-head",
            but(healthy(&golden), 2, |head| {
                head.services.insert("tgtd".into(), dead());
            }),
            "head2 cannot offer vmpool01, vmpool02: tgtd is not ready there: it does not run",
        ),
        (
            "exports-file-broken",
            of_vmpool01(here(whole(), Some(toml), Room::default())),
            "the next start of vmpool01 fails, on any head: /srv/vmpool01/exports.toml:12:3: unclosed table. `hawser \
             exports verify vmpool01` on head1 says when it is right",
        ),
        (
            "disk-of-a-mirror-not-seen",
            but(healthy(&golden), 2, |head| {
                let what = "shelf2-1 is UNAVAIL".to_owned();
                head.pools.insert("vmpool01".into(), PoolView::Short(what));
            }),
            "head2 could take over vmpool01 only without a part of its disks: shelf2-1 is UNAVAIL",
        ),
        (
            "disk-not-seen",
            but(healthy(&golden), 2, |head| {
                let why = "/srv/shelf/vmpool01.img does not exist there".to_owned();
                head.pools
                    .insert("vmpool01".into(), PoolView::Away(Told::Said(Some(why))));
            }),
            "head2 could not take over vmpool01: /srv/shelf/vmpool01.img does not exist there",
        ),
        (
            "pool-full",
            of_vmpool01(here(whole(), None, room(100))),
            "vmpool01 on head1 is full",
        ),
        (
            "pool-nearly-full",
            of_vmpool01(here(whole(), None, room(96))),
            "vmpool01 on head1 is 96 % full",
        ),
        (
            "pool-read-only",
            of_vmpool01(here(
                whole(),
                None,
                Room {
                    read_only: true,
                    ..Room::default()
                },
            )),
            "vmpool01 on head1 can only be read",
        ),
        (
            "full-var",
            but(healthy(&golden), 2, |head| {
                head.folders = vec![Folder {
                    path: "/var/lib/pacemaker".into(),
                    room: room(100),
                }];
            }),
            "on head2 there is no room in /var/lib/pacemaker (100 % used)",
        ),
        (
            "no-carrier",
            but(healthy(&golden), 1, |head| {
                let port = Port {
                    interface: Some("san01".into()),
                    carrier: false,
                    blind: None,
                };
                head.ports.insert("san01".into(), port);
            }),
            "head1 has no carrier on san01 (san01)",
        ),
        (
            "drill-left",
            StatusFacts {
                left: Some(
                    "an earlier drill was interrupted: power-cut (vmpool01 on head1)".into(),
                ),
                ..healthy(&golden)
            },
            "an earlier drill was interrupted",
        ),
        (
            "zpool-import-takes-long",
            but(healthy(&golden), 2, |head| {
                let slow = PoolView::Away(Told::Silent(7));
                head.pools.insert("vmpool01".into(), slow);
            }),
            "whether head2 sees the disks of vmpool01 is not known yet: it has looked for 7 s",
        ),
        (
            "boot-mounts-a-pool",
            but(healthy(&golden), 2, |head| {
                let mount = Mount {
                    device: "/dev/loop99".into(),
                    place: "/srv/vmpool01".into(),
                    ..Mount::default()
                };
                let boot = BootFacts {
                    mounts: vec![mount],
                    ..BootFacts::default()
                };
                head.boot = Some(Told::Said(boot));
            }),
            "head2 will mount vmpool01 at its next boot, whoever has it then: /etc/fstab mounts",
        ),
        (
            "clocks-apart",
            StatusFacts {
                clocks: [
                    (
                        name(1),
                        Ahead {
                            least_us: -4_000,
                            most_us: 2_000,
                        },
                    ),
                    (
                        name(2),
                        Ahead {
                            least_us: 3_599_000_000,
                            most_us: 3_600_100_000,
                        },
                    ),
                ]
                .into(),
                ..healthy(&golden)
            },
            "the clock of head2 is 3599.0 s ahead of that of head1",
        ),
    ];
    for (case, facts, says) in cases {
        let now = golden_status(&golden, case, &facts);
        assert!(said(&now).contains(says), "{case}: {}", said(&now));
        assert_eq!(now.state, ServiceState::NotRedundant, "{case}");
        assert_eq!(now.degraded.len(), 1, "{case}: {}", said(&now));
    }
}

#[test]
fn a_watch_that_does_not_run_is_said_and_costs_no_redundancy() {
    let golden = Golden::named("lab");
    let mut wanting = Golden::named("lab");
    wanting.file.watch.unit = true;
    let none = WatchFacts::default();
    let dead = WatchFacts {
        unit: WatchUnitFile::Theirs,
        enabled: true,
        ..none
    };
    let runs = WatchFacts {
        running: true,
        ..dead
    };
    let with = |golden: &Golden, watch: Option<WatchFacts>| {
        let facts = but(healthy(golden), 2, |head| {
            head.watch = Some(Told::Said(watch));
        });
        status(&golden.file, &facts, &Scheduler).unwrap()
    };
    for (golden, watch, says) in [
        (&golden, Some(none), ""),
        (&golden, Some(runs), ""),
        (&wanting, Some(runs), ""),
        // Where systemd does not run.
        (&wanting, None, ""),
        (&golden, Some(dead), "the watch of head2 does not run"),
        (
            &wanting,
            Some(none),
            "head2 has no watch, which the cluster file wants",
        ),
    ] {
        let now = with(golden, watch);
        assert!(now.redundant, "{watch:?}");
        assert_eq!(now.degraded.is_empty(), says.is_empty(), "{watch:?}");
        assert!(said(&now).contains(says), "{}", said(&now));
    }
}

#[test]
fn a_slow_answer_does_not_set_clocks_apart() {
    let golden = Golden::named("lab");
    let facts = StatusFacts {
        clocks: [
            (
                name(1),
                Ahead {
                    least_us: -6_000_000,
                    most_us: 20_000,
                },
            ),
            (
                name(2),
                Ahead {
                    least_us: -10_000,
                    most_us: 4_000_000,
                },
            ),
        ]
        .into(),
        ..healthy(&golden)
    };
    assert!(now(&facts).redundant);
}

/// Else a head would be apart from itself.
#[test]
fn a_clock_that_is_stepped_while_its_head_is_asked_says_nothing() {
    let golden = Golden::named("lab");
    let stepped = Ahead {
        least_us: 3_600_000_000,
        most_us: 2_000,
    };
    let facts = StatusFacts {
        clocks: [(name(1), stepped)].into(),
        ..healthy(&golden)
    };
    assert!(now(&facts).redundant);
}

#[test]
fn what_pacemaker_believes_is_held_against_what_is_offered() {
    let golden = Golden::named("lab");
    let of = |offered: Told<Option<Vec<String>>>| {
        now(&but(healthy(&golden), 1, |head| {
            head.pools
                .insert("vmpool01".into(), here(offered, None, Room::default()));
        }))
    };
    for (offered, why) in [
        (
            Told::Said(Some(vec!["unit 1 is missing".to_owned()])),
            "unit 1 is missing",
        ),
        (Told::Said(None), "nothing of it is there"),
        (
            Told::Silent(5),
            "what offers it does not answer: no answer within 5 s",
        ),
    ] {
        let now = of(offered);
        let text = format!(
            "vmpool01 is not offered by head1 as it was started, although Pacemaker believes so: {why}"
        );
        assert_eq!(said(&now), text);
        assert_eq!(now.state, ServiceState::Down);
        assert_eq!(
            now.reason.as_deref(),
            Some("vmpool01 is on head1 and is not offered")
        );
    }
}

/// Hawser does not make what offers such a pool, but knows whether the pool is there.
#[test]
fn a_pool_that_others_offer_and_that_is_not_there_is_not_called_served() {
    let (golden, mut cib) = adopted();
    cib.set("dc-uuid", "1");
    for (view, why) in [
        (
            PoolView::Away(Told::Said(None)),
            "fs1 is not mounted on head1; fs2 is not mounted on head2",
        ),
        (
            PoolView::Hangs(5),
            "fs1 hangs on head1; fs2 is not mounted on head2",
        ),
    ] {
        let facts = but(both(&golden, &cib.to_text()), 1, |head| {
            head.pools.insert("fs1".into(), view);
        });
        let now = status(&golden.file, &facts, &Scheduler).unwrap();
        assert_eq!(now.state, ServiceState::Down, "{}", said(&now));
        assert_eq!(now.reason.as_deref(), Some(why));
    }
}

/// The simulator starts whatever it likes; what a head is known not to be able to do is told instead.
#[test]
fn what_would_be_is_not_told_better_than_what_is_known() {
    let golden = Golden::named("lab");
    let next = |facts: &StatusFacts| now(facts).if_lost["head1"].join("\n");
    assert!(next(&healthy(&golden)).contains("head2 offers vmpool01"));
    let dead = but(healthy(&golden), 2, |head| {
        let why = Told::Said(Some("it does not run".to_owned()));
        head.services.insert("tgtd".into(), why);
    });
    let told = next(&dead);
    assert!(
        told.contains("head2 fails to offer vmpool01, as said above"),
        "{told}"
    );
    assert!(
        told.contains("vmpool01 is not offered, unless another head can offer it"),
        "{told}"
    );
    assert!(!told.contains("takes vmpool01's address"), "{told}");
    assert!(told.contains("vmpool02 stays on head2"), "{told}");
    let unseen = but(healthy(&golden), 2, |head| {
        let why = Told::Said(Some("no such disk".to_owned()));
        head.pools.insert("vmpool01".into(), PoolView::Away(why));
    });
    let told = next(&unseen);
    assert!(
        told.contains("head2 fails to take vmpool01, as said above"),
        "{told}"
    );
    assert!(!told.contains("offers vmpool01"), "{told}");
}

#[test]
fn of_a_head_that_nobody_can_switch_off_nothing_is_taken_over() {
    let golden = Golden::named("lab");
    let silent = but(healthy(&golden), 2, |head| {
        let said = Some("Failed: unable to obtain the plug status".to_owned());
        head.fence_status.insert("fence-head1".into(), said);
    });
    let now = now(&silent);
    let told = now.if_lost["head1"].join("\n");
    assert!(
        told.starts_with("head1 is not switched off, as said above"),
        "{told}"
    );
    assert!(told.contains("vmpool01 runs nowhere until then"), "{told}");
    assert!(told.contains("vmpool02 stays on head2"), "{told}");
    assert!(!told.contains("head2 mounts"), "{told}");
    assert!(
        now.if_lost["head2"]
            .join("\n")
            .contains("head1 mounts vmpool02")
    );
}

#[test]
fn a_pool_that_has_lost_a_disk_is_told_and_a_head_can_still_be_lost() {
    let golden = Golden::named("lab");
    let facts = but(healthy(&golden), 1, |head| {
        let lost = "/dev/mapper/shelf1-1-part1 is FAULTED".to_owned();
        let mut view = here(whole(), None, Room::default());
        if let PoolView::Here { disks, .. } = &mut view {
            *disks = Told::Said(Some(lost));
        }
        head.pools.insert("vmpool01".into(), view);
    });
    let now = now(&facts);
    let said =
        "vmpool01 on head1 does not have all its disks: /dev/mapper/shelf1-1-part1 is FAULTED";
    assert_eq!(now.degraded, [said]);
    assert!(now.redundant, "the other head has them all");
}

#[test]
fn a_pool_on_a_head_that_has_lost_all_its_sans_is_down() {
    let golden = Golden::named("lab");
    let sans = ["san01", "san02"].map(str::to_owned);
    let lost = |cib: &Element, heads: &[&str]| {
        let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
        with_ports(cib, &heads, &sans, false)
    };
    let seen = with_ports(
        &well(&golden),
        &["head1".into(), "head2".into()],
        &sans,
        true,
    );
    let on = |pool: &str, head: &str| {
        format!(
            "{pool} is on {head}, which has no carrier on any SAN over which it is reached (san01, san02)"
        )
    };

    // As with both switches off: no head is better, so that Pacemaker moves nothing.
    let both_lost = now(&both(&golden, &lost(&seen, &["head1", "head2"]).to_text()));
    assert_eq!(both_lost.state, ServiceState::Down);
    let reason = format!("{}; {}", on("vmpool01", "head1"), on("vmpool02", "head2"));
    assert_eq!(both_lost.reason, Some(reason));

    // No other head may have them.
    let alone =
        Element::parse(&after(&with_standby(&seen, "head1", true), &[]), "the CIB").unwrap();
    let alone = now(&on_head2(both(
        &golden,
        &lost(&alone, &["head2"]).to_text(),
    )));
    assert_eq!(alone.state, ServiceState::Down);
    let reason = format!("{}; {}", on("vmpool01", "head2"), on("vmpool02", "head2"));
    assert_eq!(alone.reason, Some(reason));

    let moves = now(&both(&golden, &lost(&seen, &["head1"]).to_text()));
    assert_eq!(moves.state, ServiceState::Starting);
    let reason = format!("{}, and is being started on head2", on("vmpool01", "head1"));
    assert_eq!(moves.reason, Some(reason));

    let one = with_ports(&seen, &["head1".into()], &sans[..1], false);
    assert!(now(&both(&golden, &one.to_text())).redundant);
}

#[test]
fn a_zpool_that_a_second_head_has_imported_is_two_heads_with_one_pool_and_said_first() {
    let golden = Golden::named("lab");
    let imported = but(healthy(&golden), 2, |head| {
        let tank = PoolView::Imported("tank".into());
        head.pools.insert("vmpool01".into(), tank);
        head.services
            .insert("tgtd".into(), Told::Said(Some("it does not run".into())));
    });
    let judged = judgement(&golden.file, &imported, &Scheduler).unwrap();
    let first = &judged.said[0];
    assert_eq!(first.mark, Sign::PoolTwice.of("vmpool01"));
    assert_eq!(first.severity, Severity::Error);
    assert_eq!(
        first.text,
        "vmpool01 is imported on head2 too, where Pacemaker does not have it: two heads with one pool destroy it"
    );
    assert_eq!(judged.status.reason.as_ref(), Some(&first.text));
    let text = said(&judged.status);
    assert!(!text.contains("could not take over"), "{text}");

    // As while a pool moves.
    let nowhere = but(imported, 1, |head| {
        head.pools
            .insert("vmpool01".into(), PoolView::Away(Told::Said(None)));
    });
    let text = said(&now(&nowhere));
    assert!(
        text.contains(
            "head2 could not take over vmpool01: tank is imported there, and not mounted where the file has it"
        ),
        "{text}"
    );
    assert!(!text.contains("two heads"), "{text}");
}
