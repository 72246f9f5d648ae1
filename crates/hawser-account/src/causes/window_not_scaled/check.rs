//! The same of the streams of a check. The reading program must have waited for data: one that is slow shuts the window
//! too. Case: `stream-window-not-scaled`.

use hawser_model::case::Case;
use hawser_model::finding::{Place, Severity};

use super::{WindowNotScaled, told_by};
use crate::cause::{CheckCause, Found};
use crate::losses::Losses;
use crate::packets::facts::Side;
use crate::stream::{StreamView, rates, streams};
use crate::view::View;

impl CheckCause for WindowNotScaled {
    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let streams = streams(view.case);
        let found = streams.iter().filter_map(|stream| held(view.case, stream));
        found.collect()
    }
}

/// Whether this stream waited for a window that is not scaled.
pub(in crate::causes) fn held(
    case: &Case,
    stream: &StreamView<'_>,
) -> Option<Found<WindowNotScaled>> {
    let facts = stream.facts;
    let (from, to) = (facts.host(Side::Sender), facts.host(Side::Receiver));
    let (told, host) = told_by(case, from, to)?;
    let tcp = facts.phase.sender.stream.as_ref()?;
    let rate = rates(facts.phase).late.0 as f64 / 1e6;
    let evidence = WindowNotScaled::of(tcp, told, rate).filter(|_| stream.reader_waited())?;
    let (side, other) = match host == to {
        true => (Side::Receiver, from),
        false => (Side::Sender, to),
    };
    Some(Found {
        severity: Severity::Error,
        confidence: evidence.confidence(),
        place: Place {
            peer: Some(other.clone()),
            link: Some(facts.link().clone()),
            interface: facts.interface(side).map(|(name, _)| name.clone()),
            ..Place::on(host)
        },
        evidence,
    })
}
