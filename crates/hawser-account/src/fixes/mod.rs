//! From findings to the knobs that might cure them, as each cause has them, and the traffic that showed the fault, on
//! which each candidate is tried.

mod fanout;
pub(crate) mod knobs;
mod together;

use hawser_model::account::Layer;
use hawser_model::case::{Case, Measurement, PhaseKind};
use hawser_model::knob::{Knob, Setting};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::trial::TrialTraffic;

pub use fanout::fanout_plans;
use knobs::At;
pub use together::{in_order, others};

use crate::findings::found;
use crate::losses::Loss;
use crate::packets::facts::Side;
use crate::view::View;

/// Everything that might cure one finding on one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The finding's code.
    pub cause: String,
    /// The host whose knobs are turned.
    pub host: HostName,
    /// The traffic that showed it; absent when it is not seen in Hawser's own traffic, so that
    /// nothing can be proven.
    pub traffic: Option<TrialTraffic>,
    /// In the order in which they are to be tried.
    pub candidates: Vec<Candidate>,
}

/// A knob, and where to turn it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The knob.
    pub knob: Knob,
    /// The value to try.
    pub target: Target,
}

/// The value to try, which may depend on what is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// This one.
    Value(String),
    /// As much as the device takes.
    Largest,
    /// At least this number; of several the last, which is the largest that a stream's buffer grows to.
    AtLeast(u64),
    /// This many times what it is, in each of its numbers.
    Times(u64),
    /// This many times what it is; of a number below the second, which an unchanged kernel has, of that.
    TimesOrOf(u64, u64),
    /// One of these for each receiver, in turn.
    InTurn(Vec<String>),
}

impl Target {
    /// The value to try on a knob as it stands.
    ///
    /// # Errors
    /// There is none: why, in words.
    pub fn value(&self, setting: &Setting) -> Result<String, String> {
        let now = &setting.value;
        let wanted = match self {
            Self::Value(value) => value.clone(),
            Self::Largest => setting
                .largest
                .clone()
                .ok_or("the device does not say how much it takes")?,
            Self::AtLeast(least) => {
                let (others, last) = now.rsplit_once(char::is_whitespace).unwrap_or(("", now));
                let last = number(last)?.max(*least);
                format!("{others} {last}").trim_start().to_owned()
            }
            Self::Times(factor) => now
                .split_whitespace()
                .map(|n| Some(n.parse::<u64>().ok()?.saturating_mul(*factor).to_string()))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| format!("{now} is not numbers"))?
                .join(" "),
            Self::TimesOrOf(factor, usual) => {
                let number = number(now)?.max(*usual);
                number.saturating_mul(*factor).to_string()
            }
            Self::InTurn(values) => fanout::in_turn(now, values)?,
        };
        if wanted == *now {
            Err(format!("it is {now} already"))
        } else {
            Ok(wanted)
        }
    }
}

fn number(now: &str) -> Result<u64, String> {
    now.parse().map_err(|_| format!("{now} is not a number"))
}

/// The plans for what is wrong in a case, worst first. What no knob of a host cures has none.
pub fn plans(case: &Case) -> Vec<Plan> {
    let view = View::new(case);
    let (found, losses) = found(&view);
    let mut plans: Vec<Plan> = Vec::new();
    for found in &found {
        let (code, place) = found.what_and_where();
        let end = found.turned_at(case);
        let Some(host) = place.host.as_ref().or(end.as_ref().map(|e| &e.0)) else {
            continue;
        };
        let link = place.link.as_ref();
        let worst = losses
            .claimed_by(code)
            .filter(|l| l.host.as_ref() == Some(host) || crosses_to(l, host))
            .filter(|l| link.is_none_or(|link| l.path.link == *link))
            .max_by_key(|l| l.packets);
        let interface = (end.as_ref().map(|e| e.1.clone()))
            .or_else(|| worst.and_then(|loss| interface(&view, loss, host)))
            .or_else(|| place.interface.clone());
        let at = At {
            interface: interface.as_ref(),
            cpus: view.host(host).map_or(1, |facts| facts.cpus),
        };
        let candidates: Vec<Candidate> = found.candidates(&at).into_iter().flatten().collect();
        let known = plans.iter().any(|p| {
            let same = p.cause == code && p.host == *host;
            same && (!found.by_interface() || p.candidates == candidates)
        });
        if known || candidates.is_empty() {
            continue;
        }
        plans.push(Plan {
            cause: code.to_owned(),
            host: host.clone(),
            traffic: worst
                .and_then(|loss| traffic(&view, loss))
                .or_else(|| found.traffic(&view, host)),
            candidates,
        });
    }
    plans
}

