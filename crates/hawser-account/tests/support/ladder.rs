//! Ladders made by hand: a clean one, and one planted fault each.

use std::collections::BTreeMap;

use hawser_model::case::Case;
use hawser_model::counters::Counters;
use hawser_model::host::Interface;
use hawser_model::ladder::{
    CipherChoice, CipherMode, Hardware, HostUsage, LadderRun, ProcessorTime, Rung, RungKind,
    Sample, Stage, StageKind, Storage,
};
use hawser_model::names::{HostName, LinkName};
use hawser_model::probe::PathMtu;
use hawser_model::traffic::{SLICE, StreamState};
use hawser_model::units::{BitsPerSec, Bytes, Mtu, Nanos, Packets};

use super::cluster::{PAIR, address, clean};

/// A ladder with a planted fault.
pub struct PlantedLadder {
    /// Its folder under `cases/`.
    pub name: &'static str,
    /// The facts.
    pub case: Case,
    /// The findings it must give, worst first, and no others.
    pub codes: Vec<&'static str>,
    /// Who must be named as the bottleneck.
    pub bottleneck: &'static str,
}

const HEADS: [&str; 2] = ["head1", "head2"];

/// All of them.
pub fn planted() -> Vec<PlantedLadder> {
    let mut all = vec![planted_as("ladder-clean", clean_ladder(), "", &[])];
    all.extend(hosts());
    all.extend(paths());
    all.extend(ciphers());
    all
}

