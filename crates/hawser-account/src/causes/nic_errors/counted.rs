//! Damaged frames, and those that could not be sent, that an interface counted while nothing was measured.

use hawser_model::finding::Place;
use hawser_model::host::HostWindow;
use hawser_model::names::InterfaceName;
use serde::Serialize;

use super::{NicErrors, fix};
use crate::cause::{Cause, CheckCause, Found, Words, as_number, at_interface, counted};
use crate::causes::claims::{Counted, counting};
use crate::compare::topic::About;
use crate::losses::Losses;
use crate::packets::damage;
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct CountedErrors {
    #[serde(serialize_with = "as_number")]
    outgoing: bool,
    #[serde(flatten)]
    counted: Counted,
}

/// What could not be sent: the sum of its kinds.
const SENT: &str = "tx_errors";

impl CheckCause for CountedErrors {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let mut found = Vec::new();
        for (place, name, window) in counting(view) {
            let host = place.host.as_ref().and_then(|host| view.host(host));
            let received: Vec<&str> = damage(host, &[name]).collect();
            for (outgoing, fields) in [(false, received), (true, vec![SENT])] {
                if let Some(counted) = Counted::of(window, errors(window, name, &fields)) {
                    found.push(Counted::found(place.clone(), Self { outgoing, counted }));
                }
            }
        }
        found
    }
}

/// How many frames these counters hold, and the name of the one with the most.
fn errors(window: &HostWindow, name: &InterfaceName, fields: &[&str]) -> (String, u64) {
    let all = fields.iter().map(|field| format!("link/{name}/{field}"));
    let all = all.map(|name| (window.counters.or_zero(&name), name));
    let all: Vec<(u64, String)> = all.collect();
    let sum = all
        .iter()
        .fold(0, |sum: u64, (n, _)| sum.saturating_add(*n));
    let most = all.into_iter().max_by_key(|(n, _)| *n);
    (most.map(|(_, name)| name).unwrap_or_default(), sum)
}

impl Cause for CountedErrors {
    const CODE: &'static str = NicErrors::CODE;
    const PAGE: &'static str = NicErrors::PAGE;
    const ABOUT: &[About] = NicErrors::ABOUT;

    fn words(&self, at: &Place) -> Words {
        let all = &self.counted;
        let frames = counted(all.counted, "frame");
        let way = match self.outgoing {
            true => format!("could not send {frames}"),
            false => format!("took {frames} for damaged"),
        };
        Words {
            text: format!(
                "{} {way} within {} s ({}).",
                at_interface(at),
                all.within_s,
                all.reason
            ),
            fix: fix(&all.reason, at),
        }
    }
}