/// `trials` trials of a change that does nothing, under the traffic of the worst finding that shows
/// in it: what is said of them measures the trial itself.
pub fn placebos(plans: Vec<Plan>, trials: u32) -> Vec<Plan> {
    let worst = plans.into_iter().find(|p| p.traffic.is_some());
    let placebo = Candidate {
        knob: Knob::Placebo,
        target: Target::Value("a placebo".to_owned()),
    };
    let plan = worst.map(|plan| Plan {
        candidates: vec![placebo; trials as usize],
        ..plan
    });
    plan.into_iter().collect()
}

/// What was lost between the hosts, or nowhere, on the way to this one.
fn crosses_to(loss: &Loss, host: &HostName) -> bool {
    loss.host.is_none() && loss.path.to == *host && loss.layer != Some(Layer::Qdisc)
}

fn traffic(view: &View<'_>, loss: &Loss) -> Option<TrialTraffic> {
    let kind: PhaseKind = view.phases[loss.phase].facts.phase.kind;
    Some(TrialTraffic {
        from: loss.path.from.clone(),
        to: loss.path.to.clone(),
        link: loss.path.link.clone(),
        phase: kind,
        fanout: None,
        due: None,
    })
}

/// A measurement's TCP stream, if there was one.
pub(crate) fn stream_of(measured: &Measurement) -> Option<TrialTraffic> {
    let phase = PhaseKind::Stream;
    let sent = measured.phases.iter().any(|p| p.kind == phase);
    sent.then(|| TrialTraffic {
        from: measured.from.clone(),
        to: measured.to.clone(),
        link: measured.link.clone(),
        phase,
        fanout: None,
        due: None,
    })
}

fn interface(view: &View<'_>, loss: &Loss, host: &HostName) -> Option<InterfaceName> {
    let facts = &view.phases[loss.phase].facts;
    let side = if facts.host(Side::Sender) == host {
        Side::Sender
    } else {
        Side::Receiver
    };
    facts.interface(side).map(|(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use hawser_model::knob::Scope;

    use super::*;

    #[test]
    fn a_target_is_a_value_or_says_why_there_is_none() {
        let setting = |value: &str, largest: Option<&str>| Setting {
            value: value.to_owned(),
            scope: Scope::Machine,
            largest: largest.map(str::to_owned),
        };
        let at = |target: Target, value, largest| target.value(&setting(value, largest));
        assert_eq!(
            at(Target::AtLeast(262_144), "4096", None).as_deref(),
            Ok("262144")
        );
        assert_eq!(
            at(Target::AtLeast(262_144), "4096 8192 16384", None).as_deref(),
            Ok("4096 8192 262144")
        );
        let enough = at(Target::AtLeast(262_144), "8388608", None);
        assert_eq!(enough, Err("it is 8388608 already".to_owned()));
        assert_eq!(
            at(Target::Largest, "256", Some("4096")).as_deref(),
            Ok("4096")
        );
        assert!(at(Target::Largest, "4096", Some("4096")).is_err());
        assert_eq!(
            at(Target::TimesOrOf(10, 1_000), "2", None).as_deref(),
            Ok("10000")
        );
        assert_eq!(
            at(Target::TimesOrOf(10, 1_000), "3000", None).as_deref(),
            Ok("30000")
        );
        assert_eq!(
            at(Target::Times(8), "1 20 300", None).as_deref(),
            Ok("8 160 2400")
        );
        assert!(at(Target::Value("2".into()), "2", None).is_err());
    }
}