fn planted_as(
    name: &'static str,
    case: Case,
    bottleneck: &'static str,
    codes: &[&'static str],
) -> PlantedLadder {
    PlantedLadder {
        name,
        case,
        codes: codes.to_vec(),
        bottleneck: match bottleneck {
            "" => "sink write head2",
            other => other,
        },
    }
}

fn hosts() -> Vec<PlantedLadder> {
    let mut limited = clean_ladder();
    whole(&mut limited, 100, [5, 10, 5, 10, 12, 15]);
    for stage in stages(&mut limited).iter_mut().skip(3) {
        stage.run_delay = Some(Nanos::from_millis(1_900));
    }
    run(&mut limited)
        .hardware
        .get_mut("head2")
        .unwrap()
        .quota_millis = Some(200);

    let mut stolen = clean_ladder();
    whole(&mut stolen, 500, [20, 30, 20, 30, 30, 40]);
    for stage in stages(&mut stolen) {
        stage.run_delay = Some(Nanos::from_millis(900));
    }
    for time in usage(&mut stolen, RungKind::Whole, "head1").values_mut() {
        *time = processor(600, 200, 200, 1_900, 100);
    }

    let mut softirq = clean_ladder();
    set(&mut softirq, RungKind::WireTcp, 700);
    let busy = usage(&mut softirq, RungKind::WireTcp, "head2");
    *busy.get_mut(&1).unwrap() = processor(20, 80, 2_850, 0, 50);
    whole(&mut softirq, 690, [15, 25, 20, 30, 22, 65]);
    waiting_on_wire(&mut softirq, 70);

    let mut disk = clean_ladder();
    run(&mut disk).sink = Storage {
        path: Some("/srv/pool".into()),
        direct: true,
    };
    set(&mut disk, RungKind::SinkWrite, 80);
    whole(&mut disk, 79, [2, 3, 2, 3, 3, 98]);

    // Fast enough with requests in flight that nobody has who waits for each.
    let mut unit = clean_ladder();
    read_unit(&mut unit, [(1, 95), (4, 320), (16, 1_010), (64, 1_105)]);
    let mut slow_unit = clean_ladder();
    read_unit(&mut slow_unit, [(1, 90), (4, 210), (16, 260), (64, 255)]);

    let mut slow_port = clean_ladder();
    port(&mut slow_port, "head2").speed = Some(BitsPerSec(1_000_000_000));
    for (kind, mb) in [
        (RungKind::WireTcp, 117),
        (RungKind::WireTcpMany, 117),
        (RungKind::WireUdp, 119),
    ] {
        set(&mut slow_port, kind, mb);
    }
    whole(&mut slow_port, 116, [3, 5, 4, 5, 5, 10]);
    waiting_on_wire(&mut slow_port, 93);

    let mut refused = clean_ladder();
    let rung = rung(&mut refused, RungKind::Whole);
    *rung = Rung {
        unavailable: Some("run whole path: connect 10.77.0.2:40000: ETIMEDOUT".to_owned()),
        ..blank(RungKind::Whole, None)
    };
    vec![
        planted_as(
            "ladder-cpu-limit",
            limited,
            "processors of head2",
            &["cpu-limit"],
        ),
        planted_as(
            "ladder-cpu-stolen",
            stolen,
            "processors of head1",
            &["cpu-limit"],
        ),
        planted_as(
            "ladder-softirq-core",
            softirq,
            "wire tcp, 1 stream",
            &["softirq-core-saturated"],
        ),
        planted_as("ladder-slow-disk", disk, "", &["storage-below-link"]),
        planted_as("ladder-iscsi", slow_unit, "", &["unit-below-link"]),
        planted_as("ladder-iscsi-clean", unit, "", &[]),
        planted_as(
            "ladder-speed-below-peer",
            slow_port,
            "wire tcp, 1 stream",
            &["speed-below-peer"],
        ),
        PlantedLadder {
            bottleneck: "",
            ..planted_as("ladder-not-measured", refused, "", &["rung-not-measured"])
        },
    ]
}

fn paths() -> Vec<PlantedLadder> {
    let wire = "wire tcp, 1 stream";
    let mut between = limited_to(25, 40);
    let mut shaped = between.clone();
    let counters = &mut rung(&mut shaped, RungKind::WireTcp)
        .usage
        .get_mut("head1")
        .unwrap()
        .counters;
    *counters = Counters::from_iter([
        ("qdisc/ring0/8001:/tbf/bytes", 75_000_000),
        ("qdisc/ring0/8001:/tbf/overlimits", 1_830),
    ]);
    stream(&mut between).retransmits = Packets(3);

    let mut policed = limited_to(25, 40);
    stream(&mut policed).retransmits = Packets(1_900);
    let samples = &mut rung(&mut policed, RungKind::WireTcp).samples;
    for sample in &mut samples[..2] {
        sample.bytes = Bytes(4 * sample.bytes.0);
    }

    // Other programs have every processor: a slow stream that starts fast needs no limit for that.
    let mut busy_hosts = policed.clone();
    stream(&mut busy_hosts).retransmits = Packets(1);
    for head in HEADS {
        for time in usage(&mut busy_hosts, RungKind::WireTcp, head).values_mut() {
            *time = processor(2_300, 600, 100, 0, 0);
        }
        let own = rung(&mut busy_hosts, RungKind::WireTcp).usage.get_mut(head);
        own.expect("a host").own_cpu = Nanos::from_millis(300);
    }

    let mut window = limited_to(40, 100);
    set(&mut window, RungKind::WireTcpMany, 160);
    host(&mut window, "head2").sysctls.insert(
        "net.ipv4.tcp_rmem".to_owned(),
        "4096 65536 65536".to_owned(),
    );
    let state = stream(&mut window);
    state.receive_window_limited = Nanos::from_millis(1_900);
    state.receive_window = Bytes(32_768);
    state.least_round_trip = Nanos(800_000);

    // Every stage waits for a processor that sleeps between any two of its small windows.
    let mut slow_to_wake = window.clone();
    for stage in stages(&mut slow_to_wake) {
        stage.run_delay = Some(Nanos::from_millis(2_100));
    }

    let mut lossy = clean_ladder();
    set(&mut lossy, RungKind::WireTcp, 200);
    set(&mut lossy, RungKind::WireTcpMany, 640);
    let state = stream(&mut lossy);
    state.congestion = "cubic".to_owned();
    state.retransmits = Packets(2_000);
    whole(&mut lossy, 197, [4, 7, 5, 6, 7, 18]);
    waiting_on_wire(&mut lossy, 90);

    let same = with_other(&lossy, "bbr", 205);
    let loss = with_other(&lossy, "bbr", 640);
    let mut paced = clean_ladder();
    set(&mut paced, RungKind::WireTcp, 700);
    whole(&mut paced, 690, [10, 20, 14, 15, 18, 60]);
    waiting_on_wire(&mut paced, 80);
    let other = with_other(&paced, "cubic", 1_150);
    // Its segments overtook each other: sent again, and not lost.
    let mut overtaken = lossy.clone();
    stream(&mut overtaken).needless = Packets(1_998);

    let mut bond = clean_ladder();
    set(&mut bond, RungKind::WireTcp, 600);
    whole(&mut bond, 592, [12, 20, 16, 18, 20, 55]);
    waiting_on_wire(&mut bond, 77);
    port(&mut bond, "head1").lower = vec!["eth0".into(), "eth1".into()];

    let mut hop = clean_ladder();
    for head in HEADS {
        port(&mut hop, head).mtu = Some(Mtu(9_000));
    }
    let path = run(&mut hop).path_mtu.as_mut().unwrap();
    path.interface_mtu = Mtu(9_000);
    path.silent = Some(Mtu(1_501));

    let mut frames = clean_ladder();
    for head in HEADS {
        port(&mut frames, head).features_on.clear();
    }
    set(&mut frames, RungKind::WireTcp, 700);
    set(&mut frames, RungKind::WireTcpMany, 750);
    let busy = usage(&mut frames, RungKind::WireTcp, "head1");
    *busy.get_mut(&2).unwrap() = processor(150, 2_350, 400, 0, 100);
    let usage = rung(&mut frames, RungKind::WireTcp).usage.get_mut("head1");
    usage.unwrap().own_cpu = Nanos::from_millis(2_900);
    whole(&mut frames, 690, [15, 25, 92, 50, 22, 65]);
    let mut frames_stolen = frames.clone();
    for time in self::usage(&mut frames_stolen, RungKind::Whole, "head1").values_mut() {
        *time = processor(600, 1_000, 800, 500, 100);
    }
    vec![
        planted_as("ladder-rate-limit", shaped, wire, &["rate-limit"]),
        planted_as("ladder-rate-limit-between", between, wire, &["rate-limit"]),
        planted_as("ladder-policer", policed, wire, &["policer"]),
        planted_as("ladder-busy-hosts", busy_hosts, wire, &[]),
        planted_as("ladder-window", window, wire, &["window-too-small"]),
        planted_as(
            "ladder-slow-to-wake",
            slow_to_wake,
            wire,
            &["window-too-small"],
        ),
        planted_as(
            "ladder-congestion-control",
            lossy,
            wire,
            &["congestion-control"],
        ),
        planted_as(
            "ladder-congestion-loss",
            loss,
            wire,
            &["congestion-control"],
        ),
        planted_as("ladder-congestion-same", same, wire, &["single-stream"]),
        planted_as(
            "ladder-congestion-other",
            other,
            wire,
            &["congestion-control"],
        ),
        planted_as("ladder-overtaken", overtaken, wire, &["single-stream"]),
        planted_as("ladder-single-stream", bond, wire, &["single-stream"]),
        planted_as("ladder-path-mtu", hop, "", &["path-mtu-below-interface"]),
        planted_as(
            "ladder-small-frames-stolen",
            frames_stolen,
            "send head1",
            &["cpu-limit", "small-frames"],
        ),
        planted_as(
            "ladder-small-frames",
            frames,
            "send head1",
            &["small-frames"],
        ),
    ]
}

fn ciphers() -> Vec<PlantedLadder> {
    let mut old = clean_ladder();
    set(&mut old, RungKind::Encrypt, 120);
    set(&mut old, RungKind::Decrypt, 118);
    for hardware in run(&mut old).hardware.values_mut() {
        hardware.cipher_instructions = vec!["ssse3".to_owned()];
    }
    whole(&mut old, 116, [4, 97, 5, 6, 98, 10]);

    let mut cbc = clean_ladder();
    run(&mut cbc).cipher = Some(CipherChoice {
        mode: CipherMode::Cbc,
        key_bits: 256,
    });
    set(&mut cbc, RungKind::Encrypt, 690);
    set(&mut cbc, RungKind::Decrypt, 3_000);
    whole(&mut cbc, 680, [30, 98, 30, 30, 22, 60]);

    let mut below = clean_ladder();
    set(&mut below, RungKind::Encrypt, 900);
    whole(&mut below, 890, [22, 99, 30, 32, 33, 88]);

    // A busy host under a hypervisor that lends its processors to others: two fifths of the time it
    // ran at all, and less than that on a processor.
    let mut waiting = clean_ladder();
    set(&mut waiting, RungKind::Encrypt, 900);
    let usage = HostUsage {
        elapsed: Nanos::from_millis(600),
        processors: (0..4)
            .map(|number| (number, processor(300, 100, 50, 150, 0)))
            .collect(),
        own_cpu: Nanos::from_millis(240),
        ..idle_usage()
    };
    rung(&mut waiting, RungKind::Encrypt).usage = [("head1".into(), usage)].into();
    // What it loses to the link is less than it varies.
    let mut noisy = clean_ladder();
    set(&mut noisy, RungKind::Encrypt, 1_040);
    for (number, sample) in rung(&mut noisy, RungKind::Encrypt)
        .samples
        .iter_mut()
        .enumerate()
    {
        let percent = if number % 2 == 0 { 75 } else { 125 };
        sample.bytes = Bytes(sample.bytes.0 / 100 * percent);
    }

    let mut kernel = clean_ladder();
    set(&mut kernel, RungKind::EncryptKernel, 56);
    vec![
        planted_as(
            "ladder-cipher-without-instructions",
            old,
            "decrypt head2",
            &["cipher-without-instructions", "cipher-without-instructions"],
        ),
        planted_as(
            "ladder-cipher-chained",
            cbc,
            "encrypt head1",
            &["cipher-chained"],
        ),
        planted_as(
            "ladder-cipher-below-link",
            below,
            "encrypt head1",
            &["cipher-below-link"],
        ),
        planted_as("ladder-cipher-waiting", waiting, "", &[]),
        planted_as("ladder-cipher-noisy", noisy, "", &[]),
        planted_as(
            "ladder-kernel-cipher-slow",
            kernel,
            "",
            &["kernel-cipher-slow"],
        ),
    ]
}

/// Four processors a host, 10 Gbit/s, GCM, and a sink that is the slowest of all.
fn clean_ladder() -> Case {
    let mut case = clean(&PAIR);
    case.measurements.clear();
    case.hellos = None;
    case.sockets.clear();
    for facts in case.hosts.values_mut() {
        facts.cpus = 4;
        facts.machine = "x86_64".to_owned();
        for interface in facts.interfaces.values_mut() {
            interface.speed = Some(BitsPerSec(10_000_000_000));
            interface.features_on = vec!["tx-tcp-segmentation".to_owned()];
        }
        let buffers = ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];
        for sysctl in buffers {
            let value = "4096 131072 6291456".to_owned();
            facts.sysctls.insert(sysctl.to_owned(), value);
        }
    }
    let hardware = Hardware {
        processor: "a processor of a case".to_owned(),
        cipher_instructions: ["aes", "avx2", "pclmulqdq", "ssse3"]
            .map(str::to_owned)
            .to_vec(),
        allowed_processors: 4,
        quota_millis: None,
    };
    let on = |kind, host: &str, mb| Rung {
        samples: samples(mb, 5),
        ..blank(kind, Some(host))
    };
    let between = |kind, mb| Rung {
        samples: samples(mb, 10),
        usage: HEADS.map(|head| (head.into(), idle_usage())).into(),
        ..blank(kind, None)
    };
    let mut rungs = vec![
        on(RungKind::MemoryCopy, "head1", 9_000),
        on(RungKind::MemoryCopy, "head2", 8_800),
        on(RungKind::SourceRead, "head1", 5_000),
        on(RungKind::Encrypt, "head1", 2_600),
        Rung {
            unavailable: Some("socket AF_ALG gcm(aes): EAFNOSUPPORT".to_owned()),
            ..blank(RungKind::EncryptKernel, Some("head1"))
        },
        on(RungKind::LoopbackTcp, "head1", 4_000),
        between(RungKind::WireTcp, 1_170),
        between(RungKind::WireTcpMany, 1_175),
        between(RungKind::WireUdp, 900),
        between(RungKind::WireUdpSmall, 45),
        on(RungKind::Decrypt, "head2", 2_700),
        on(RungKind::SinkWrite, "head2", 1_000),
        between(RungKind::Whole, 980),
    ];
    rungs[6].streams = vec![state(1_170)];
    rungs[7].streams = vec![state(293); 4];
    let end = |host| address(false, 0, host);
    case.ladder = Some(LadderRun {
        from: "head1".into(),
        to: "head2".into(),
        link: LinkName::from("ring0"),
        source: Storage::default(),
        sink: Storage::default(),
        cipher: Some(CipherChoice {
            mode: CipherMode::Gcm,
            key_bits: 128,
        }),
        iscsi: None,
        hardware: HEADS.map(|head| (head.into(), hardware.clone())).into(),
        rungs,
        path_mtu: Some(PathMtu {
            source: end(0),
            destination: end(1),
            interface_mtu: Mtu(1_500),
            passed: Some(Mtu(1_500)),
            silent: None,
            told: None,
        }),
    });
    whole(&mut case, 980, [25, 40, 30, 35, 38, 97]);
    case
}

