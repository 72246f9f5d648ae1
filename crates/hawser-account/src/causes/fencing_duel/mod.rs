//! The heads shot each other, and none was left.
//!
//! Each of two heads that lost sight of each other has quorum (`two_node`) and shoots; only a delay of one of the shots lets
//! one of them live.
//!
//! Evidence: the BMCs' own record of which power they cut when, certain; or that each head's log has the order to fence the
//! other and no word of what came of it, and both booted, likely. An error. Cases: `drill/duel`, `incident/duel`.

use hawser_model::drill::{Moment, PowerState};
use hawser_model::finding::{Confidence, Place, Severity};
use hawser_model::names::HostName;
use serde::Serialize;

use crate::cause::{Cause, Found, OutageCause, Words};
use crate::outage::log_lines::Mark;
use crate::outage::millis::Millis;
use crate::outage::phase::Phase;
use crate::outage::timeline::At;
use crate::outage::view::DrillView;

#[derive(Serialize)]
pub(crate) struct FencingDuel {
    heads: Vec<HostName>,
    apart_ms: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    delays_apart_ms: Option<Millis>,
    /// Where BMCs tell of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    nobody_up_ms: Option<Millis>,
    /// Where only logs do: from the last line of either head that counts until the first one that boots.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent_ms: Option<Millis>,
    outage_ms: Millis,
}

impl OutageCause for FencingDuel {
    const IN_LOGS: bool = true;

    fn find(view: &DrillView<'_>) -> Option<Found<Self>> {
        by_bmcs(view).or_else(|| by_logs(view))
    }
}

/// What both kinds of evidence say.
fn found(
    view: &DrillView<'_>,
    confidence: Confidence,
    heads: Vec<HostName>,
    shots: &[Moment],
) -> Option<Found<FencingDuel>> {
    let (first, last) = (shots.iter().min()?, shots.iter().max()?);
    Some(Found {
        severity: Severity::Error,
        confidence,
        place: Place::on(heads.last()?),
        evidence: FencingDuel {
            heads,
            apart_ms: Millis((last.0 - first.0) / 1000),
            delays_apart_ms: delays_apart(view),
            nobody_up_ms: None,
            silent_ms: None,
            outage_ms: view.outage_ms(),
        },
    })
}

/// A lab's BMCs say whom they were told to switch off.
fn by_bmcs(view: &DrillView<'_>) -> Option<Found<FencingDuel>> {
    let nobody = view.of(Phase::NoHead).next()?;
    let nodes = &view.case.cluster.nodes;
    if !nodes.iter().all(|node| view.fenced.contains(node)) {
        return None;
    }
    let power = view.case.power.iter();
    let ordered =
        power.filter(|event| event.what == PowerState::OffOrdered && event.at <= nobody.from);
    let shots: Vec<_> = ordered.map(|event| event.at).collect();
    let mut found = found(view, Confidence::Certain, view.fenced.clone(), &shots)?;
    found.evidence.nobody_up_ms = Some(view.ms(Phase::NoHead));
    Some(found)
}

/// How far apart two heads may ask for each other's fencing and still shoot each other.
const TOGETHER_US: u64 = 60_000_000;

/// Of real heads only the logs tell: each asked for the other's fencing, neither heard what came of it, and both booted.
fn by_logs(view: &DrillView<'_>) -> Option<Found<FencingDuel>> {
    let [one, other] = &view.case.cluster.nodes[..] else {
        return None;
    };
    let asked = |by: &HostName, target: &HostName| {
        let asks = |at: &&At| at.host == *by && at.mark == Mark::FenceAsked(target.clone());
        Some(view.marks.iter().find(asks)?.at)
    };
    let shots = [asked(one, other)?, asked(other, one)?];
    let (first, last) = (shots[0].min(shots[1]), shots[0].max(shots[1]));
    let booted = |host: &HostName| {
        let boots = |at: &&At| at.host == *host && at.mark == Mark::Started && at.at > last;
        Some(view.marks.iter().find(boots)?.at)
    };
    let boots = booted(one)?.min(booted(other)?);
    let meanwhile = || {
        view.marks
            .iter()
            .filter(|at| at.at >= first && at.at < boots)
    };
    let heard = meanwhile().any(|at| matches!(at.mark, Mark::FenceEnded { ok: true, .. }));
    if heard || last.0 - first.0 > TOGETHER_US {
        return None;
    }
    let silent = boots.0 - meanwhile().map(|at| at.at.0).max().unwrap_or(last.0);
    let heads = vec![one.clone(), other.clone()];
    let mut found = found(view, Confidence::Likely, heads, &shots)?;
    found.evidence.silent_ms = Some(Millis(silent / 1000));
    Some(found)
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
        let heads = heads.join(" and ");
        let delays = match self.delays_apart_ms {
            Some(apart) => format!(" The delays of the two shots differ by {apart}."),
            None => String::new(),
        };
        let apart = self.apart_ms.0;
        Words {
            text: match (self.nobody_up_ms, self.silent_ms) {
                (Some(nobody), _) => format!(
                    "{heads} shot each other: their BMCs were told to cut the power within {apart} ms, and no head was up \
                     for {}.{delays}",
                    nobody.of(self.outage_ms),
                ),
                (None, silent) => format!(
                    "{heads} shot each other: each asked for the fencing of the other, {apart} ms apart, neither heard what \
                     came of it, and both booted.{}{delays}",
                    silent.map_or(String::new(), |silent| format!(" Nothing was done for {silent}.")),
                ),
            },
            fix: "Let one shot wait clearly longer than the other: `[fencing] delay` of one head 2 s above that of the \
                  other, and what the BMC takes to cut the power. Pacemaker's controller may sleep a second before it \
                  shoots, so a second is too little. Price: when that head is really dead its pools are taken over so \
                  much later. A third vote (`[quorum] device`) needs no delay: one side never has quorum. Now: find out \
                  why the links failed, then switch the heads on."
                .to_owned(),
        }
    }
}
