//! What a host counts while nobody measures anything: the gains of its counters over the last minute.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use hawser_model::counters::Counters;
use hawser_model::drops::{DropRecord, DropTotals};
use hawser_model::host::{HostWindow, PortCounts};
use hawser_model::names::InterfaceName;
use hawser_model::served::SentSegments;
use hawser_model::sockets::SocketFacts;
use hawser_model::units::{Nanos, Packets};

use crate::KernelError;
use crate::collectors::counters::{self, Source};
use crate::collectors::drop_reasons::{Events, Functions};
use crate::collectors::sockets::served::{self, ByClient, Served};
use crate::collectors::sockets::{self, SocketDiag};

/// A window is at least as long, once so much has passed.
const OVER: Duration = Duration::from_secs(60);

/// Readings that are kept are as far apart, however often it is read.
const APART: Duration = Duration::from_secs(15);

/// What could not count drops is tried again after so long.
const AGAIN: Duration = Duration::from_secs(600);

/// Reads counters again and again.
#[derive(Default)]
pub struct Tally {
    sources: Vec<Box<dyn Source>>,
    sockets: Option<SocketDiag>,
    served: Served,
    /// What counts drops, or why that failed, and when it was tried.
    drops: Option<Result<Events, (Instant, KernelError)>>,
    kept: VecDeque<Reading>,
}

/// What a host counted.
#[derive(Debug, PartialEq)]
pub struct Tallied {
    /// What was gained since a reading of a minute ago, or since the first where that is younger; absent at the first.
    pub window: Option<HostWindow>,
    /// What the kernel dropped since somebody asked for that first; absent where nobody asks.
    pub drops: Option<DropTotals>,
    /// What the ports counted, since their drivers began.
    pub ports: BTreeMap<InterfaceName, PortCounts>,
    /// What was sent to clients of the storage, by the host's address at which they are served, since it was read first.
    pub served: BTreeMap<IpAddr, SentSegments>,
}

struct Reading {
    at: Instant,
    counters: Vec<Option<Counters>>,
    sockets: Option<BTreeMap<u64, SocketFacts>>,
    served: Option<ByClient>,
    drops: Option<Vec<DropRecord>>,
}

impl Tally {
    /// Reads them. Taps are not in it: they cost something with every packet. Drop reasons cost with every packet that the
    /// kernel drops. Storage is served at these `ports`.
    pub fn read(&mut self, drops: bool, ports: &BTreeSet<u16>) -> Tallied {
        self.read_at(Instant::now(), drops, ports)
    }

    fn read_at(&mut self, at: Instant, drops: bool, storage: &BTreeSet<u16>) -> Tallied {
        if self.sources.is_empty() {
            self.sources = counters::quiet();
            self.sockets = SocketDiag::open().ok();
        }
        let drops = drops.then(|| self.drops(at));
        let diag = &mut self.sockets;
        let served = &mut self.served;
        let now = Reading {
            at,
            counters: counters::read(&mut self.sources),
            sockets: diag.as_mut().and_then(|diag| diag.dump().ok()),
            served: diag
                .as_mut()
                .and_then(|diag| served.read(diag, storage).ok()),
            drops: match &drops {
                Some(DropTotals::Counted { drops, .. }) => Some(drops.clone()),
                Some(DropTotals::NotCounted(_)) | None => None,
            },
        };
        // The oldest that is kept is the youngest of those that are old enough.
        while self
            .kept
            .get(1)
            .is_some_and(|second| now.at - second.at >= OVER)
        {
            self.kept.pop_front();
        }
        let ports = port_counts(&now.counters);
        let window = self.kept.front().map(|before| now.since(before));
        let last = self.kept.back();
        if last.is_none_or(|last| now.at - last.at >= APART) {
            self.kept.push_back(now);
        }
        Tallied {
            window,
            drops,
            ports,
            served: self.served.totals().clone(),
        }
    }

    fn drops(&mut self, at: Instant) -> DropTotals {
        let start = || {
            let mut events = Events::start(Functions::ForVague)?;
            events.open(&[])?;
            Ok(events)
        };
        let counts = match self.drops.take() {
            Some(Ok(events)) => Ok(events),
            Some(Err((tried, why))) if at - tried < AGAIN => Err((tried, why)),
            Some(Err(_)) | None => start().map_err(|why| (at, why)),
        };
        let read = match self.drops.insert(counts) {
            Ok(events) => events.read().map_err(|why| why.to_string()),
            Err((_, why)) => Err(why.to_string()),
        };
        match read {
            Ok(seen) => DropTotals::Counted {
                drops: lost(seen.drops.unwrap_or_default()),
                missed: seen.missed,
            },
            Err(why) => DropTotals::NotCounted(why),
        }
    }
}