/// A clean ladder whose path gets no more than this, whatever is sent, with CPUs idle.
fn limited_to(mb: u64, many_percent: u64) -> Case {
    let mut case = clean_ladder();
    set(&mut case, RungKind::WireTcp, mb);
    set(&mut case, RungKind::WireTcpMany, mb);
    set(&mut case, RungKind::WireUdp, mb * many_percent / 40);
    whole(&mut case, mb - 1, [1, 2, 1, 2, 2, 3]);
    waiting_on_wire(&mut case, 96);
    case
}

fn blank(kind: RungKind, host: Option<&str>) -> Rung {
    Rung {
        kind,
        host: host.map(HostName::from),
        how: "made by hand".to_owned(),
        depth: None,
        unavailable: None,
        samples: Vec::new(),
        usage: BTreeMap::new(),
        streams: Vec::new(),
        stages: Vec::new(),
    }
}

fn samples(mb: u64, slices: usize) -> Vec<Sample> {
    let sample = Sample {
        elapsed: SLICE,
        bytes: Bytes(mb * SLICE.0 / 1_000),
    };
    vec![sample; slices]
}

fn state(mb: u64) -> StreamState {
    StreamState {
        congestion: "bbr".to_owned(),
        segment: Bytes(1_448),
        round_trip: Nanos(140_000),
        least_round_trip: Nanos(110_000),
        congestion_window: Bytes(400_000),
        receive_window: Bytes(3_000_000),
        busy: Nanos::from_millis(2_000),
        receive_window_limited: Nanos::ZERO,
        send_buffer_limited: Nanos::ZERO,
        segments: Packets(mb * 2_000_000 / 1_448),
        retransmits: Packets::ZERO,
        needless: Packets::ZERO,
    }
}

