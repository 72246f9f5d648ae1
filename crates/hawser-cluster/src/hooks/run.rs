//! One run of a hook: in a known environment, for as long as it may take.

use std::time::Duration;

use hawser_host::Clock;
use hawser_model::cluster_file::HookMoment;
use hawser_model::visible::one_line;
use hawser_tool::{TIED_GROUP, Tool, ToolError};

use super::program::Owned;

/// So much of what a hook says is logged.
const LINES: usize = 20;

/// So much of one line.
const CHARACTERS: usize = 300;

/// A hook as Pacemaker's configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// When it runs.
    pub moment: HookMoment,
    /// The program.
    pub program: String,
    /// It is ended after this.
    pub limit: Duration,
    /// Whether what follows waits for its success.
    pub required: bool,
}

/// What a hook did.
pub(super) struct Ran {
    /// For the log.
    pub log: Vec<String>,
    /// Why it failed, if it did.
    pub failed: Option<String>,
}

impl Wanted {
    /// Runs it for this pool, on this node.
    pub(super) fn run(&self, pool: &str, node: &str, owned: &Owned) -> Ran {
        let what = format!("{} hook {}", self.moment.name(), one_line(&self.program));
        let program = match owned.program(&self.program) {
            Ok(program) => program,
            Err(why) => {
                return Ran {
                    log: Vec::new(),
                    failed: Some(format!("{what} is not run: it {}", one_line(&why))),
                };
            }
        };
        let clock = Clock::default();
        let began = clock.now();
        // Pacemaker kills an agent that takes too long, and may go on: a hook must not run on beside what comes next.
        let [first, words @ ..] = TIED_GROUP;
        let tool = Tool::new(first).args(words).args([program]);
        let tool = tool.limit(self.limit).alone([
            ("HAWSER_HOOK", self.moment.name()),
            ("HAWSER_NODE", node),
            ("HAWSER_POOL", pool),
        ]);
        let output = match tool.output() {
            Ok(output) => output,
            Err(error) => {
                let why = match &error {
                    // Not the hook.
                    ToolError::Missing { .. } => error.to_string(),
                    _ => error.reason(),
                };
                return Ran {
                    log: Vec::new(),
                    failed: Some(format!("{what}: {why}")),
                };
            }
        };
        let took = clock.since(began).as_secs_f64();
        let mut log = vec![format!(
            "{what} of pool {pool}: {} after {took:.1} s",
            output.status
        )];
        let said = [&output.stdout, &output.stderr];
        let said = said.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let lines = said.iter().flat_map(|text| text.lines());
        let lines: Vec<String> = lines
            .map(shortened)
            .filter(|line| !line.is_empty())
            .collect();
        // The last ones say why. None begins a line: Pacemaker would take `ocf-exit-reason:` for the agent's.
        let last = lines.iter().skip(lines.len().saturating_sub(LINES));
        log.extend(last.map(|line| format!("  {line}")));
        let failed = (!output.status.success()).then(|| {
            let last = said[1]
                .lines()
                .map(shortened)
                .rfind(|line| !line.is_empty());
            let last = last.map(|line| format!(": {line}")).unwrap_or_default();
            format!("{what}: {}{last}", output.status)
        });
        Ran { log, failed }
    }
}

/// A line as a log may have it.
fn shortened(line: &str) -> String {
    let short: String = line.trim().chars().take(CHARACTERS).collect();
    one_line(&short).to_string()
}
