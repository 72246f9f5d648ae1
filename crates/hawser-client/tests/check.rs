//! Histories that break each rule, and histories that break none.

use hawser_client::check::{HistoryVerdict, Rules, Wrong, check};
use hawser_client::history::{CACHE, FUA, Kind, NOTHING, Record, TORN};
use proptest::prelude::*;

const DEATH: Rules = Rules {
    cache_may_be_lost: true,
    deaths: Vec::new(),
};
const PLANNED: Rules = Rules {
    cache_may_be_lost: false,
    deaths: Vec::new(),
};

/// A history in the making.
#[derive(Default)]
struct Story(Vec<Record>);

impl Story {
    fn begin(cache: bool) -> Self {
        let flags = if cache { CACHE } else { 0 };
        Self(vec![Record {
            flags,
            block: 8,
            ..Record::new(Kind::Start, 0)
        }])
    }

    fn add(mut self, kind: Kind, block: u32, sequence: u64, flags: u8) -> Self {
        self.0.push(Record {
            block,
            sequence,
            flags,
            ..Record::new(kind, 0)
        });
        self
    }

    fn written(self, block: u32, sequence: u64) -> Self {
        self.add(Kind::Write, block, sequence, 0)
            .add(Kind::Acknowledged, block, sequence, 0)
    }

    fn flushed(self, number: u64) -> Self {
        self.add(Kind::Flush, 0, number, 0)
            .add(Kind::Flushed, 0, number, 0)
    }

    fn path_lost(self) -> Self {
        self.add(Kind::PathLost, 0, 0, 0)
    }

    fn read(self, block: u32, found: u64) -> Self {
        let flags = if found == 0 { NOTHING } else { 0 };
        self.add(Kind::Read, block, 0, 0)
            .add(Kind::Found, block, found, flags)
    }

    /// What was told last was told then.
    fn at(mut self, time: u64) -> Self {
        self.0.last_mut().unwrap().at_us = time;
        self
    }

    /// The last of these records are another writer's.
    fn by(mut self, writer: u8, records: usize) -> Self {
        let from = self.0.len() - records;
        for record in &mut self.0[from..] {
            record.writer = writer;
        }
        self
    }

    fn path_up(self) -> Self {
        self.add(Kind::PathUp, 0, 0, 0)
    }

    fn at_the_end(self) -> Self {
        self.add(Kind::Final, 0, 0, 0)
    }

    fn judged(&self, rules: Rules) -> HistoryVerdict {
        check(&self.0, rules)
    }
}

fn only(verdict: &HistoryVerdict, wrong: Wrong) {
    let found: Vec<Wrong> = verdict.breaches.iter().map(|breach| breach.wrong).collect();
    assert_eq!(found, [wrong], "{verdict:?}");
}

#[test]
fn what_was_acknowledged_and_is_there_breaks_nothing() {
    let story = Story::begin(false).written(1, 1).written(1, 2);
    let verdict = story.at_the_end().read(1, 2).judged(PLANNED);
    assert!(verdict.is_clean(), "{verdict:?}");
    assert_eq!((verdict.acknowledged, verdict.read_back), (2, 1));
}

#[test]
fn a_later_write_that_was_never_acknowledged_may_be_there_or_not() {
    for found in [1, 2] {
        let story = Story::begin(false).written(1, 1).add(Kind::Write, 1, 2, 0);
        let verdict = story.at_the_end().read(1, found).judged(PLANNED);
        assert!(verdict.is_clean(), "{verdict:?}");
    }
}

#[test]
fn lost() {
    let story = Story::begin(false).written(1, 1).path_lost().at_the_end();
    only(&story.read(1, 0).judged(DEATH), Wrong::Lost);
}

#[test]
fn stale() {
    let story = Story::begin(false).written(1, 1).written(1, 2).path_lost();
    only(&story.at_the_end().read(1, 1).judged(DEATH), Wrong::Stale);
}