fn processor(user: u64, system: u64, softirq: u64, steal: u64, idle: u64) -> ProcessorTime {
    ProcessorTime {
        user: Nanos::from_millis(user),
        system: Nanos::from_millis(system),
        softirq: Nanos::from_millis(softirq),
        steal: Nanos::from_millis(steal),
        idle: Nanos::from_millis(idle),
    }
}

fn idle_usage() -> HostUsage {
    HostUsage {
        elapsed: Nanos::from_millis(3_000),
        processors: (0..4)
            .map(|number| (number, processor(300, 600, 200, 0, 1_900)))
            .collect(),
        own_cpu: Nanos::from_millis(2_000),
        throttled: None,
        counters: Counters::default(),
    }
}

fn run(case: &mut Case) -> &mut LadderRun {
    case.ladder.as_mut().expect("a ladder")
}

fn rung(case: &mut Case, kind: RungKind) -> &mut Rung {
    let rungs = &mut run(case).rungs;
    rungs.iter_mut().find(|r| r.kind == kind).expect("a rung")
}

fn stream(case: &mut Case) -> &mut StreamState {
    &mut rung(case, RungKind::WireTcp).streams[0]
}

fn stages(case: &mut Case) -> &mut Vec<Stage> {
    &mut rung(case, RungKind::Whole).stages
}

