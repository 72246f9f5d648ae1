//! Saved copies with the answers expected of them, in `cases/copy/`.
//!
//! `UPDATE_CASES=1 cargo test -p hawser-account --test golden_copy` writes the synthetic cases and
//! all answers anew; a human reads the diff.

mod support;

use std::path::PathBuf;

use hawser_account::copy::{copy_codes, explain_copy};
use hawser_model::copy::{
    COPY_FORMAT, CopyCase, CopyEnd, CopyOptions, CopySink, CopySource, RateSample, Stage,
    StageTime, TcpFacts,
};
use hawser_model::finding::WordedFinding;
use hawser_model::host::Interface;
use hawser_model::units::{Bytes, Nanos};

use support::saved::{self, hold_answers, hold_pages, hold_planted};

fn cases() -> PathBuf {
    saved::cases("copy")
}

/// A stretch of a copy: its length in samples of 50 ms, and what happens in it.
#[derive(Clone, Copy, Default)]
struct Phase {
    samples: u64,
    mb_per_s: u64,
    /// Per cent of the time in the disk of the sender and of the receiver.
    read: u64,
    write: u64,
    /// Per cent of the time that the receiver's window holds back.
    window: u64,
    /// Segments sent again in each sample.
    retransmits: u64,
}

const STEP: u64 = 50;

/// A copy of these phases whose rates wobble by a few per cent.
fn copy_of(phases: &[Phase]) -> CopyCase {
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    let (mut sender, mut receiver) = (RateSample::default(), RateSample::default());
    sent.push(sender);
    received.push(receiver);
    for (number, phase) in (0_u64..).zip(phases) {
        for sample in 0..phase.samples {
            let wobble = [100, 103, 98, 101, 97, 102][((sample + number) % 6) as usize];
            let moved = phase.mb_per_s * 1_000_000 * STEP / 1000 * wobble / 100;
            for (end, disk) in [(&mut sender, phase.read), (&mut receiver, phase.write)] {
                end.at += Nanos::from_millis(STEP);
                end.bytes += Bytes(moved);
                end.disk += Nanos(STEP * 10_000 * disk);
            }
            sender.retransmits += phase.retransmits;
            sender.tcp_busy += Nanos::from_millis(STEP);
            sender.window_limited += Nanos(STEP * 10_000 * phase.window);
            sent.push(sender);
            received.push(receiver);
        }
    }
    let (elapsed, size) = (receiver.at, receiver.bytes);
    let stage = |stage, busy: Nanos| StageTime {
        stage,
        bytes: size,
        busy,
        waiting: elapsed.saturating_sub(busy),
        cpu: Nanos::ZERO,
    };
    let interface = Some(("ring0".into(), Interface::default()));
    let end = |samples, stages, tcp| CopyEnd {
        size,
        moved: size,
        elapsed,
        stages,
        samples,
        tcp: vec![tcp],
        checksum: Some("0".repeat(32)),
        interface: interface.clone(),
        ..CopyEnd::default()
    };
    CopyCase {
        format: COPY_FORMAT.to_owned(),
        hawser: "0.1.0".to_owned(),
        recorded: 1_763_000_000,
        from: "head1".into(),
        to: "head2".into(),
        link: "ring0".into(),
        source: CopySource::Path("/srv/a".to_owned()),
        sink: CopySink::Path {
            path: "/srv/b".to_owned(),
            name: "a".to_owned(),
            replace: false,
        },
        options: CopyOptions::default(),
        sender: end(
            sent,
            vec![
                stage(Stage::Read, sender.disk),
                stage(Stage::Send, Nanos(elapsed.0 / 10)),
            ],
            TcpFacts {
                congestion: "cubic".to_owned(),
                snd_mss: 1448,
                pmtu: 1500,
                rtt: Nanos(400_000),
                snd_wnd: Bytes(3 << 20),
                retransmits: sender.retransmits,
                segments_out: size.0 / 1448,
                ..TcpFacts::default()
            },
        ),
        receiver: end(
            received,
            vec![
                stage(Stage::Receive, Nanos(elapsed.0 / 10)),
                stage(Stage::Write, receiver.disk),
            ],
            TcpFacts {
                congestion: "cubic".to_owned(),
                snd_mss: 1448,
                rcv_mss: 1448,
                pmtu: 1500,
                receive_buffer: Bytes(6 << 20),
                ..TcpFacts::default()
            },
        ),
    }
}

