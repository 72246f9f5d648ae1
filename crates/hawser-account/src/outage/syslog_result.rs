//! How an operation ended, as the controller of the head that ran it says in syslog (`log_executor_event` of Pacemaker 2). The
//! line that confirms it to the controller that ordered it (`Transition 3 action 11 (…) confirmed`) is in pacemaker.log alone,
//! and is believed there.

use super::log_lines::{Mark, Operation, after};

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
    let probe = task == "probe";
    let ok = worked(result.split(" | ").next()?.trim(), task)?;
    let operation = Operation {
        resource: resource.to_owned(),
        task: if probe { "monitor" } else { task }.to_owned(),
        recurs: task == "monitor",
        host: host.into(),
    };
    // What the scheduler expected of a probe is not told here.
    Some(match probe && !ok {
        true => Mark::ProbeFailed(operation),
        false => Mark::OperationEnded(operation, ok),
    })
}

/// What a result says that is a failure of any operation: `services_ocf_exitcode_str` and `pcmk_exec_status_str` of Pacemaker
/// 2.0 and 2.1, in lower case.
const FAILED: [&str; 19] = [
    "error",
    "unknown error",
    "hard error",
    "fatal error",
    "error occurred",
    "failed",
    "invalid parameter",
    "invalid parameters",
    "unimplemented feature",
    "insufficient privileges",
    "not configured",
    "not supported",
    "unsupported",
    "timed out",
    "promoted (failed)",
    "master (failed)",
    "failed_promoted",
    "failed_master",
    "cib secrets unavailable",
];

/// What says that a resource runs, beside `ok`.
const RUNS: [&str; 8] = [
    "promoted",
    "master",
    "ocf_degraded",
    "degraded",
    "promoted (ocf_degraded)",
    "master (ocf_degraded)",
    "degraded_promoted",
    "degraded_master",
];

/// Whether an operation worked by the words of its result. `None` for words that do not say it, such as `Cancelled`.
pub(super) fn worked(result: &str, task: &str) -> Option<bool> {
    let result = result.to_ascii_lowercase();
    // Pacemaker 2.0 has the code before it: `0 (ok)`, `198 (OCF_DEGRADED_MASTER)`.
    let coded = result.split_once(" (").and_then(|(code, rest)| {
        let number = !code.is_empty() && code.bytes().all(|b| b.is_ascii_digit());
        number.then(|| rest.strip_suffix(')')).flatten()
    });
    let whole = coded.unwrap_or(&result);
    // The agent's reason stands behind it, and of a time that is over how long it was.
    let short = whole.split(" (").next().unwrap_or(whole);
    let short = short.split(" after ").next().unwrap_or(short);
    let is = |words: &[&str]| words.contains(&whole) || words.contains(&short);
    let checks = matches!(task, "monitor" | "probe");
    match short {
        _ if is(&FAILED) => Some(false),
        "ok" => Some(true),
        // A probe may find that it does not run, or cannot.
        "not running" | "not installed" => Some(task == "probe"),
        _ if is(&RUNS) && checks => Some(true),
        _ => None,
    }
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
        for runs in [
            "ok",
            "promoted",
            "8 (master)",
            "degraded",
            "degraded_promoted",
            "0 (ok)",
        ] {
            for task in ["monitor", "probe"] {
                let said = syslog(&format!(
                    "Result of {task} operation for drbd0 on head1: {runs}"
                ));
                assert!(
                    matches!(said, Some(Mark::OperationEnded(_, true))),
                    "{runs}"
                );
            }
        }
        for unknown in ["Cancelled", "complete and utter", "", "193"] {
            for task in ["monitor", "start", "probe"] {
                let said = format!("Result of {task} operation for drbd0 on head1: {unknown}");
                assert_eq!(syslog(&said), None, "{unknown}");
            }
        }
        for failed in [
            "error",
            "1 (unknown error)",
            "9 (master (failed))",
            "promoted (failed)",
            "Timed Out after 20s (Resource agent did not complete)",
            "invalid parameter (no such device (sdb))",
            "insufficient privileges",
            "not configured",
        ] {
            for task in ["monitor", "start", "probe"] {
                let said = syslog(&format!(
                    "Result of {task} operation for drbd0 on head1: {failed}"
                ));
                let as_failed = match task {
                    "probe" => matches!(said, Some(Mark::ProbeFailed(_))),
                    _ => matches!(said, Some(Mark::OperationEnded(_, false))),
                };
                assert!(as_failed, "{failed}");
            }
        }
        let gone = syslog("Result of monitor operation for drbd0 on head1: not running");
        assert!(matches!(gone, Some(Mark::OperationEnded(_, false))));
        // pacemaker.log has the line that confirms it too.
        assert_eq!(
            ended(
                "head2 pacemaker-controld  [39] (log_executor_event) \tnotice: Result of start operation for vmpool01 on head2: ok | x"
            ),
            None
        );
    }
}
