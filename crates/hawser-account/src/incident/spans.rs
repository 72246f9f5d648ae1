//! When each heartbeat link of one head was down, by what its own Corosync says.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::drill::Moment;
use hawser_model::output::link_outage::LinkUntil;

use super::heard::Heard;

/// Links that go down so shortly before a head falls silent go down with it.
const WITH_A_LOSS_US: i64 = 10_000_000;

/// A node that boots is a member so soon after its first link is up.
const JOINS_US: u64 = 60_000_000;

/// A time in which a link was down, as one end of it saw that.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    /// The number of the node at the other end.
    pub(super) node: u32,
    pub(super) link: u8,
    /// When it went down; if that is not known, when it came up.
    pub(super) from: Moment,
    /// When it came up, or an end of it was gone; if that is not known, `from`.
    pub(super) to: Moment,
    pub(super) since_known: bool,
    pub(super) until: LinkUntil,
    /// There was no other link to that node then.
    pub(super) last_left: bool,
    /// It is a part of something else: the node was lost, stopped or booted.
    pub(super) of_loss: bool,
}

/// What is known of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Nothing: the log begins in the middle.
    Unknown,
    /// It has not been up since one of its ends started or left.
    New,
    Up,
    /// Since that span.
    Down(usize),
}

#[derive(Default)]
struct Seen {
    spans: Vec<Span>,
    states: BTreeMap<(u32, u8), State>,
    /// Corosync of this head was seen to start.
    started: bool,
    /// It ends, and takes its links down.
    ending: bool,
    /// Nodes that joined: what is not known of their links is that they are new.
    joined: BTreeSet<u32>,
    /// Nodes that are no members.
    gone: BTreeSet<u32>,
    /// Since when a token was awaited.
    silent: Option<Moment>,
    /// Links that came up without having been seen to go down.
    unexplained: BTreeMap<u32, Vec<usize>>,
}

/// The spans that one head's corosync.log tells; `lines` in the order of time.
pub(super) fn spans(lines: impl Iterator<Item = (Moment, Heard)>) -> Vec<Span> {
    let mut seen = Seen::default();
    for (at, heard) in lines {
        match heard {
            Heard::Link { .. } | Heard::NoLink(_) if seen.ending => {}
            Heard::Link { node, link, up } => seen.link(at, node, link, up),
            Heard::NoLink(node) => seen.no_link(node),
            Heard::Silence(ms) => {
                let us = i64::try_from(ms.saturating_mul(1000)).unwrap_or(i64::MAX);
                seen.silent = Some(at.shifted(-us));
            }
            Heard::Members { joined, left } => {
                let since = seen.silent.take().unwrap_or(at);
                left.into_iter().for_each(|node| seen.left(at, since, node));
                joined.into_iter().for_each(|node| seen.joined(at, node));
            }
            Heard::Ending => {
                seen.all_gone(Some(at));
                seen.ending = true;
            }
            Heard::Started => {
                // Without an end in good order nobody knows when it ended.
                seen.all_gone(None);
                seen = Seen {
                    spans: std::mem::take(&mut seen.spans),
                    started: true,
                    ..Seen::default()
                };
            }
        }
    }
    seen.spans
}

impl Seen {
    fn state(&self, node: u32, link: u8) -> State {
        let new = self.started || self.joined.contains(&node);
        let other = if new { State::New } else { State::Unknown };
        self.states.get(&(node, link)).copied().unwrap_or(other)
    }

    fn link(&mut self, at: Moment, node: u32, link: u8, up: bool) {
        let state = match (self.state(node, link), up) {
            (State::Up, true) => return,
            (before, false) => {
                if matches!(before, State::Down(_) | State::New) {
                    // What is down cannot go down. Of lines that were kept one by one some are missing: it came up in between,
                    // and the node may have joined again.
                    self.gone.remove(&node);
                }
                let of_loss = self.gone.contains(&node);
                let until = LinkUntil::NotKnown;
                self.begin(at, node, link, (true, until, of_loss))
            }
            (State::Down(span), true) => {
                self.end(span, at, LinkUntil::Up);
                State::Up
            }
            (State::New, true) => State::Up,
            (State::Unknown, true) => {
                let of_loss = self.gone.contains(&node);
                self.begin(at, node, link, (false, LinkUntil::Up, of_loss));
                let spans = self.unexplained.entry(node).or_default();
                spans.push(self.spans.len() - 1);
                State::Up
            }
        };
        self.states.insert((node, link), state);
    }

