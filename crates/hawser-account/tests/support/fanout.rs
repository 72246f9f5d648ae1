//! Fan-outs made by hand: a host that serves as many as a rule says.

use std::collections::BTreeMap;

use hawser_account::fanout::next;
use hawser_model::case::{Case, Intensity};
use hawser_model::counters::Counters;
use hawser_model::fanout::{FanoutHost, FanoutRun, FanoutSeries, FanoutWindow, Spread};
use hawser_model::ladder::{HostUsage, ProcessorTime};
use hawser_model::names::HostName;
use hawser_model::units::{Nanos, Packets, PacketsPerSec};

use super::cluster::{PAIR, clean};

/// A fan-out with what it must give.
pub struct PlantedFanout {
    /// Its folder under `cases/`.
    pub name: &'static str,
    /// The facts.
    pub case: Case,
    /// The findings it must give, worst first, and no others.
    pub codes: Vec<&'static str>,
    /// The most receivers by spread, as the case has them.
    pub most: Vec<Option<u32>>,
}

const RATE: PacketsPerSec = PacketsPerSec(40_000);
const MOST: u32 = 64;

/// All of them.
pub fn planted() -> Vec<PlantedFanout> {
    let mut in_hypervisor = case([64, 64, 64, 64]);
    let facts = in_hypervisor.hosts.get_mut("head2").expect("a host");
    for interface in facts.interfaces.values_mut() {
        if !interface.addresses.is_empty() {
            interface.driver = Some("vmxnet3".to_owned());
            interface.mac = Some("00:50:56:00:00:02".to_owned());
        }
    }
    let mut refused = case([12, 6, 17, 0]);
    let threaded = &mut host(&mut refused).series[3];
    threaded.windows.clear();
    threaded.problem = Some("measure fan-out: run ethtool: No such file or directory".to_owned());
    let planted = |name, case, codes: &[&'static str], most: &[Option<u32>]| PlantedFanout {
        name,
        case,
        codes: codes.to_vec(),
        most: most.to_vec(),
    };
    let mut not_spread = searched(&Spread::TUNED, &[6, 17, 5]);
    host(&mut not_spread).bridge = Some("br0".into());
    vec![
        planted(
            "fanout-clean",
            case([20, 20, 21, 19]),
            &[],
            &[20, 20, 21, 19].map(Some),
        ),
        planted(
            "fanout-not-spread",
            not_spread,
            &["fanout-not-spread"],
            &[6, 17, 5].map(Some),
        ),
        planted(
            "fanout-as-good-as-spread",
            searched(&Spread::TUNED, &[17, 17, 5]),
            &[],
            &[17, 17, 5].map(Some),
        ),
        planted(
            "fanout-one-context",
            case([12, 6, 17, 5]),
            &["fanout-one-context"],
            &[12, 6, 17, 5].map(Some),
        ),
        planted(
            "fanout-in-hypervisor",
            in_hypervisor,
            &["fanout-in-hypervisor"],
            &[64; 4].map(Some),
        ),
        planted(
            "fanout-not-measured",
            refused,
            &["fanout-one-context", "fanout-not-measured"],
            &[Some(12), Some(6), Some(17), None],
        ),
    ]
}

fn host(case: &mut Case) -> &mut FanoutHost {
    let run = case.fanout.as_mut().expect("a fan-out");
    run.hosts.get_mut("head2").expect("a host")
}

/// A host that serves so many by each spread of a check.
fn case(limits: [u32; 4]) -> Case {
    searched(&Spread::ALL, &limits)
}

/// A host that serves so many by each of these spreads.
fn searched(spreads: &[Spread], limits: &[u32]) -> Case {
    let series = spreads.iter().zip(limits).map(|(&spread, &limit)| {
        let mut windows = Vec::new();
        while let Some(receivers) = next(&windows, RATE, MOST) {
            windows.push(window(receivers, limit, spread));
        }
        FanoutSeries {
            rate: RATE,
            spread,
            windows,
            problem: None,
        }
    });
    let host = FanoutHost {
        processors: vec![0, 1],
        bridge: None,
        series: series.collect(),
        problem: None,
    };
    let mut case = clean(&PAIR);
    case.intensity = Intensity::Full;
    case.hellos = None;
    case.measurements.clear();
    case.fanout = Some(FanoutRun {
        count_only: false,
        payload: 800,
        burst: 4,
        duration: Nanos::from_millis(500),
        most: MOST,
        hosts: BTreeMap::from([(HostName::from("head2"), host)]),
    });
    case
}

/// Half a second with so many receivers: beyond the limit the default slows its sender, the others
/// lose at the backlog of the second processor.
fn window(receivers: u32, limit: u32, spread: Spread) -> FanoutWindow {
    let over = receivers.saturating_sub(limit);
    let slowed = spread == Spread::Default && over > 0;
    let sent = if slowed { 18_000 } else { 20_000 };
    let lost = match spread {
        Spread::Default => 0,
        _ => u64::from(over) * 9_000,
    };
    let work = (u64::from(receivers) * 450 / u64::from(limit.max(1))).min(495);
    let other = match spread {
        Spread::OneContext | Spread::AsSet => 240,
        _ => work,
    };
    let processor = |softirq: u64| ProcessorTime {
        user: Nanos::from_millis(2),
        system: Nanos::from_millis(3),
        softirq: Nanos::from_millis(softirq),
        steal: Nanos::ZERO,
        idle: Nanos::from_millis(495 - softirq),
    };
    let mut counters = Counters::from_iter([("softnet/1/processed", sent * 2)]);
    if lost > 0 {
        counters.0.insert("softnet/1/dropped".to_owned(), lost - 40);
    }
    let expected = sent * u64::from(receivers);
    FanoutWindow {
        receivers,
        sent: Packets(sent),
        elapsed: Nanos::from_millis(500),
        received: Packets(expected - lost),
        least: Packets(sent - lost / u64::from(receivers.max(1))),
        socket_drops: Packets(lost.min(40)),
        usage: HostUsage {
            elapsed: Nanos::from_millis(500),
            processors: BTreeMap::from([(0, processor(other)), (1, processor(work))]),
            own_cpu: Nanos::from_millis(100),
            throttled: None,
            counters,
        },
    }
}
