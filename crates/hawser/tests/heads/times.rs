//! When Pacemaker logged that something had happened.

use std::collections::BTreeMap;

use super::support::Lab;

/// Operations and when they ended, as `HH:MM:SS.mmm`, which sorts: by operation and resource.
pub type Ended = BTreeMap<(String, String), String>;

/// When a node's Pacemaker logged that an operation had ended, by resource and operation: the last
/// time, as `HH:MM:SS.mmm`, which sorts.
pub fn ended(lab: &Lab, node: &str) -> Ended {
    let log = lab.sh(
        node,
        "grep -h 'Result of .* operation for' /var/log/pacemaker/pacemaker.log",
    );
    let mut all = BTreeMap::new();
    for line in log.lines() {
        // `Nov 22 01:42:12.223 head2 … Result of start operation for vmpool01 on head2: ok | …`
        let time = line.split_whitespace().nth(2).expect("a time").to_owned();
        let (_, rest) = line.split_once("Result of ").expect("a result");
        let words: Vec<&str> = rest.split_whitespace().collect();
        if let [operation, "operation", "for", resource, "on", _, result, ..] = words[..] {
            if result == "ok" {
                all.insert((operation.to_owned(), resource.to_owned()), time);
            }
        }
    }
    all
}

#[track_caller]
pub fn in_order(times: &Ended, operation: &str, resources: &[&str]) {
    let time = |resource: &str| {
        let key = (operation.to_owned(), resource.to_owned());
        times
            .get(&key)
            .unwrap_or_else(|| panic!("no {operation} of {resource}: {times:?}"))
    };
    for pair in resources.windows(2) {
        assert!(
            time(pair[0]) < time(pair[1]),
            "{operation} of {} at {} before {} at {}",
            pair[0],
            time(pair[0]),
            pair[1],
            time(pair[1])
        );
    }
}

/// From one time of a log to a later one, in seconds.
pub fn between(from: &str, to: &str) -> f64 {
    let clock = |text: &str| {
        let parts = text
            .split(':')
            .map(|part| part.parse::<f64>().expect("a number"));
        parts.fold(0.0, |sum, part| sum * 60.0 + part)
    };
    // Over midnight as well.
    (clock(to) - clock(from)).rem_euclid(86_400.0)
}

/// When a node's Pacemaker last logged this.
#[track_caller]
pub fn logged(lab: &Lab, node: &str, what: &str) -> String {
    let log = lab.sh(node, "cat /var/log/pacemaker/pacemaker.log");
    let line = log.lines().rfind(|line| line.contains(what));
    let line = line.unwrap_or_else(|| panic!("{node}'s log has no \"{what}\""));
    line.split_whitespace().nth(2).expect("a time").to_owned()
}
