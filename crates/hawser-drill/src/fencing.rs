//! What the fencers did in a drill, as they remember it.

use hawser_cluster::host::questions::ReadFenceHistory;
use hawser_cluster::live::fence_events;
use hawser_model::drill::FenceEvent;

use crate::context::DrillContext;
use crate::error::DrillError;

/// What the fencers remember, by any head that answers: they tell each other.
pub(crate) fn read(context: &DrillContext<'_>) -> Result<Vec<FenceEvent>, DrillError> {
    let mut failed = None;
    for head in &context.heads {
        match context.hosts.ask(head, &ReadFenceHistory) {
            Ok(history) => {
                return fence_events(&history).map_err(|e| DrillError::CouldNot(e.to_string()));
            }
            Err(e) => failed = Some(e.into()),
        }
    }
    failed.map_or(Ok(Vec::new()), Err)
}

/// What they did since they remembered `before`. What was read later may lack what was cleaned up meanwhile.
pub(crate) fn since(
    before: Vec<FenceEvent>,
    later: impl IntoIterator<Item = Vec<FenceEvent>>,
) -> Vec<FenceEvent> {
    let (old, mut all) = (before.len(), before);
    for history in later {
        let mut known = all.clone();
        for event in history {
            match known.iter().position(|it| *it == event) {
                Some(place) => drop(known.remove(place)),
                None => all.push(event),
            }
        }
    }
    let mut new = all.split_off(old);
    new.sort_by_key(|event| event.completed);
    new
}

#[cfg(test)]
mod tests {
    use hawser_model::drill::Moment;

    use super::*;

    fn shot(target: &str, second: u64) -> FenceEvent {
        FenceEvent {
            target: target.into(),
            action: "off".into(),
            delegate: Some("head2".into()),
            succeeded: true,
            completed: Moment(second * 1_000_000),
        }
    }

    #[test]
    fn what_was_cleaned_up_meanwhile_is_kept_and_nothing_counts_twice() {
        let before = vec![shot("head1", 5)];
        // The same fencer tells two shots of one second.
        let first = vec![shot("head1", 5), shot("head1", 20), shot("head1", 20)];
        let last = vec![shot("head1", 20), shot("head2", 30)];
        let seen: Vec<u64> = since(before, [first, last])
            .iter()
            .map(|event| event.completed.0 / 1_000_000)
            .collect();
        assert_eq!(seen, [20, 20, 30]);
    }
}
