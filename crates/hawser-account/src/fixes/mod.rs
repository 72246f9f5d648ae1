//! From findings to the knobs that might cure them, as each cause has them, and the traffic that showed the fault, on
//! which each candidate is tried.

mod fanout;
pub(crate) mod knobs;
mod linked_knobs;

use hawser_model::account::Layer;
use hawser_model::case::{Case, Measurement, PhaseKind};
use hawser_model::knob::{Knob, Setting};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::trial::TrialTraffic;

pub use fanout::fanout_plans;
use knobs::At;
pub use linked_knobs::{in_order, others, siblings};

use crate::findings::found;
use crate::losses::Loss;
use crate::view::{Path, View};

/// Everything that might cure one finding on one host.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialPlan {
    /// The finding's code.
    pub cause: String,
    /// The host whose knobs are turned.
    pub host: HostName,
    /// The traffic that showed it; absent when it is not seen in Hawser's own traffic, so that
    /// nothing can be proven.
    pub traffic: Option<TrialTraffic>,
    /// Whether a cure shows only in a TCP stream that gets faster, and not in packets that are no longer lost.
    pub shown_by_rate: bool,
    /// In the order in which they are to be tried.
    pub candidates: Vec<Candidate>,
}

impl TrialPlan {
    /// Whether it is judged by what the host's cluster engine drops of its own traffic.
    pub fn is_of_engine(&self) -> bool {
        self.traffic.as_ref().is_some_and(|traffic| traffic.engine)
    }
}

/// A knob, and where to turn it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The knob.
    pub knob: Knob,
    /// The value to try.
    pub value: TrialValue,
    /// When it is in force.
    pub taken: Taken,
}

/// When what was turned is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// At once.
    AtOnce,
    /// When the host's cluster engine starts again: it asks for it then and not later.
    AtEngineStart,
}

impl Candidate {
    /// One that is in force at once.
    pub(crate) fn new(knob: Knob, value: TrialValue) -> Self {
        Self {
            knob,
            value,
            taken: Taken::AtOnce,
        }
    }
}

/// The value to try, which may depend on what is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialValue {
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
    /// One of these for each receiver, or interrupt, in turn.
    InTurn(Vec<String>),
    /// A queue for each of so many processors, as far as the device has them, in the kinds that it uses now.
    Queues(u32),
    /// None: why, in words.
    Refused(String),
}

impl TrialValue {
    /// The value to try on a knob as it stands.
    ///
    /// # Errors
    /// There is none: why, in words.
    pub fn for_setting(&self, setting: &Setting) -> Result<String, String> {
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
            Self::Queues(processors) => {
                let most = setting.largest.as_deref().unwrap_or_default();
                queues(now, most, *processors).ok_or_else(|| format!("{now} is not queues"))?
            }
            Self::Refused(why) => return Err(why.clone()),
        };
        if wanted == *now {
            Err(format!("it is {now} already"))
        } else {
            Ok(wanted)
        }
    }
}

/// `rx 0 tx 0 other 1 combined 4` with as many queues as there are processors. A kind that has none now stays without:
/// most drivers have either combined ones or pairs of rx and tx.
fn queues(now: &str, most: &str, processors: u32) -> Option<String> {
    let most: Vec<&str> = most.split_whitespace().collect();
    let words: Vec<&str> = now.split_whitespace().collect();
    let pairs = words.chunks(2).enumerate().map(|(place, pair)| {
        let [name, count] = pair else { return None };
        let count: u32 = count.parse().ok()?;
        let most: u32 = most.get(2 * place + 1)?.parse().ok()?;
        let wanted = match *name == "other" || count == 0 {
            true => count,
            false => processors.min(most).max(count),
        };
        Some(format!("{name} {wanted}"))
    });
    Some(pairs.collect::<Option<Vec<_>>>()?.join(" "))
}

fn number(now: &str) -> Result<u64, String> {
    now.parse().map_err(|_| format!("{now} is not a number"))
}

/// How a knob that takes a boot is turned by hand, as the reason why it was not tried.
pub fn takes_a_boot(knob: &Knob, value: &str) -> String {
    match knob {
        Knob::ModuleParameter { module, parameter } => format!(
            "takes a reboot, or the module loaded again: `echo options {module} {parameter}={value} >> \
             /etc/modprobe.d/{module}.conf` before it, and `update-initramfs -u` where the initramfs has the module"
        ),
        Knob::BootParameter { parameter } => format!(
            "takes a reboot: `{parameter}` in GRUB_CMDLINE_LINUX of /etc/default/grub, and `update-grub`, before it"
        ),
        _ => "takes a reboot".to_owned(),
    }
}

