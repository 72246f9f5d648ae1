//! How the heads' clocks stand to each other: each member of a membership logs it when it is formed.

use std::collections::BTreeMap;

use hawser_model::drill::Moment;
use hawser_model::names::HostName;

/// Two heads log one membership within this, in microseconds: the commit token goes round twice in between. What is
/// apart by less is no difference of clocks.
const SAME_US: u64 = 200_000;

/// The same where stamps are of whole seconds: the two may be on both sides of the second's turn.
const SAME_COARSE_US: u64 = SAME_US + 1_000_000;

/// What is known of the clocks.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Clocks {
    /// What is added to a head's moments, 0 for the first's; a head that shares no membership with the first has none.
    offsets: BTreeMap<HostName, i64>,
    /// The largest distance that is left between two heads' logs of one membership; `None` where a head shares none with the first.
    error_us: Option<u64>,
}

impl Clocks {
    pub(super) fn offset_us(&self, host: &HostName) -> i64 {
        self.offsets.get(host).copied().unwrap_or(0)
    }

    /// By how much a head's clock is ahead of the first one's; `None` where that is not known.
    pub(super) fn ahead_s(&self, host: &HostName) -> Option<f64> {
        self.offsets
            .get(host)
            .map(|offset| -offset as f64 / 1e6 + 0.0)
    }

    pub(super) fn error_us(&self) -> Option<u64> {
        self.error_us
    }

    /// The heads whose clocks differ from the first one's, and by how many milliseconds they are ahead.
    pub(super) fn apart(&self) -> impl Iterator<Item = (&HostName, i64)> {
        let apart = self.offsets.iter().filter(|(_, offset)| **offset != 0);
        apart.map(|(host, offset)| (host, -offset / 1000))
    }
}

/// Compares the memberships that each head has logged; `coarse` where a stamp is of whole seconds.
pub(super) fn clocks<'a, L>(heads: impl Iterator<Item = (&'a HostName, L)>, coarse: bool) -> Clocks
where
    L: Iterator<Item = (Moment, &'a str)>,
{
    let same_us = if coarse { SAME_COARSE_US } else { SAME_US };
    let seen: Vec<(&HostName, BTreeMap<&str, Moment>)> = heads
        .map(|(host, lines)| {
            let ids = lines.filter_map(|(at, text)| Some((membership(text)?, at)));
            (host, ids.collect())
        })
        .collect();
    let Some(((name, first), others)) = seen.split_first() else {
        return Clocks::default();
    };
    let mut clocks = Clocks {
        offsets: BTreeMap::from([((*name).clone(), 0)]),
        error_us: Some(0),
    };
    for (host, own) in others {
        let mut behind: Vec<i64> = own
            .iter()
            .filter_map(|(id, at)| Some(first.get(id)?.0 as i64 - at.0 as i64))
            .collect();
        behind.sort_unstable();
        let Some(middle) = behind.get(behind.len() / 2).copied() else {
            clocks.error_us = None;
            continue;
        };
        let offset = if middle.unsigned_abs() < same_us {
            0
        } else {
            middle
        };
        clocks.offsets.insert((*host).clone(), offset);
        // The middle one is taken for the clocks' difference: the others say how much a membership's own delay is.
        let rest = behind.iter().map(|one| (one - offset).unsigned_abs());
        let rest = rest.max().unwrap_or(0);
        clocks.error_us = clocks.error_us.map(|error| error.max(rest));
    }
    clocks
}

/// `A new membership (2.16) was formed`.
fn membership(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("A new membership (")?;
    Some(rest.split_once(')')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formed(of: &[(&'static str, u64)]) -> Vec<(Moment, &'static str)> {
        of.iter().map(|(text, at)| (Moment(*at), *text)).collect()
    }

    const A: &str = "A new membership (1.9) was formed. Members joined: 1";
    const B: &str = "A new membership (1.d) was formed. Members left: 3";

    #[test]
    fn a_clock_that_is_ahead_is_found_by_shared_memberships() {
        let (one, two) = (HostName::from("head1"), HostName::from("head2"));
        let heads = [
            (&one, formed(&[(A, 10_000_000), (B, 20_000_000)])),
            (&two, formed(&[(A, 13_004_000), (B, 23_000_000)])),
        ];
        let clocks = clocks(
            heads.into_iter().map(|(host, l)| (host, l.into_iter())),
            false,
        );
        assert_eq!(clocks.offset_us(&two), -3_000_000);
        assert_eq!(clocks.apart().collect::<Vec<_>>(), [(&two, 3000)]);
        assert_eq!(
            (clocks.ahead_s(&one), clocks.ahead_s(&two)),
            (Some(0.0), Some(3.0))
        );
        assert_eq!(clocks.error_us(), Some(4000));
    }

    #[test]
    fn the_turn_of_a_second_is_no_difference_of_clocks() {
        let (one, two) = (HostName::from("head1"), HostName::from("head2"));
        let of = |coarse| {
            let heads = [
                (&one, formed(&[(A, 10_000_000)])),
                (&two, formed(&[(A, 11_000_000)])),
            ];
            clocks(
                heads.into_iter().map(|(host, l)| (host, l.into_iter())),
                coarse,
            )
        };
        assert_eq!(of(false).offset_us(&two), -1_000_000);
        let coarse = of(true);
        assert_eq!(
            (coarse.offset_us(&two), coarse.error_us()),
            (0, Some(1_000_000))
        );
    }

    #[test]
    fn without_a_shared_membership_nothing_is_known() {
        let (one, two) = (HostName::from("head1"), HostName::from("head2"));
        let heads = [(&one, formed(&[(A, 1)])), (&two, formed(&[(B, 2)]))];
        let clocks = clocks(
            heads.into_iter().map(|(host, l)| (host, l.into_iter())),
            false,
        );
        assert_eq!((clocks.offset_us(&two), clocks.error_us()), (0, None));
        assert_eq!(clocks.ahead_s(&two), None);
    }
}