#[test]
fn a_stale_read_in_between_that_nobody_sees_at_the_end() {
    let story = Story::begin(true).written(1, 1).written(1, 2).read(1, 1);
    let verdict = story.at_the_end().read(1, 2).judged(DEATH);
    only(&verdict, Wrong::Stale);
    assert!(!verdict.breaches[0].at_the_end);
}

#[test]
fn torn_and_never_written() {
    let story = Story::begin(false).written(1, 1).at_the_end();
    let torn = story.add(Kind::Read, 1, 0, 0).add(Kind::Found, 1, 0, TORN);
    only(&torn.judged(DEATH), Wrong::Torn);
    let story = Story::begin(false).written(1, 1).at_the_end();
    only(&story.read(1, 7).judged(DEATH), Wrong::Foreign);
}

#[test]
fn a_block_that_was_not_read_back_is_no_success() {
    let verdict = Story::begin(false).written(1, 1).at_the_end().judged(DEATH);
    only(&verdict, Wrong::Unread);
    assert!(!verdict.is_clean());
}

#[test]
fn what_was_not_flushed_may_go_with_its_head_and_with_nothing_else() {
    let story = || Story::begin(true).written(1, 1).flushed(1).written(1, 2);
    let crash = story().path_lost().at_the_end().read(1, 1);
    let verdict = crash.judged(DEATH);
    assert!(verdict.is_clean(), "{verdict:?}");
    assert_eq!(verdict.unflushed_gone, 1);
    // No head was to die; or the head never went away.
    only(&crash.judged(PLANNED), Wrong::Stale);
    only(&story().at_the_end().read(1, 1).judged(DEATH), Wrong::Stale);
}

#[test]
fn a_flap_after_the_death_excuses_nothing() {
    let died = |at| Rules {
        deaths: vec![at],
        ..DEATH
    };
    // A head dies at 50; the client is back at 60, and its path flaps at 80.
    let story = || Story::begin(true).written(1, 1).flushed(1);
    let back = |story: Story| story.path_lost().at(55).path_up().at(60);
    let flap = |story: Story| {
        story
            .path_lost()
            .at(80)
            .path_up()
            .at(81)
            .at_the_end()
            .at(90)
    };
    let by_the_survivor = flap(back(story()).written(1, 2)).read(1, 1);
    only(&by_the_survivor.judged(died(50)), Wrong::Stale);
    // Told late, by a client that was busy: it is the dead head's all the same.
    let by_the_dead = flap(back(story().written(1, 2).at(58))).read(1, 1);
    let verdict = by_the_dead.judged(died(50));
    assert!(verdict.is_clean(), "{verdict:?}");
    assert_eq!(verdict.unflushed_gone, 1);
    // A flap before the death is none of it.
    let early = story().written(1, 2).path_lost().at(10).path_up().at(11);
    let early = flap(back(early.written(1, 3))).read(1, 1);
    assert!(early.judged(died(50)).is_clean());
    // Nobody writes any more when the head dies: what is read back is judged by it.
    let last = story().written(1, 2).at_the_end().at(60).read(1, 1);
    assert!(last.judged(died(50)).is_clean());
    only(&last.judged(died(70)), Wrong::Stale);
}

#[test]
fn a_survivor_flushes_nothing_that_the_dead_head_had() {
    let died = || Rules {
        deaths: vec![50],
        ..DEATH
    };
    // Writer 1 is told by the head that dies. Writer 0 is back first, and the survivor flushes for it.
    let told = Story::begin(true).written(2, 1).by(1, 2).at(40);
    let first = told.path_lost().at(55).path_up().at(60).flushed(1).at(61);
    let both = first.path_lost().by(1, 1).at(70).path_up().by(1, 1).at(80);
    let gone = both.read(2, 0).by(1, 2).at(81);
    let verdict = gone.judged(died());
    assert!(verdict.is_clean(), "{verdict:?}");
    assert_eq!(verdict.unflushed_gone, 1);
    // What writer 1 is told from then on is the survivor's, and is flushed.
    let again = gone.written(2, 2).by(1, 2).at(85).flushed(2).at(86);
    let lost = again.at_the_end().at(90).read(2, 0).by(1, 2);
    only(&lost.judged(died()), Wrong::Lost);
}