/// What they lost, of all that was counted (`link/eth1/rx_errors`).
fn port_counts(counters: &[Option<Counters>]) -> BTreeMap<InterfaceName, PortCounts> {
    let mut ports: BTreeMap<InterfaceName, PortCounts> = BTreeMap::new();
    let all = counters.iter().flatten();
    for (name, value) in all.flat_map(|counters| counters.under("link/")) {
        let name = name.strip_prefix("link/").and_then(|it| it.split_once('/'));
        let Some((port, counter)) = name else {
            continue;
        };
        let of: fn(&mut PortCounts) -> &mut Option<Packets> = match counter {
            "rx_errors" => |port| &mut port.rx_errors,
            "tx_errors" => |port| &mut port.tx_errors,
            "rx_dropped" => |port| &mut port.rx_dropped,
            "tx_dropped" => |port| &mut port.tx_dropped,
            "rx_missed_errors" => |port| &mut port.rx_missed,
            _ => continue,
        };
        *of(ports.entry(port.into()).or_default()) = Some(Packets(value));
    }
    ports
}

/// Without what a socket gives up that is closed: most are the kernel's answers to programs (netlink) and no packets.
fn lost(mut drops: Vec<DropRecord>) -> Vec<DropRecord> {
    drops.retain(|drop| drop.interface.is_some() || drop.reason != "QUEUE_PURGE");
    drops
}

impl Reading {
    fn since(&self, before: &Self) -> HostWindow {
        let elapsed = self.at - before.at;
        let sockets = match (&before.sockets, &self.sockets) {
            (Some(before), Some(after)) => sockets::dropped_between(before, after.clone()),
            _ => Vec::new(),
        };
        HostWindow {
            elapsed: Nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)),
            counters: grown(&before.counters, &self.counters),
            sockets,
            served: match (&before.served, &self.served) {
                (Some(before), Some(after)) => served::sent_between(before, after),
                _ => Vec::new(),
            },
            drops: match (&before.drops, &self.drops) {
                (Some(before), Some(after)) => Some(dropped_between(before, after)),
                _ => None,
            },
            ..HostWindow::default()
        }
    }
}

/// By how much each kind of drop grew.
fn dropped_between(before: &[DropRecord], after: &[DropRecord]) -> Vec<DropRecord> {
    let grew = after.iter().filter_map(|now| {
        let then = before.iter().find(|then| now.is_kind_of(then));
        let packets = now.packets - then.map_or(Packets::ZERO, |then| then.packets);
        (!packets.is_zero()).then(|| DropRecord {
            packets,
            ..now.clone()
        })
    });
    grew.collect()
}

