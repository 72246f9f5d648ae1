//! What was counted so far, kind by kind, of the entries that are gone from the kernel's map as well. Pure.

use hawser_model::drops::DropRecord;
use hawser_model::units::Packets;

/// Kinds that are told apart; what is of none of them is told by its reason alone, of which kernels have some hundred.
pub(super) const KINDS: usize = 1024;

/// Totals by kind. Each kind that was seen once keeps its place, so that a total never falls.
#[derive(Debug, Default)]
pub(super) struct Totals(Vec<DropRecord>);

impl Totals {
    /// Adds these for good.
    pub(super) fn add(&mut self, records: impl IntoIterator<Item = DropRecord>) {
        for record in records {
            let packets = record.packets;
            let at = self.place(record);
            self.0[at].packets += packets;
        }
    }

    /// With these, which are in the kernel's map and are told again.
    pub(super) fn with(
        &mut self,
        records: impl IntoIterator<Item = DropRecord>,
    ) -> Vec<DropRecord> {
        let places: Vec<(usize, Packets)> = records
            .into_iter()
            .map(|record| (record.packets, record))
            .map(|(packets, record)| (self.place(record), packets))
            .collect();
        let mut all = self.0.clone();
        for (at, packets) in places {
            all[at].packets += packets;
        }
        all.retain(|record| !record.packets.is_zero());
        all
    }

    /// Where a kind is counted.
    fn place(&mut self, record: DropRecord) -> usize {
        let find = |all: &[DropRecord], record: &DropRecord| {
            all.iter().position(|known| known.is_kind_of(record))
        };
        if let Some(at) = find(&self.0, &record) {
            return at;
        }
        let new = match self.0.len() < KINDS {
            true => record,
            false => DropRecord {
                location: String::new(),
                interface: None,
                ..record
            },
        };
        find(&self.0, &new).unwrap_or_else(|| {
            self.0.push(DropRecord {
                packets: Packets::ZERO,
                ..new
            });
            self.0.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use hawser_model::drops::{DropScope, DropSubject};

    use super::*;

    fn drop(interface: usize, packets: u64) -> DropRecord {
        DropRecord {
            reason: "NO_SOCKET".into(),
            location: String::new(),
            scope: DropScope::ThisHost,
            interface: Some(format!("veth{interface}").as_str().into()),
            subject: DropSubject::Other,
            packets: Packets(packets),
        }
    }

    #[test]
    fn what_left_the_map_is_counted_with_what_is_in_it() {
        let mut totals = Totals::default();
        totals.add([drop(0, 3), drop(0, 4), drop(1, 1)]);
        let now = [drop(0, 7), drop(1, 1), drop(2, 5)];
        assert_eq!(totals.with([drop(2, 5)]), now);
        assert_eq!(totals.with([drop(2, 5)]), now, "they are told again");
    }

    #[test]
    fn too_many_kinds_are_counted_by_their_reason_and_no_total_falls() {
        let mut totals = Totals::default();
        let live: Vec<_> = (0..KINDS + 10).map(|n| drop(n, 2)).collect();
        let others = |all: &[DropRecord]| {
            assert_eq!(all.len(), KINDS + 1);
            let sum = |all: &[DropRecord]| all.iter().map(|it| it.packets.0).sum::<u64>();
            let others = all.iter().find(|it| it.interface.is_none()).unwrap();
            (others.packets.0, sum(all))
        };
        let both = (20, 2 * (KINDS as u64 + 10));
        assert_eq!(others(&totals.with(live.clone())), both);
        totals.add(live);
        assert_eq!(others(&totals.with([])), both);
    }
}
