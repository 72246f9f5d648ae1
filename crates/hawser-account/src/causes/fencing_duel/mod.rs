//! The heads shot each other, and none was left.
//!
//! Each of two heads that lost sight of each other has quorum (`two_node`) and shoots; only a delay of one of the shots lets
//! one of them live.
//!
//! Evidence: the BMCs' own record of which power they cut when, certain. An error. Case: `drill/duel`.

use hawser_model::drill::PowerState;
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words};
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct FencingDuel {
    heads: Vec<HostName>,
    apart_ms: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    delays_apart_ms: Option<Millis>,
    nobody_up_ms: Millis,
    outage_ms: Millis,
}

impl OutageCause for FencingDuel {
    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        let nobody = view.of(Phase::NoHead).next()?;
        let cluster = &view.case.cluster;
        if !cluster.nodes.iter().all(|node| view.fenced.contains(node)) {
            return None;
        }
        let ordered = view
            .case
            .power
            .iter()
            .filter(|event| event.what == PowerState::OffOrdered && event.at <= nobody.from);
        let ordered: Vec<_> = ordered.map(|event| event.at).collect();
        let (first, last) = (ordered.iter().min()?, ordered.iter().max()?);
        Some(Found {
            severity: Severity::Error,
            confidence: Confidence::Certain,
            place: Place::on(&nobody.host),
            evidence: Self {
                heads: view.fenced.clone(),
                apart_ms: Millis((last.0 - first.0) / 1000),
                delays_apart_ms: delays_apart(view),
                nobody_up_ms: view.ms(Phase::NoHead),
                outage_ms: view.outage_ms(),
            },
        })
    }
}

/// How far the static delays of two heads' fence devices are apart; `None` where there are more heads or a random delay.
fn delays_apart(view: &DrillView<'_>) -> Option<Millis> {
    let [one, other] = &view.case.cluster.nodes[..] else {
        return None;
    };
    let delay = |node: &HostName| {
        let mut devices = view.case.cluster.fence_devices.iter();
        let device = devices.find(|device| device.targets.contains(node))?;
        if device.parameters.contains_key("pcmk_delay_max") {
            return None;
        }
        match device.parameters.get("pcmk_delay_base") {
            Some(text) => Some((crate::outage::seconds(text)? * 1000.0) as u64),
            None => Some(0),
        }
    };
    Some(Millis(delay(one)?.abs_diff(delay(other)?)))
}

impl Cause for FencingDuel {
    const CODE: &'static str = "fencing-duel";
    const PAGE: &'static str = include_str!("page.md");

    fn words(&self, _: &Place) -> Words {
        let heads: Vec<&str> = self.heads.iter().map(HostName::as_str).collect();
        let delays = match self.delays_apart_ms {
            Some(apart) => format!(" The delays of the two shots differ by {apart}."),
            None => String::new(),
        };
        Words {
            text: format!(
                "{} shot each other: their BMCs were told to cut the power within {} ms, and no head was up for {}.{delays}",
                heads.join(" and "),
                self.apart_ms.0,
                self.nobody_up_ms.of(self.outage_ms),
            ),
            fix: "Let one shot wait clearly longer than the other: `[fencing] delay` of one head 2 s above that of the \
                  other, and what the BMC takes to cut the power. Pacemaker's controller may sleep a second before it \
                  shoots, so a second is too little. Price: when that head is really dead its pools are taken over so \
                  much later. A third vote (`[quorum] device`) needs no delay: one side never has quorum. Now: find out \
                  why the links failed, then switch the heads on."
                .to_owned(),
        }
    }
}
