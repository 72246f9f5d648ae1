//! Frames that found no room in an interface's ring while nothing was measured.

use hawser_model::finding::Place;
use serde::Serialize;

use super::{NicRingOverflow, fix, is_veth};
use crate::cause::{Cause, CheckCause, Found, Words, as_number, at_interface, counted};
use crate::causes::claims::{Counted, counting};
use crate::compare::topic::About;
use crate::losses::Losses;
use crate::packets::{is_ring_counter, ring};
use crate::view::View;

#[derive(Serialize)]
pub(crate) struct CountedOverflow {
    #[serde(serialize_with = "as_number")]
    veth: bool,
    #[serde(flatten)]
    counted: Counted,
}

impl CheckCause for CountedOverflow {
    const STANDING: bool = true;

    fn find(view: &View<'_>, _: &mut Losses) -> Vec<Found<Self>> {
        let found = counting(view).into_iter();
        let found = found.filter_map(|(place, name, window)| {
            let counted = Counted::of(window, ring(&window.counters, &[name], counts_losses))?;
            let veth = is_veth(view, &place);
            Some(Counted::found(place, Self { veth, counted }))
        });
        found.collect()
    }
}

/// Whether each packet that a driver counts so is lost. `rx_no_buffer_count` of Intel's cards also counts those that waited in the
/// card and were received after all (82598EB datasheet, RNBC): where a loss was measured it may explain it, and alone it proves none.
fn counts_losses(name: &str) -> bool {
    is_ring_counter(name) && !name.contains("rx_no_buffer")
}

impl Cause for CountedOverflow {
    const CODE: &'static str = NicRingOverflow::CODE;
    const PAGE: &'static str = NicRingOverflow::PAGE;
    const ABOUT: &[About] = NicRingOverflow::ABOUT;

    fn words(&self, at: &Place) -> Words {
        let all = &self.counted;
        Words {
            text: format!(
                "The receive ring of {} was full: {} were lost within {} s before the kernel saw them ({}).",
                at_interface(at),
                counted(all.counted, "frame"),
                all.within_s,
                all.reason,
            ),
            fix: fix(self.veth, at),
        }
    }
}