    fn begin(
        &mut self,
        at: Moment,
        node: u32,
        link: u8,
        (since_known, until, of_loss): (bool, LinkUntil, bool),
    ) -> State {
        self.spans.push(Span {
            node,
            link,
            from: at,
            to: at,
            since_known,
            until,
            last_left: false,
            of_loss,
        });
        State::Down(self.spans.len() - 1)
    }

    fn end(&mut self, span: usize, at: Moment, until: LinkUntil) {
        let span = &mut self.spans[span];
        span.to = at;
        span.until = until;
    }

    /// The spans of a node that have not ended.
    fn open(&self, node: u32) -> Vec<(u8, usize)> {
        let states = self.states.range((node, 0)..=(node, u8::MAX));
        let open = states.filter_map(|((_, link), state)| match state {
            State::Down(span) => Some((*link, *span)),
            _ => None,
        });
        open.collect()
    }

    fn no_link(&mut self, node: u32) {
        for (_, span) in self.open(node) {
            self.spans[span].last_left = true;
        }
    }

    /// A node is no member any more, silent since then.
    fn left(&mut self, at: Moment, since: Moment, node: u32) {
        for (link, span) in self.open(node) {
            if self.spans[span].from >= since.shifted(-WITH_A_LOSS_US) {
                self.spans[span].of_loss = true;
            } else {
                self.end(span, at, LinkUntil::EndGone);
                self.states.insert((node, link), State::New);
            }
        }
        self.gone.insert(node);
        self.joined.remove(&node);
    }

    fn joined(&mut self, at: Moment, node: u32) {
        for span in self.unexplained.remove(&node).unwrap_or_default() {
            let span = &mut self.spans[span];
            span.of_loss |= at.0.saturating_sub(span.from.0) <= JOINS_US;
        }
        self.gone.remove(&node);
        self.joined.insert(node);
    }

