//! What is kept of links that flap for days: the beginning and the end. With all lines it would be too large to be kept.

use std::collections::BTreeSet;

use hawser_model::drill::Moment;

use super::heard::{Heard, heard};
use super::lines::Line;

/// So many lines are kept of the beginning, and of the end.
const KEPT: usize = 1000;

/// A kept line that stands for those that were left out there. It has no stamp, so it is no line of a log.
const LEFT_OUT: &str = " lines about links are left out here";

/// Lines that were left out when they were kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cut {
    /// The last line before them.
    pub(super) from: Moment,
    /// The first one after them.
    pub(super) to: Moment,
    /// How many.
    pub(super) lines: u64,
}

/// How many lines a kept one stands for.
pub(super) fn left_out(line: &str) -> Option<u64> {
    line.strip_prefix("# ")?
        .strip_suffix(LEFT_OUT)?
        .parse()
        .ok()
}

/// The first and the last of the lines of pacemaker.log of one head.
pub(super) fn ends(lines: &[&Line]) -> Vec<String> {
    let (first, _, last) = parts(lines);
    let lines = first.iter().chain(last);
    lines.map(|line| line.text.clone()).collect()
}

/// The first and the last of the lines of corosync.log of one head, and one that says how many there were in between. A "down"
/// before them and an "up" after them would be told as one time, as long as all that is left out: no half of a pair is kept
/// where the other half may be there.
pub(super) fn pairs_at_ends(lines: &[&Line]) -> Vec<String> {
    let (first, between, last) = parts(lines);
    if between.is_empty() {
        return ends(lines);
    }
    let cut = Between::of(between);
    let (open, late) = (open(first, &cut), late(last, &cut));
    let kept = |lines: &[&Line], halves: &BTreeSet<usize>| -> Vec<String> {
        let lines = lines.iter().enumerate();
        let whole = lines.filter(|(n, _)| !halves.contains(n));
        whole.map(|(_, line)| line.text.clone()).collect()
    };
    let mut all = kept(first, &open);
    all.push(format!("# {}{LEFT_OUT}", between.len()));
    all.extend(kept(last, &late));
    all
}

fn parts<'a, 'b>(lines: &'a [&'b Line]) -> (&'a [&'b Line], &'a [&'b Line], &'a [&'b Line]) {
    if lines.len() <= 2 * KEPT {
        return (lines, &[], &[]);
    }
    let (first, rest) = lines.split_at(KEPT);
    let (between, last) = rest.split_at(rest.len() - KEPT);
    (first, between, last)
}

/// Of which links the lines tell that are left out.
struct Between {
    links: BTreeSet<(u32, u8)>,
    /// A membership, or Corosync's beginning or end: that is of all links.
    all: bool,
}

impl Between {
    fn of(lines: &[&Line]) -> Self {
        let mut between = Self {
            links: BTreeSet::new(),
            all: false,
        };
        for heard in lines.iter().filter_map(|line| heard(line.rest())) {
            match heard {
                Heard::Link { node, link, .. } => drop(between.links.insert((node, link))),
                Heard::NoLink(_) | Heard::Silence(_) => {}
                Heard::Members { .. } | Heard::Ending | Heard::Started => between.all = true,
            }
        }
        between
    }

    /// A link that was down all that time has no line there: what it says before and after is one pair.
    fn tells_of(&self, link: (u32, u8)) -> bool {
        self.all || self.links.contains(&link)
    }
}

/// The "down" of each link after which no line before the cut says how that ended.
fn open(lines: &[&Line], between: &Between) -> BTreeSet<usize> {
    let mut open: Vec<((u32, u8), usize)> = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        match heard(line.rest()) {
            Some(Heard::Link { node, link, up }) => {
                open.retain(|(of, _)| *of != (node, link));
                if !up {
                    open.push(((node, link), n));
                }
            }
            Some(Heard::Ending | Heard::Started) => open.clear(),
            Some(Heard::Members { left, .. }) => {
                open.retain(|((node, _), _)| !left.contains(node));
            }
            Some(Heard::NoLink(_) | Heard::Silence(_)) | None => {}
        }
    }
    let open = open.into_iter();
    open.filter(|(link, _)| between.tells_of(*link))
        .map(|(_, n)| n)
        .collect()
}

/// Each "up" before which no line after the cut says that the link went down.
fn late(lines: &[&Line], between: &Between) -> BTreeSet<usize> {
    let (mut late, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for (n, line) in lines.iter().enumerate() {
        match heard(line.rest()) {
            Some(Heard::Link { node, link, up }) => {
                let of = (node, link);
                if !up {
                    seen.insert(of);
                } else if !seen.contains(&of) && between.tells_of(of) {
                    late.insert(n);
                }
            }
            // Whatever was down before is no more.
            Some(Heard::Started) => break,
            _ => {}
        }
    }
    late
}