/// What grew. A counter that is new, or fell, says nothing of the last minute: an interface came from elsewhere with its statistics,
/// a processor went online, a driver began again.
fn grown(before: &[Option<Counters>], after: &[Option<Counters>]) -> Counters {
    let mut all = Counters::default();
    for (before, after) in before.iter().zip(after) {
        let (Some(before), Some(after)) = (before, after) else {
            continue;
        };
        let grew = after.0.iter().filter_map(|(name, value)| {
            let gain = value.checked_sub(before.get(name)?)?;
            (gain > 0).then(|| (name.clone(), gain))
        });
        all.0.extend(grew);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_since_the_first_reading_and_counts_what_moved() {
        let mut tally = Tally::default();
        assert_eq!(tally.read(false, &BTreeSet::new()).window, None);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .send_to(b"counted", socket.local_addr().unwrap())
            .unwrap();
        let window = tally.read(false, &BTreeSet::new()).window.unwrap();
        assert!(
            window.counters.or_zero("udp/OutDatagrams") >= 1,
            "{window:?}"
        );
        assert!(
            window.counters.or_zero("link/lo/rx_packets") >= 1,
            "{window:?}"
        );
        assert_eq!(tally.kept.len(), 1, "readings of one moment are one");
    }

    #[test]
    fn ports_tell_what_they_lost_and_nothing_of_what_they_do_not_count() {
        let all = [
            ("link/eth1/rx_errors", 7),
            ("link/eth1/rx_packets", 100),
            ("link/eth1/rx_missed_errors", 2),
            ("driver/eth1/rx_errors", 9),
        ];
        let all = all.map(|(name, value)| (name.to_owned(), value));
        let ports = port_counts(&[None, Some(Counters(all.into()))]);
        let eth1 = PortCounts {
            rx_errors: Some(Packets(7)),
            rx_missed: Some(Packets(2)),
            ..PortCounts::default()
        };
        assert_eq!(ports, [("eth1".into(), eth1)].into());
        let read = Tally::default().read(false, &BTreeSet::new()).ports;
        assert!(read["lo"].rx_dropped.is_some(), "{read:?}");
    }

    #[test]
    fn a_window_is_a_minute_or_a_little_more_however_often_it_is_read() {
        let (mut tally, begun) = (Tally::default(), Instant::now());
        let mut read = |second| {
            let window = tally
                .read_at(begun + Duration::from_secs(second), false, &BTreeSet::new())
                .window;
            (
                window.map(|it| it.elapsed.0 / 1_000_000_000),
                tally.kept.len(),
            )
        };
        assert_eq!(read(0), (None, 1));
        for second in (3..1000).step_by(3) {
            let (elapsed, kept) = read(second);
            let wanted = second.min(60)..=second.min(60 + APART.as_secs());
            assert!(
                elapsed.is_some_and(|it| wanted.contains(&it)),
                "{second}: {elapsed:?}"
            );
            assert!(kept <= 6, "{kept}");
        }
        // Nobody asked for ten minutes.
        assert!(read(1600).0.is_some_and(|it| (601..=616).contains(&it)));
    }

    #[test]
    fn drops_are_told_since_they_are_counted_and_of_the_last_minute() {
        let (mut tally, begun) = (Tally::default(), Instant::now());
        let mut read =
            |second| tally.read_at(begun + Duration::from_secs(second), true, &BTreeSet::new());
        if let Some(DropTotals::NotCounted(why)) = read(0).drops {
            println!("skipped: the kernel's drops cannot be counted here: {why}");
            return;
        }
        let to_nobody = |packets| {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            // Closed again at once.
            let other = std::net::UdpSocket::bind("127.0.0.1:0")
                .unwrap()
                .local_addr();
            let port = other.unwrap();
            for _ in 0..packets {
                socket.send_to(b"nobody", port).unwrap();
            }
        };
        let of = |drops: &[DropRecord]| {
            let own = drops.iter();
            let own = own.filter(|drop| drop.reason == "NO_SOCKET");
            own.map(|drop| drop.packets.0).sum::<u64>()
        };
        let both = |tallied: Tallied| {
            let Some(DropTotals::Counted { drops, .. }) = tallied.drops else {
                panic!("{tallied:?}");
            };
            let window = tallied.window.and_then(|window| window.drops).unwrap();
            (of(&drops), of(&window))
        };
        // Others on this machine may drop too, so only what must be there is held.
        to_nobody(5);
        let (total, window) = both(read(40));
        assert!(total >= 5 && window >= 5, "{total} {window}");
        to_nobody(7);
        let (later, _) = both(read(110));
        assert!(later >= total + 7, "{later} after {total}");
    }

    #[test]
    fn drops_of_a_window_are_those_that_grew_and_no_purge_of_a_socket() {
        let kinds = |packets| DropRecord {
            reason: "NO_SOCKET".to_owned(),
            location: "udp_rcv".to_owned(),
            scope: hawser_model::drops::DropScope::ThisHost,
            interface: None,
            subject: hawser_model::drops::DropSubject::Other,
            packets: Packets(packets),
        };
        assert_eq!(dropped_between(&[kinds(5)], &[kinds(12)]), [kinds(7)]);
        assert_eq!(dropped_between(&[kinds(5)], &[kinds(5)]), []);
        assert_eq!(dropped_between(&[], &[kinds(5)]), [kinds(5)]);
        let purge = |interface| DropRecord {
            reason: "QUEUE_PURGE".to_owned(),
            interface,
            ..kinds(3)
        };
        let of_a_neighbour = purge(Some("eth0".into()));
        let all = vec![purge(None), of_a_neighbour.clone(), kinds(1)];
        assert_eq!(lost(all), [of_a_neighbour, kinds(1)]);
    }

    #[test]
    fn what_is_new_or_fell_is_no_gain() {
        let of = |values: &[(&str, u64)]| {
            let all = values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value));
            vec![Some(Counters(all.collect()))]
        };
        let before = of(&[("a", 5), ("b", 9), ("c", 7)]);
        let after = of(&[("a", 8), ("b", 3), ("c", 7), ("d", 1_000)]);
        assert_eq!(grown(&before, &after), of(&[("a", 3)])[0].clone().unwrap());
        assert_eq!(grown(&[None], &after), Counters::default());
    }
}
