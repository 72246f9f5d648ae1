//! When things happened: what a client saw of it, and what Pacemaker logged.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::support::Lab;

/// Connects to an address again and again from the client until it is told to end; answers the longest time
/// in which it could not.
pub struct Pause<'a> {
    lab: &'a Lab,
    child: Child,
}

/// What tells it to end.
const END: &str = "/tmp/enough";

impl<'a> Pause<'a> {
    pub fn watch(lab: &'a Lab, address: &str) -> Self {
        let program = "import os,socket,sys,time\n\
            last=longest=0\n\
            while not (last and os.path.exists(sys.argv[2])):\n\
            \x20s=socket.socket(); s.settimeout(0.2)\n\
            \x20try:\n\
            \x20\x20s.connect((sys.argv[1],3260)); now=time.time()\n\
            \x20\x20if not last: print('connected',flush=True)\n\
            \x20\x20longest=max(longest,now-(last or now)); last=now\n\
            \x20except OSError: pass\n\
            \x20s.close(); time.sleep(0.01)\n\
            print(longest)\n";
        lab.sh("client1", &format!("rm -f {END}"));
        let mut command = lab.command(&[
            "exec", "client1", "--", "python3", "-c", program, address, END,
        ]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("python3");
        // It must be connected before anything happens.
        let mut first = String::new();
        let mut said = BufReader::new(child.stdout.take().expect("its output"));
        said.read_line(&mut first).expect("a line");
        assert_eq!(first.trim(), "connected");
        child.stdout = Some(said.into_inner());
        Self { lab, child }
    }

    /// Called when the client is known to reach the address again.
    pub fn seconds(self) -> f64 {
        self.lab.sh("client1", &format!("touch {END}"));
        let output = self.child.wait_with_output().expect("python3 ends");
        String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .expect("seconds")
    }
}

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