fn usage<'a>(
    case: &'a mut Case,
    kind: RungKind,
    host: &str,
) -> &'a mut BTreeMap<u32, ProcessorTime> {
    &mut rung(case, kind)
        .usage
        .get_mut(host)
        .expect("a host")
        .processors
}

fn host<'a>(case: &'a mut Case, name: &str) -> &'a mut hawser_model::host::HostFacts {
    case.hosts.get_mut(name).expect("a host")
}

fn port<'a>(case: &'a mut Case, name: &str) -> &'a mut Interface {
    host(case, name)
        .interfaces
        .get_mut("ring0")
        .expect("a port")
}

/// Sets the rate of a rung.
fn set(case: &mut Case, kind: RungKind, mb: u64) {
    let rung = rung(case, kind);
    rung.unavailable = None;
    rung.samples = samples(mb, 10);
}

/// A unit that the receiver reads so fast with so many requests in flight.
fn read_unit(case: &mut Case, rates: [(u32, u64); 4]) {
    let unit = "10.77.0.207/iqn.2026-01.lab.hawser:vmpool01/1";
    run(case).iscsi = Some(unit.parse().expect("a unit"));
    let rungs = rates.map(|(depth, mb)| Rung {
        depth: Some(depth),
        samples: samples(mb, 10),
        ..blank(RungKind::IscsiRead, Some("head2"))
    });
    let whole = run(case).rungs.pop().expect("the whole path");
    run(case).rungs.extend(rungs.into_iter().chain([whole]));
}

