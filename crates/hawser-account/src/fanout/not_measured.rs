//! A fan-out, or one way of spreading it, could not be measured on a host. A note where others were;
//! an error where nothing was. Case: `fanout-not-measured`.

use hawser_model::finding::{Confidence, Finding, Place, Severity};

use super::{FanoutCause, FanoutView};
use crate::causes::support::Draft;

pub(super) const CAUSE: FanoutCause = FanoutCause {
    code: "fanout-not-measured",
    find,
};

fn find(view: &FanoutView<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (host, measured) in &view.run.hosts {
        let mut say = |severity, what: Option<String>, why: &str| {
            let place = Place {
                host: Some(host.clone()),
                object: what,
                ..Place::default()
            };
            let draft = Draft::new(CAUSE.code, severity, Confidence::Certain, place);
            found.push(draft.name("error", why).done());
        };
        if let Some(why) = &measured.problem {
            say(Severity::Error, None, why);
        }
        for series in &measured.series {
            if let Some(why) = &series.problem {
                let what = format!("{} at {}", series.spread.word(), series.rate);
                say(Severity::Note, Some(what), why);
            }
        }
    }
    found
}