/// The plans for what is wrong in a case, worst first, those of a cluster engine's own sockets before all others: its loss
/// would end the trials of these. Of a check that the engine ended there are no others. What no knob of a host cures has none.
pub fn plans(case: &Case) -> Vec<TrialPlan> {
    let view = View::new(case);
    let (found, losses) = found(&view);
    let mut plans: Vec<TrialPlan> = Vec::new();
    for found in &found {
        let (code, place) = found.what_and_where();
        let end = found.turned_at(case);
        let Some(host) = end.as_ref().map(|e| &e.0).or(place.host.as_ref()) else {
            continue;
        };
        let link = place.link.as_ref();
        let worst = losses
            .claimed_by(code)
            .filter(|l| l.host.as_ref() == Some(host) || crosses_to(l, host))
            .filter(|l| link.is_none_or(|link| l.path.link == *link))
            .max_by_key(|l| l.packets);
        let interface = (end.as_ref().map(|e| e.1.clone()))
            .or_else(|| worst.and_then(|loss| view.interface_of(host, loss)))
            .or_else(|| place.interface.clone());
        let at = At {
            interface: interface.as_ref(),
            cpus: view.host(host).map_or(1, |facts| facts.cpus),
            facts: (interface.as_ref()).and_then(|name| view.host(host)?.interfaces.get(name)),
        };
        let candidates: Vec<Candidate> = found.candidates(&at).into_iter().flatten().collect();
        let own = found.traffic(&view, host);
        let of_engine = own.as_ref().is_some_and(|traffic| traffic.engine);
        let known = plans.iter().any(|p| match of_engine {
            // All sockets of the engine are turned together, whatever was found of them.
            true => p.is_of_engine() && p.host == *host,
            false => {
                let same = p.cause == code && p.host == *host && !p.is_of_engine();
                same && (!found.by_interface() || p.candidates == candidates)
            }
        });
        if known || candidates.is_empty() {
            continue;
        }
        plans.push(TrialPlan {
            cause: code.to_owned(),
            host: host.clone(),
            traffic: worst
                .filter(|_| !of_engine)
                .and_then(|loss| traffic(&view, loss))
                .or(own),
            shown_by_rate: found.shown_by_rate(),
            candidates,
        });
    }
    if case.stopped.is_some() {
        plans.retain(TrialPlan::is_of_engine);
    }
    plans.sort_by_key(|plan| !plan.is_of_engine());
    plans
}

/// `trials` trials of a change that does nothing, under the traffic of the worst finding that shows
/// in it: what is said of them measures the trial itself.
pub fn placebos(plans: Vec<TrialPlan>, trials: u32) -> Vec<TrialPlan> {
    let sent = |plan: &TrialPlan| plan.traffic.is_some() && !plan.is_of_engine();
    let worst = plans.into_iter().find(sent);
    let placebo = Candidate::new(Knob::Placebo, TrialValue::Value("a placebo".to_owned()));
    let plan = worst.map(|plan| TrialPlan {
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
    Some(traffic_of(&loss.path, kind))
}

/// One phase of a path.
pub(crate) fn traffic_of(path: &Path, phase: PhaseKind) -> TrialTraffic {
    TrialTraffic {
        from: path.from.clone(),
        to: path.to.clone(),
        link: path.link.clone(),
        phase,
        fanout: None,
        due: None,
        engine: false,
    }
}

/// A host's interface on a link.
pub(crate) fn end(
    case: &Case,
    host: &HostName,
    link: &LinkName,
) -> Option<(HostName, InterfaceName)> {
    let address = *case.topology.node(host)?.addresses.get(link)?;
    let (name, _) = case.hosts.get(host)?.interface_with(address)?;
    Some((host.clone(), name.clone()))
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
        engine: false,
    })
}

#[cfg(test)]
mod tests {
    use hawser_model::knob::Scope;

    use super::*;

    #[test]
    fn a_trial_value_is_a_value_or_says_why_there_is_none() {
        let setting = |value: &str, largest: Option<&str>| Setting {
            value: value.to_owned(),
            scope: Scope::Machine,
            largest: largest.map(str::to_owned),
            at_boot: false,
        };
        let at = |wanted: TrialValue, value, largest| wanted.for_setting(&setting(value, largest));
        assert_eq!(
            at(TrialValue::AtLeast(262_144), "4096", None).as_deref(),
            Ok("262144")
        );
        assert_eq!(
            at(TrialValue::AtLeast(262_144), "4096 8192 16384", None).as_deref(),
            Ok("4096 8192 262144")
        );
        let enough = at(TrialValue::AtLeast(262_144), "8388608", None);
        assert_eq!(enough, Err("it is 8388608 already".to_owned()));
        assert_eq!(
            at(TrialValue::Largest, "256", Some("4096")).as_deref(),
            Ok("4096")
        );
        assert!(at(TrialValue::Largest, "4096", Some("4096")).is_err());
        assert_eq!(
            at(TrialValue::TimesOrOf(10, 1_000), "2", None).as_deref(),
            Ok("10000")
        );
        assert_eq!(
            at(TrialValue::TimesOrOf(10, 1_000), "3000", None).as_deref(),
            Ok("30000")
        );
        assert_eq!(
            at(TrialValue::Times(8), "1 20 300", None).as_deref(),
            Ok("8 160 2400")
        );
        assert!(at(TrialValue::Value("2".into()), "2", None).is_err());
        let queues = |now, most| at(TrialValue::Queues(4), now, Some(most));
        assert_eq!(
            queues(
                "rx 0 tx 0 other 1 combined 1",
                "rx 8 tx 8 other 1 combined 8"
            )
            .as_deref(),
            Ok("rx 0 tx 0 other 1 combined 4")
        );
        assert_eq!(
            queues(
                "rx 1 tx 1 other 0 combined 0",
                "rx 2 tx 16 other 0 combined 0"
            )
            .as_deref(),
            Ok("rx 2 tx 4 other 0 combined 0")
        );
        let all = queues(
            "rx 0 tx 0 other 0 combined 8",
            "rx 0 tx 0 other 0 combined 8",
        );
        assert!(all.is_err(), "never fewer");
    }
}