/// The same with another congestion control measured beside the host's own.
fn with_other(case: &Case, congestion: &str, mb: u64) -> Case {
    let mut case = case.clone();
    let mut state = state(mb);
    state.congestion = congestion.to_owned();
    let rung = Rung {
        streams: vec![state],
        samples: samples(mb, 10),
        ..blank(RungKind::WireTcpOther, None)
    };
    run(&mut case).rungs.insert(7, rung);
    case
}

/// Sets the rate of the whole path and how busy each stage was, in per cent.
fn whole(case: &mut Case, mb: u64, busy: [u64; 6]) {
    set(case, RungKind::Whole, mb);
    let kinds = [
        StageKind::Read,
        StageKind::Encrypt,
        StageKind::Send,
        StageKind::Receive,
        StageKind::Decrypt,
        StageKind::Write,
    ];
    let part = |percent: u64| Nanos::from_millis(30 * percent);
    *stages(case) = kinds
        .into_iter()
        .zip(busy)
        .map(|(kind, percent)| Stage {
            kind,
            thread: None,
            elapsed: part(100),
            busy: part(percent),
            waiting_in: part((100 - percent) / 2),
            waiting_out: part((100 - percent) / 2),
            cpu: part(percent * 9 / 10),
            run_delay: Some(part(1)),
            bytes: Bytes(mb * 3_000_000),
        })
        .collect();
}

/// The sender waits for room and the receiver for data, in per cent of the time.
fn waiting_on_wire(case: &mut Case, percent: u64) {
    for stage in stages(case) {
        match stage.kind {
            StageKind::Send => stage.waiting_out = Nanos::from_millis(30 * percent),
            StageKind::Receive => stage.waiting_in = Nanos::from_millis(30 * percent),
            _ => {}
        }
    }
}
