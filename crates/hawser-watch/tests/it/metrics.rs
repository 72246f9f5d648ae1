//! What of disks, ports, fence devices and addresses becomes a sample, and what does not.

use crate::measured::measured;
use hawser_model::names::HostName;
use hawser_model::output::watch::{HeadReading, PoolReading};
use hawser_watch::metrics::{Health, text};
use hawser_watch::shown::{Shown, ShownHead};

fn shown(whole: bool) -> Shown {
    let mut head = ShownHead::default();
    measured(&mut head);
    let pool = |name: &str, free_bytes: Option<u64>| PoolReading {
        name: name.to_owned(),
        here: Some(free_bytes.is_some()),
        used_percent: None,
        free_bytes,
    };
    let mut shown = Shown {
        whole,
        heads: [(HostName::from("head1"), head)].into(),
        ..Shown::default()
    };
    shown.reading.heads = vec![HeadReading {
        name: "head1".into(),
        unreached: None,
        seen_at: None,
        links: Vec::new(),
        quorate: None,
        pools: vec![pool("vmpool01", Some(123_456_789)), pool("vmpool02", None)],
        exports: Vec::new(),
        alarms: Vec::new(),
    }];
    shown
}

/// The samples of these names, as they are written.
fn samples(text: &str, prefix: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with(prefix));
    let mut all: Vec<String> = lines.map(str::to_owned).collect();
    all.sort();
    all
}

#[test]
fn what_was_read_has_a_sample_and_what_was_not_has_none() {
    let text = text(&shown(false), Health::default());
    for (prefix, wanted) in [
        (
            "hawser_interface_",
            &[
                "hawser_interface_receive_drops_total{interface=\"eth1\"} 2",
                "hawser_interface_receive_errors_total{interface=\"eth1\"} 7",
                "hawser_interface_receive_errors_total{interface=\"eth2\"} 0",
                "hawser_interface_receive_missed_total{interface=\"eth1\"} 4",
                "hawser_interface_transmit_drops_total{interface=\"eth1\"} 3",
                "hawser_interface_transmit_errors_total{interface=\"eth1\"} 1",
            ][..],
        ),
        (
            "hawser_disk_",
            &[
                "hawser_disk_running{disk=\"sda\",address=\"2:0:1:0\"} 1.0",
                "hawser_disk_running{disk=\"sdb\",address=\"3:0:1:0\"} 0.0",
            ],
        ),
        (
            "hawser_multipath_",
            &[
                "hawser_multipath_paths_usable{device=\"mpatha\"} 1.0",
                "hawser_multipath_paths{device=\"mpatha\"} 2.0",
                "hawser_multipath_paths{device=\"mpathb\"} 2.0",
            ],
        ),
        (
            "hawser_zpool_",
            &["hawser_zpool_online{zpool=\"vmpool01\"} 0.0"],
        ),
        (
            "hawser_fence_",
            &[
                "hawser_fence_device_asked_timestamp_seconds{device=\"fence-head2\"} 1795346000.0",
                "hawser_fence_device_asked_timestamp_seconds{device=\"fence-head3\"} 1795346000.0",
                "hawser_fence_device_up{device=\"fence-head2\"} 1.0",
                "hawser_fence_device_up{device=\"fence-head3\"} 0.0",
            ],
        ),
        (
            "hawser_link_full_size_",
            &[
                "hawser_link_full_size_passes{link=\"ring0\",peer=\"head2\"} 1.0",
                "hawser_link_full_size_passes{link=\"ring1\",peer=\"head2\"} 0.0",
            ],
        ),
        (
            "hawser_address_",
            &[
                "hawser_address_duplicate{address=\"10.1.0.1\",link=\"san01\"} 0.0",
                "hawser_address_duplicate{address=\"10.1.0.9\",link=\"san01\"} 1.0",
            ],
        ),
        (
            "hawser_pool_free_",
            &["hawser_pool_free_bytes{pool=\"vmpool01\"} 123456789.0"],
        ),
        (
            "hawser_storage_",
            &[
                "hawser_storage_segments_resent_needlessly_total{link=\"san01\"} 9",
                "hawser_storage_segments_resent_total{link=\"san01\"} 412",
                "hawser_storage_segments_sent_total{link=\"san01\"} 8300",
            ],
        ),
        // A head alone compares its clock with nobody's.
        (
            "hawser_clock_",
            &[
                "hawser_clock_estimated_error_seconds 0.000062",
                "hawser_clock_greatest_error_seconds 0.0215",
                "hawser_clock_synchronised 1.0",
            ],
        ),
    ] {
        assert_eq!(samples(&text, prefix), wanted, "{text}");
    }
    let nothing = hawser_watch::metrics::text(&Shown::default(), Health::default());
    for name in [
        "disk",
        "multipath",
        "fence",
        "address",
        "pool_free",
        "link_full",
        "storage",
        "clock",
    ] {
        assert_eq!(samples(&nothing, &format!("hawser_{name}")), [""; 0]);
    }
}

#[test]
fn a_watch_of_all_heads_knows_by_how_much_their_clocks_are_apart() {
    let text = text(&shown(true), Health::default());
    let wanted = [
        "hawser_clock_ahead_least_seconds{head=\"head1\"} -0.0015",
        "hawser_clock_ahead_most_seconds{head=\"head1\"} 2.5",
    ];
    assert_eq!(samples(&text, "hawser_clock_ahead"), wanted);
}
