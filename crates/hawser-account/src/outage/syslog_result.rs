//! How an operation ended, as the controller of the head that ran it says in syslog (`log_executor_event` of Pacemaker 2). The
//! line that confirms it to the controller that ordered it (`Transition 3 action 11 (…) confirmed`) is in pacemaker.log alone,
//! and is believed there.

use super::marks::{Mark, Operation, after};

/// `Result of start operation for vmpool01 on head2: ok`: the operation that has ended. `None` for a line of pacemaker.log, where
/// the name of a function stands in between.
pub(super) fn ended(text: &str) -> Option<Mark> {
    let (_, said) = after(text, " pacemaker-controld[")?.split_once("]: ")?;
    let (_level, said) = said.trim_start().split_once(": ")?;
    let (task, rest) = said
        .strip_prefix("Result of ")?
        .split_once(" operation for ")?;
    let (resource, rest) = rest.split_once(" on ")?;
    let (host, result) = rest.split_once(": ")?;
    // Pacemaker 2.0 has the code before it: `0 (ok)`.
    let ok = result.split(" | ").next()?.trim_end();
    let ok = ok == "ok" || ok.ends_with("(ok)");
    // A probe is expected to find anything.
    let probe = task == "probe";
    let operation = Operation {
        resource: resource.to_owned(),
        task: if probe { "monitor" } else { task }.to_owned(),
        recurs: task == "monitor",
        host: host.into(),
    };
    Some(Mark::OperationEnded(operation, ok || probe))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_syslog_the_head_that_ran_an_operation_says_what_became_of_it() {
        let syslog = |said: &str| ended(&format!("head2 pacemaker-controld[39]:  notice: {said}"));
        let on = |resource: &str, task: &str, host: &str| Operation {
            resource: resource.to_owned(),
            task: task.to_owned(),
            recurs: task == "monitor",
            host: host.into(),
        };
        let start = || on("vmpool01", "start", "head2");
        for ok in ["ok", "0 (ok)"] {
            assert_eq!(
                syslog(&format!(
                    "Result of start operation for vmpool01 on head2: {ok}"
                )),
                Some(Mark::OperationEnded(start(), true))
            );
        }
        for failed in [
            "error",
            "not running",
            "Timed Out after 20s (Resource agent did not complete)",
        ] {
            assert_eq!(
                syslog(&format!(
                    "Result of start operation for vmpool01 on head2: {failed}"
                )),
                Some(Mark::OperationEnded(start(), false)),
                "{failed}"
            );
        }
        let probe = Operation {
            recurs: false,
            ..on("vmpool01", "monitor", "head2")
        };
        assert_eq!(
            syslog("Result of probe operation for vmpool01 on head2: not running"),
            Some(Mark::OperationEnded(probe, true))
        );
        // pacemaker.log has the line that confirms it too.
        assert_eq!(
            ended(
                "head2 pacemaker-controld  [39] (log_executor_event) \tnotice: Result of start operation for vmpool01 on head2: ok | x"
            ),
            None
        );
    }
}
