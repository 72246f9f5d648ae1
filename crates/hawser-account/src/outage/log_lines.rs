//! What log lines say: the lines of Corosync 3 and Pacemaker 2 that mark a step of a takeover.

mod attributes;
mod daemon;

use hawser_model::names::HostName;

use super::syslog_result;

/// What a line marks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mark {
    /// Corosync has waited for the token in vain, and confers now.
    TokenLost {
        /// How long it waited, in milliseconds.
        token_ms: u64,
    },
    /// Corosync has a new membership from which somebody is missing.
    Left,
    /// Corosync has a new membership with somebody who was not in the last one.
    Joined,
    /// Corosync has a new membership of the same nodes: a token was awaited in vain, and nobody is missing.
    Formed,
    /// Corosync starts.
    Started,
    /// The controller begins to execute what the scheduler decided.
    TransitionBegun(u64),
    /// It has executed it.
    TransitionEnded {
        /// Which one.
        number: u64,
        /// All of it; else it was given up.
        whole: bool,
    },
    /// The controller wants a node to be fenced.
    FenceAsked(HostName),
    /// The shot is held back.
    FenceDelayed {
        /// Whom it is for.
        target: HostName,
        /// How long, in microseconds.
        us: u64,
    },
    /// The fence agent has ended.
    FenceAgentEnded {
        /// Whom it was for.
        target: HostName,
        /// Whether it says that it worked.
        ok: bool,
    },
    /// The fencing has ended, with all its devices and attempts.
    FenceEnded {
        /// Whom it was for.
        target: HostName,
        /// Whether it worked.
        ok: bool,
    },
    /// An operation on a resource is ordered.
    OperationBegun(Operation),
    /// It has ended.
    OperationEnded(Operation, bool),
    /// A probe has failed where nobody says that the resource was to run: it may run elsewhere all the time.
    ProbeFailed(Operation),
    /// The controller finds the load of the processors so high that it allows a node one operation
    /// at a time (`throttle_get_job_limit` of Pacemaker 2).
    Throttled,
    /// A person has said that a node is off.
    ConfirmedByHand(HostName),
    /// A watch has found a port of a host to a SAN without carrier.
    PortLost {
        /// Whose port.
        host: HostName,
        /// How long that is held back before the scheduler hears of it, in milliseconds.
        dampening_ms: u64,
    },
    /// That a start failed on a host is forgotten, so that it is tried there again.
    StartForgiven(Forgiven),
    /// The Pacemaker of a host was told to stop: the machine is shut down, or somebody stops the service.
    EngineStops(HostName),
    /// Pacemaker has stopped, with all its daemons.
    EngineStopped,
    /// Pacemaker starts.
    EngineStarts,
}

impl Mark {
    /// Whether an operation has ended, however it did.
    pub(crate) fn ends_operation(&self) -> bool {
        matches!(self, Self::OperationEnded(..) | Self::ProbeFailed(_))
    }

    /// Whether Corosync writes it.
    pub(crate) fn is_corosyncs(&self) -> bool {
        matches!(
            self,
            Self::TokenLost { .. } | Self::Left | Self::Joined | Self::Formed | Self::Started
        )
    }
}

/// A resource whose failed start is forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Forgiven {
    /// The resource.
    pub(crate) resource: String,
    /// Where it failed.
    pub(crate) host: HostName,
}

/// An operation on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The resource.
    pub(crate) resource: String,
    /// `start`, `stop`, `monitor`.
    pub(crate) task: String,
    /// Whether Pacemaker does it again and again: a monitor that does not is a probe, which somebody has asked for.
    pub(crate) recurs: bool,
    /// Where.
    pub(crate) host: HostName,
}

/// What a line of corosync.log marks; its stamp is already cut off.
pub(crate) fn corosync(text: &str) -> Option<Mark> {
    if let Some(rest) = after(text, "token timed out (") {
        return Some(Mark::TokenLost {
            token_ms: number(rest)?,
        });
    }
    if text.contains("Corosync Cluster Engine ") && text.contains(" starting up") {
        return Some(Mark::Started);
    }
    let members = after(text, "A new membership (")?;
    // `Members joined: 3 left: 1`.
    if members.contains(" left: ") {
        return Some(Mark::Left);
    }
    match members.contains(" joined: ") {
        true => Some(Mark::Joined),
        false => members.contains(" was formed").then_some(Mark::Formed),
    }
}

/// What a line of pacemaker.log marks; its stamp is already cut off.
pub(crate) fn pacemaker(text: &str) -> Option<Mark> {
    // The programs' own output is quoted in their log: only what they say themselves is believed.
    if text.contains(" output [ ") || text.contains("stderr: [ ") {
        return None;
    }
    controller(text)
        .or_else(|| fencer(text))
        .or_else(|| attributes::said(text))
        .or_else(|| daemon::said(text))
}