    fn all_gone(&mut self, at: Option<Moment>) {
        let states = std::mem::take(&mut self.states);
        for state in states.into_values() {
            if let (State::Down(span), Some(at)) = (state, at) {
                self.end(span, at, LinkUntil::EndGone);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::heard::heard;
    use super::*;

    /// Node 2's links as its other end saw them: the link, from and to in seconds, and what is known of it.
    fn told(lines: &[(u64, &str)]) -> Vec<(u8, u64, u64, bool, LinkUntil, bool)> {
        let lines = lines.iter().map(|(second, rest)| {
            let heard = heard(rest).unwrap_or_else(|| panic!("{rest}"));
            (Moment((second + 1000) * 1_000_000), heard)
        });
        let second = |at: Moment| at.0 / 1_000_000 - 1000;
        let spans = spans(lines).into_iter();
        let told = spans.map(|one| {
            let (from, to) = (second(one.from), second(one.to));
            (one.link, from, to, one.since_known, one.until, one.of_loss)
        });
        told.collect()
    }

    const STARTED: &str = "[MAIN  ] Corosync Cluster Engine 3.1.7 starting up";
    const ENDING: &str = "[SERV  ] Unloading all Corosync service engines.";
    const DOWN: [&str; 2] = [
        "[KNET  ] link: host: 2 link: 0 is down",
        "[KNET  ] link: host: 2 link: 1 is down",
    ];
    const UP: [&str; 2] = [
        "[KNET  ] rx: host: 2 link: 0 is up",
        "[KNET  ] rx: host: 2 link: 1 is up",
    ];
    const SILENCE: &str =
        "[TOTEM ] A processor failed, forming new configuration: token timed out (1000ms), waiting";
    const LEFT: &str = "[TOTEM ] A new membership (1.9) was formed. Members left: 2";
    const JOINED: &str = "[TOTEM ] A new membership (1.d) was formed. Members joined: 2";

    use LinkUntil::{EndGone, NotKnown, Up};

    #[test]
    fn a_link_that_comes_up_for_the_first_time_was_not_down() {
        let boot = [(0, STARTED), (1, UP[0]), (2, JOINED), (600, UP[1])];
        assert_eq!(told(&boot), []);
        // The other head boots, and this one's log begins in the middle.
        assert!(
            told(&[(0, UP[0]), (0, UP[1]), (2, JOINED)])
                .iter()
                .all(|one| one.5)
        );
        assert_eq!(told(&[(0, JOINED), (1, UP[1])]), []);
    }

    #[test]
    fn a_log_that_begins_in_the_middle_does_not_say_since_when() {
        assert_eq!(told(&[(5, UP[1])]), [(1, 5, 5, false, Up, false)]);
        // A head that boots joins sooner.
        let later = told(&[(5, UP[1]), (66, JOINED)]);
        assert_eq!(later, [(1, 5, 5, false, Up, false)]);
        // Once it was seen up, it cannot come up.
        assert_eq!(told(&[(5, UP[1]), (6, UP[1])]).len(), 1);
    }

    #[test]
    fn links_of_a_head_that_is_lost_or_stops_go_with_it() {
        let lost = [(10, DOWN[0]), (10, DOWN[1]), (11, SILENCE), (13, LEFT)];
        assert!(told(&lost).iter().all(|one| one.5));
        let stopped = [
            (10, LEFT),
            (11, DOWN[0]),
            (11, DOWN[1]),
            (60, UP[0]),
            (61, JOINED),
        ];
        assert!(told(&stopped).iter().all(|one| one.5));
        assert_eq!(told(&[(10, DOWN[1]), (12, UP[1]), (99, LEFT)]).len(), 1);
        // It is a member again: what goes down from now on is not a part of that.
        let again = [
            (10, LEFT),
            (20, UP[0]),
            (20, UP[1]),
            (21, JOINED),
            (90, DOWN[1]),
            (95, UP[1]),
        ];
        assert_eq!(told(&again).last(), Some(&(1, 90, 95, true, Up, false)));
    }

    #[test]
    fn a_link_that_was_down_long_before_a_loss_is_no_part_of_it() {
        let told = told(&[
            (0, DOWN[1]),
            (100, DOWN[0]),
            (101, SILENCE),
            (103, LEFT),
            (200, UP[0]),
            (200, UP[1]),
            (201, JOINED),
        ]);
        let expected = [
            (1, 0, 103, true, EndGone, false),
            (0, 100, 200, true, Up, true),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn lines_that_were_kept_of_two_incidents_are_two() {
        // The head that was lost has booted in between, and nobody kept that.
        let lost = [(10, DOWN[0]), (10, DOWN[1]), (11, SILENCE), (13, LEFT)];
        let cut = [(5000, DOWN[1]), (5010, UP[1])];
        let both = told(&[lost.as_slice(), cut.as_slice()].concat());
        assert_eq!(both[2..], [(1, 5000, 5010, true, Up, false)]);
        let (first, second) = ([(10, DOWN[1])], [(5000, DOWN[1]), (5010, UP[1])]);
        let both = told(&[first.as_slice(), second.as_slice()].concat());
        let expected = [
            (1, 10, 10, true, NotKnown, false),
            (1, 5000, 5010, true, Up, false),
        ];
        assert_eq!(both, expected);
    }

    #[test]
    fn corosync_takes_its_links_with_it() {
        let stop = [
            (0, DOWN[1]),
            (5, ENDING),
            (6, DOWN[0]),
            (60, STARTED),
            (62, UP[0]),
            (70, UP[1]),
        ];
        assert_eq!(told(&stop), [(1, 0, 5, true, EndGone, false)]);
        // Who was killed says nothing.
        let killed = [(0, DOWN[1]), (60, STARTED), (62, UP[0]), (70, UP[1])];
        assert_eq!(told(&killed), [(1, 0, 0, true, NotKnown, false)]);
    }

    #[test]
    fn who_has_no_link_left_says_so_of_those_that_are_down() {
        let none = "[KNET  ] host: host: 2 has no active links";
        let lines =
            [DOWN[1], DOWN[0], none, UP[0], UP[1], DOWN[1]].map(|line| heard(line).unwrap());
        let spans = spans(lines.into_iter().map(|heard| (Moment(0), heard)));
        let last_left: Vec<bool> = spans.iter().map(|span| span.last_left).collect();
        assert_eq!(last_left, [true, true, false]);
    }
}