#[test]
fn what_was_flushed_stays() {
    let story = Story::begin(true).written(1, 1).written(1, 2).flushed(1);
    only(
        &story.path_lost().at_the_end().read(1, 1).judged(DEATH),
        Wrong::Stale,
    );
}

#[test]
fn a_flush_covers_what_was_acknowledged_before_it_was_sent() {
    // The second write is acknowledged between the flush and its answer.
    let story = Story::begin(true).written(1, 1).add(Kind::Flush, 0, 1, 0);
    let story = story.written(1, 2).add(Kind::Flushed, 0, 1, 0).path_lost();
    assert!(story.at_the_end().read(1, 1).judged(DEATH).is_clean());
    // A flush without an answer covers nothing.
    let story = Story::begin(true).written(1, 1).add(Kind::Flush, 0, 1, 0);
    let verdict = story.path_lost().at_the_end().read(1, 0).judged(DEATH);
    assert!(verdict.is_clean(), "{verdict:?}");
    // Had it been answered, the block would be lost.
    let story = Story::begin(true).written(1, 1).flushed(1).path_lost();
    only(&story.at_the_end().read(1, 0).judged(DEATH), Wrong::Lost);
}

#[test]
fn a_write_with_fua_stays_without_a_flush() {
    let story = Story::begin(true).written(1, 1);
    let story = story
        .add(Kind::Write, 1, 2, FUA)
        .add(Kind::Acknowledged, 1, 2, FUA);
    only(
        &story.path_lost().at_the_end().read(1, 1).judged(DEATH),
        Wrong::Stale,
    );
}

/// A volume with a cache that keeps its word, and dies once: a model to make histories with.
fn honest(steps: &[(u8, u32)], dies_at: usize) -> (Story, Vec<u64>) {
    let mut story = Story::begin(true);
    let (mut cached, mut stable) = (vec![0_u64; 8], vec![0_u64; 8]);
    for (number, (what, block)) in (1_u64..).zip(steps) {
        let at = *block as usize;
        if number as usize == dies_at {
            cached.clone_from(&stable);
            story = story.path_lost();
        }
        story = match what {
            0 => {
                stable.clone_from(&cached);
                story.flushed(number)
            }
            1 => story.read(*block, cached[at]),
            2 => {
                cached[at] = number;
                stable[at] = number;
                story.add(Kind::Write, *block, number, FUA).add(
                    Kind::Acknowledged,
                    *block,
                    number,
                    FUA,
                )
            }
            _ => {
                cached[at] = number;
                story.written(*block, number)
            }
        };
    }
    (story.at_the_end(), cached)
}

fn read_back(mut story: Story, blocks: &[u64]) -> Story {
    for (block, found) in (0..).zip(blocks) {
        story = story.read(block, *found);
    }
    story
}

proptest! {
    #[test]
    fn an_honest_volume_is_never_accused(
        steps in proptest::collection::vec((0_u8..6, 0_u32..8), 1..200),
        dies_at in 1_usize..200,
    ) {
        let (story, blocks) = honest(&steps, dies_at);
        let verdict = read_back(story, &blocks).judged(DEATH);
        prop_assert!(verdict.is_clean(), "{verdict:?}");
    }

    #[test]
    fn a_block_that_went_back_behind_its_last_flush_is_always_seen(
        steps in proptest::collection::vec((0_u8..6, 0_u32..8), 1..200),
        dies_at in 1_usize..200,
    ) {
        let (story, mut blocks) = honest(&steps, dies_at);
        let story = story.0.len();
        let (again, _) = honest(&steps, dies_at);
        prop_assert_eq!(story, again.0.len());
        // Everything that is there is on stable storage once a flush was answered.
        let Story(mut records) = again;
        records.pop();
        let again = Story(records).flushed(999).path_lost().at_the_end();
        let Some(block) = blocks.iter().position(|found| *found > 0) else { return Ok(()) };
        blocks[block] -= 1;
        let verdict = read_back(again, &blocks).judged(DEATH);
        prop_assert!(verdict.lost + verdict.stale == 1, "{verdict:?}");
    }
}