/// What is planted, and the codes that must be found, in order.
fn planted() -> Vec<(&'static str, CopyCase, &'static [&'static str])> {
    let fast = Phase {
        samples: 20,
        mb_per_s: 900,
        read: 30,
        write: 40,
        ..Phase::default()
    };
    let slow = Phase {
        samples: 60,
        mb_per_s: 40,
        read: 2,
        write: 3,
        ..Phase::default()
    };
    let steady = Phase {
        samples: 60,
        ..fast
    };
    let mut merging = copy_of(&[
        fast,
        Phase {
            mb_per_s: 1,
            retransmits: 1,
            ..slow
        },
    ]);
    if let Some((_, interface)) = &mut merging.receiver.interface {
        interface.features_on = vec!["rx-gro".to_owned(), "rx-lro".to_owned()];
    }
    merging.receiver.tcp[0].rcv_mss = 17_376;
    merging.sender.tcp[0].timeouts = 41;
    let mut window = copy_of(&[Phase {
        window: 95,
        mb_per_s: 60,
        write: 5,
        ..steady
    }]);
    window.sender.tcp[0].snd_wnd = Bytes(65_536);
    window.sender.tcp[0].rtt = Nanos(1_000_000);
    window.receiver.tcp[0].receive_buffer = Bytes(131_072);
    let resent = copy_of(&[Phase {
        retransmits: 300,
        ..steady
    }]);
    // Segments that overtook each other between a host's processors are sent again, and were not lost.
    let mut overtaken = resent.clone();
    for sample in &mut overtaken.sender.samples {
        sample.needless = sample.retransmits;
    }
    overtaken.sender.tcp[0].needless = overtaken.sender.tcp[0].retransmits - 20;
    vec![
        ("clean", copy_of(&[steady]), &[]),
        (
            "policer",
            copy_of(&[
                fast,
                Phase {
                    retransmits: 30,
                    ..slow
                },
            ]),
            &["rate-after-burst"],
        ),
        ("shaper", copy_of(&[fast, slow]), &["rate-after-burst"]),
        (
            "disk-stall-write",
            copy_of(&[
                fast,
                Phase {
                    write: 96,
                    window: 90,
                    ..slow
                },
            ]),
            &["disk-stall"],
        ),
        (
            "disk-stall-read",
            copy_of(&[fast, Phase { read: 97, ..slow }]),
            &["disk-stall"],
        ),
        ("receive-window", window, &["receive-window"]),
        // A slow program at the receiver shuts the window too.
        (
            "slow-reader",
            copy_of(&[Phase {
                window: 95,
                write: 90,
                ..steady
            }]),
            &[],
        ),
        ("receive-merging", merging, &["receive-merging-stall"]),
        ("retransmits", resent, &["copy-retransmits"]),
        ("overtaken", overtaken, &[]),
    ]
}

#[test]
fn every_saved_copy_gives_the_answer_beside_it() {
    for (name, case, _) in planted() {
        hold_planted(&cases(), name, &case);
    }
    hold_answers(
        &cases(),
        &saved::saved(&cases(), |_: &CopyCase| true),
        explain_copy,
    );
}

#[test]
fn each_planted_fault_is_named_and_nothing_else() {
    for (name, case, codes) in planted() {
        let answer = explain_copy(&case);
        let found = answer.findings.iter().map(|f| f.finding.code.as_str());
        assert_eq!(found.collect::<Vec<_>>(), codes, "{name}");
    }
}

#[test]
fn the_policers_burst_and_rate_are_told() {
    let (_, case, _) = planted().swap_remove(1);
    let answer = explain_copy(&case);
    let change = answer.change.expect("a change");
    assert_eq!(change.at_s, 1.0);
    let evidence = &answer.findings[0].finding.evidence;
    let burst = evidence["burst_bytes"].as_u64().expect("a number");
    assert!((855_000_000..865_000_000).contains(&burst), "{burst}");
    let rate = evidence["bits_per_s"].as_u64().expect("a number");
    assert!((318_000_000..322_000_000).contains(&rate), "{rate}");
}

#[test]
fn every_cause_has_a_case_and_a_page_that_explains_its_numbers() {
    let findings: Vec<WordedFinding> = planted()
        .iter()
        .flat_map(|(_, case, _)| explain_copy(case).findings)
        .collect();
    hold_pages(copy_codes(), &findings, &[]);
}
