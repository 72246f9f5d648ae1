//! What a drill asks a cluster beside its status: in a lab by a line of shell, on real heads by an order to their
//! agents.

use hawser_cluster::host::{Answer, DrillAnswer, DrillOrder, Order};
use hawser_model::drill::{Moment, PowerEvent, PowerState};
use hawser_model::names::HostName;

use crate::error::DrillError;
use crate::stage::Stage;

/// The live CIB.
pub(crate) fn cib(stage: &Stage<'_>) -> Result<String, DrillError> {
    let head = &stage.active;
    let Some(real) = stage.real() else {
        return stage.shell(head.as_str(), "cibadmin --query");
    };
    match real.remote.order(head, &Order::Cib) {
        Ok(Answer::Cib(Some(cib))) => Ok(cib),
        Ok(_) => Err(DrillError::CouldNot(format!(
            "Pacemaker does not run on {head}"
        ))),
        Err(why) => Err(DrillError::CouldNot(why)),
    }
}

/// Corosync's timing in force, or its statistics.
pub(crate) fn map(
    stage: &Stage<'_>,
    head: &HostName,
    statistics: bool,
) -> Result<String, DrillError> {
    match (stage.real(), statistics) {
        (Some(real), _) => match real.ask(head, DrillOrder::CorosyncMap { statistics })? {
            DrillAnswer::Text(text) => Ok(text),
            _ => Err(DrillError::CouldNot(format!(
                "{head} has no map of Corosync's"
            ))),
        },
        (None, true) => stage.shell(head.as_str(), "corosync-cmapctl -m stats"),
        (None, false) => stage.shell(head.as_str(), "corosync-cmapctl runtime.config.totem"),
    }
}

/// All that the fencer remembers, as its own XML.
pub(crate) fn history(stage: &Stage<'_>, head: &HostName) -> Result<String, DrillError> {
    let Some(real) = stage.real() else {
        let line = "stonith_admin --history '*' --verbose --output-as=xml";
        return stage.shell(head.as_str(), line);
    };
    match real.remote.order(head, &Order::FenceHistory) {
        Ok(Answer::Text(text)) => Ok(text),
        Ok(_) => Err(DrillError::CouldNot(format!(
            "{head} has no history of fencing"
        ))),
        Err(why) => Err(DrillError::CouldNot(why)),
    }
}

/// What Pacemaker remembers of failures is forgotten, as an operator would do it.
pub(crate) fn clean_up(stage: &Stage<'_>) {
    let line = "crm_resource --cleanup; stonith_admin --cleanup --history '*'";
    // One head is enough, and one that does not run its cluster yet cannot.
    let _one_can = stage.heads.iter().any(|head| match stage.real() {
        Some(real) => real.ask(head, DrillOrder::CleanUp).is_ok(),
        None => stage.shell(head.as_str(), line).is_ok(),
    });
}

/// What the BMCs of a lab did since then.
pub(crate) fn bmc_events(stage: &Stage<'_>, since: Moment) -> Result<Vec<PowerEvent>, DrillError> {
    // What real BMCs did is known by Pacemaker's history alone.
    if stage.real().is_some() {
        return Ok(Vec::new());
    }
    let lab = stage.lab()?;
    let events = stage.heads.iter().flat_map(|head| {
        let changes = lab.power_log(head.as_str()).into_iter();
        changes.map(|change| PowerEvent {
            host: head.clone(),
            at: Moment(change.at_us),
            what: match (change.on, change.done) {
                (false, false) => PowerState::OffOrdered,
                (false, true) => PowerState::Off,
                (true, false) => PowerState::OnOrdered,
                (true, true) => PowerState::On,
            },
        })
    });
    Ok(events.filter(|event| event.at >= since).collect())
}