fn controller(text: &str) -> Option<Mark> {
    if let Some(rest) = after(text, "Processing graph ") {
        return Some(Mark::TransitionBegun(number(rest)?));
    }
    if let Some(rest) = after(text, "Requesting fencing (") {
        // Since Pacemaker 2.1.6 `targeting node head1`.
        let (action, target) = rest
            .split_once(") of node ")
            .or_else(|| rest.split_once(") targeting node "))?;
        return cuts_off(action).then(|| Mark::FenceAsked(word(target)));
    }
    if let Some(rest) = after(text, "Initiating ") {
        let (_, rest) = rest.split_once(" operation ")?;
        let (key, rest) = rest.split_once(' ')?;
        // `locally on head2`, `on head1`.
        let host = word(after(rest, "on ")?);
        return Some(Mark::OperationBegun(operation(key, host)?));
    }
    if text.contains("High CPU load detected: ") {
        return Some(Mark::Throttled);
    }
    if let Some(ended) = syslog_result::ended(text) {
        return Some(ended);
    }
    if let Some(rest) = after(text, "Transition ") {
        let whole = rest.contains("): Complete");
        if whole || rest.contains("): Stopped") {
            let number = number(rest)?;
            return Some(Mark::TransitionEnded { number, whole });
        }
        let (_, rest) = rest.split_once(" action ")?;
        let (_, rest) = rest.split_once(" (")?;
        let (key, rest) = rest.split_once(" on ")?;
        let (host, rest) = rest.split_once(')')?;
        // "Confirmed" is what was expected, whatever that was: a probe expects `not running`.
        let ok = rest.starts_with(" confirmed: ");
        let failed = rest.starts_with(": expected ");
        let ended = (ok || failed).then(|| operation(key, host.into()))??;
        let probe = ended.task == "monitor" && !ended.recurs;
        return Some(match probe && failed {
            true => probed(ended, rest),
            false => Mark::OperationEnded(ended, ok),
        });
    }
    None
}

/// What a probe says that found another state than was expected. One that finds what runs already, as when Pacemaker has started
/// beside it, has failed at nothing, and neither has one that finds that a resource cannot run where it was not to run.
fn probed(operation: Operation, said: &str) -> Mark {
    let got = after(said, " but got '").and_then(|got| got.split_once('\''));
    let got = got.map_or("", |(got, _)| got);
    let elsewhere = said.starts_with(": expected 'not running'");
    match elsewhere {
        _ if got == "ok" => Mark::OperationEnded(operation, true),
        true if syslog_result::worked(got, "probe") == Some(true) => {
            Mark::OperationEnded(operation, true)
        }
        true => Mark::ProbeFailed(operation),
        false => Mark::OperationEnded(operation, false),
    }
}

/// Whether it is this that a fence device is to do to a node: `on` lets one in again that was cut off from its disks.
fn cuts_off(action: &str) -> bool {
    ["off", "reboot"].contains(&action)
}

fn fencer(text: &str) -> Option<Mark> {
    if let Some(rest) = after(text, "Delaying '") {
        cuts_off(rest.split_once('\'')?.0).then_some(())?;
        let target = word(after(rest, "targeting ")?);
        let time = after(rest, " for ")?;
        return Some(Mark::FenceDelayed {
            target,
            us: number(time)? * 1_000_000,
        });
    }
    let rest = after(text, "Operation '")?;
    cuts_off(rest.split_once('\'')?.0).then_some(())?;
    let target: HostName = word(after(rest, "targeting ")?);
    if let Some(code) = after(rest, " returned ") {
        let ok = number(code)? == 0;
        return Some(Mark::FenceAgentEnded { target, ok });
    }
    let (_, result) = after(rest, " by ")?.split_once(": ")?;
    if rest.contains("a human") {
        return Some(Mark::ConfirmedByHand(target));
    }
    let ok = result.starts_with("OK");
    Some(Mark::FenceEnded { target, ok })
}

/// `vmpool01-san01_monitor_10000`.
fn operation(key: &str, host: HostName) -> Option<Operation> {
    let (rest, interval) = key.rsplit_once('_')?;
    let (resource, task) = rest.rsplit_once('_')?;
    Some(Operation {
        resource: resource.to_owned(),
        task: task.to_owned(),
        recurs: interval != "0",
        host,
    })
}

/// What stands behind these words.
pub(crate) fn after<'a>(text: &'a str, what: &str) -> Option<&'a str> {
    text.split_once(what).map(|(_, rest)| rest)
}

fn word(text: &str) -> HostName {
    let end = text.find([' ', ':', '|']).unwrap_or(text.len());
    HostName(text[..end].to_owned())
}

/// Digits at the beginning. A line may say any number: what is no number of a transition and no time that a cluster could
/// wait for is none, and nothing overflows that is made of it.
pub(crate) fn number(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse::<u32>().ok().map(u64::from)
}

#[cfg(test)]
mod tests;
