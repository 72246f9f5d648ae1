//! What an agent says of a start that failed, as the controller of the head that ran it writes it to pacemaker.log
//! and to syslog (`log_executor_event` of Pacemaker 2): the exit reason in the result, or what it printed in a line of its own.

use hawser_model::drill::{DrillCase, Moment};
use hawser_model::names::HostName;
use hawser_model::visible::one_line;

use super::stamp::stamped;
use super::timeline::clock_of;

/// Characters of it that are kept.
const MOST: usize = 300;

/// The controller writes the result just after the agent has ended.
const LATE_US: u64 = 1_000_000;

/// The agent's words about a start of this resource on this head that lasted from one moment to the other. They are the agent's, and
/// may be anything.
pub(crate) fn said(
    case: &DrillCase,
    host: &HostName,
    resource: &str,
    (from, to): (Moment, Moment),
) -> Option<String> {
    let logs = case.logs.get(host)?;
    let clock = clock_of(case, logs)?;
    let until = Moment(to.0.saturating_add(LATE_US));
    let lines = logs.pacemaker.iter().filter_map(|line| {
        let (at, text) = stamped(line, case.recorded, logs.utc_offset_s)?;
        let at = clock(at);
        (from <= at && at <= until).then_some(text)
    });
    let said: Vec<&str> = lines.filter_map(of_controller).collect();
    let result = format!("Result of start operation for {resource} on {host}: ");
    let output = format!("{resource}_start_0@{host} output [ ");
    let reason = said.iter().find_map(|it| reason(it.strip_prefix(&result)?));
    let printed = said
        .iter()
        .find_map(|it| it.strip_prefix(&output)?.rsplit_once(" ]"));
    let words = reason.or(printed.map(|(printed, _)| printed))?;
    // The log has line ends as `\n`.
    let lines = words.split("\\n").map(str::trim);
    let words: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let words: String = one_line(&words.join("; ")).chars().take(MOST).collect();
    (!words.is_empty()).then_some(words)
}

/// Whether a line is one of those.
pub(crate) fn is_one(text: &str) -> bool {
    of_controller(text).is_some_and(|said| {
        said.starts_with("Result of start operation for ") || said.contains("_start_0@")
    })
}

/// What stands behind the level, in pacemaker.log (`head2 pacemaker-controld  [97] (log_executor_event)  notice: …`) and in
/// syslog (`head2 pacemaker-controld[39]:  notice: …`). Another program's line may quote such a one, but not begin with it.
fn of_controller(text: &str) -> Option<&str> {
    let (_host, rest) = text.split_once(' ')?;
    let rest = rest.strip_prefix("pacemaker-controld")?.trim_start();
    let (_pid, rest) = rest.strip_prefix('[')?.split_once(']')?;
    let said = match rest.strip_prefix(':') {
        Some(said) => said,
        // A place in the sources may stand behind the function's name.
        None => {
            let (function, said) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
            function.starts_with("log_executor_event").then_some(said)?
        }
    };
    let (_level, said) = said.trim_start().split_once(": ")?;
    Some(said)
}

/// `error (REASON) | CIB update 157, …`: the reason.
fn reason(result: &str) -> Option<&str> {
    let (_, reason) = result.split(" | ").next()?.split_once(" (")?;
    reason.strip_suffix(')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_controllers_own_line_is_taken_and_the_reason_may_have_parentheses() {
        let line = "head2 pacemaker-controld  [97] (log_executor_event) \tnotice: Result of start operation for a on head2: error (no \
                    target (/run/x): start it) | CIB update 1, graph action confirmed; call=2 key=a_start_0 rc=1";
        let said = of_controller(line).unwrap();
        let result = said.strip_prefix("Result of start operation for a on head2: ");
        assert_eq!(
            reason(result.unwrap()),
            Some("no target (/run/x): start it")
        );
        assert_eq!(
            reason("error | CIB update 200, graph action confirmed"),
            None
        );
        assert_eq!(reason("ok | CIB update 200 (x)"), None);
        let syslog = "head2 pacemaker-controld[39]:  notice: a_start_0@head2 output [ no target ]";
        assert_eq!(
            of_controller(syslog),
            Some("a_start_0@head2 output [ no target ]")
        );
        let placed = line.replace("executor_event)", "executor_event@controld_execd.c:2131)");
        assert_eq!(of_controller(&placed), of_controller(line));
        assert!(is_one(line) && is_one(syslog));
        for quoted in [
            format!(
                "head2 pacemaker-execd     [94] (log_op_output) \tnotice: a_start_0[7] output [ {line} ]"
            ),
            line.replace("pacemaker-controld", "pacemaker-execd"),
            line.replace("log_executor_event", "do_lrm_rsc_op"),
        ] {
            assert_eq!(of_controller(&quoted), None, "{quoted}");
        }
    }
}
