//! Knobs of this node, and the guard that stands beside the agent while it tries them.

use std::path::PathBuf;

use hawser_host::Declined;
use hawser_kernel::{Journal, KernelError, Knobs, Owner};
use hawser_model::knob::{Change, Knob};
use hawser_tool::{Companion, Launch};

/// The word after `hawser agent` that makes it a guard.
const GUARD: &str = "--guard";
/// What a guard says when it stands.
const READY: &str = "ready";

/// Where an agent is, when that is not simply a host.
#[derive(Clone, Debug, Default)]
pub struct AgentContext {
    /// A handle of the machine's first network namespace, for a node that is not in it.
    pub machine_net: Option<PathBuf>,
    /// The folder of the journal, where files are shared with others (a lab's switches): then
    /// nothing is persisted either.
    pub journal: Option<PathBuf>,
}

/// The changes of this node.
#[derive(Default)]
pub(crate) struct Changes {
    context: AgentContext,
    open: Option<Open>,
}

struct Open {
    journal: Journal,
    owner: Owner,
    /// Started with the first trial.
    guard: Option<Companion>,
}

impl Changes {
    /// What a killed agent has left is undone at once; what cannot be, a trial of the same knob tries again and says why.
    pub(crate) fn new(context: AgentContext) -> Self {
        let mut changes = Self {
            context,
            open: None,
        };
        let _said_later = changes.open();
        changes
    }

    /// Turns a knob as a trial.
    pub(crate) fn begin(&mut self, knob: &Knob, value: &str) -> Result<Change, Declined> {
        let context = self.context.clone();
        let open = self.open()?;
        open.guard(&context)?;
        Ok(open.journal.begin(knob, value, &open.owner)?)
    }

    /// The journal.
    pub(crate) fn journal(&mut self) -> Result<&mut Journal, Declined> {
        Ok(&mut self.open()?.journal)
    }

    /// The journal; the first time, what a killed agent has left is undone before anything else. Where
    /// that fails, changes can still be listed, kept and undone.
    fn open(&mut self) -> Result<&mut Open, Declined> {
        if self.open.is_none() {
            let open = Open {
                journal: journal(&self.context),
                owner: Owner::own()?,
                guard: None,
            };
            let _said_by_begin = open.journal.recover();
            self.open = Some(open);
        }
        Ok(self.open.as_mut().expect("just opened"))
    }
}

impl Open {
    /// A guard stands, or no knob is turned.
    fn guard(&mut self, context: &AgentContext) -> Result<(), Declined> {
        // One that was killed by somebody is replaced.
        if self.guard.as_mut().is_some_and(Companion::stands) {
            return Ok(());
        }
        let mut launch = Launch::new(std::env::current_exe()?).args(["agent", GUARD]);
        if let Some(net) = &context.machine_net {
            launch = launch.arg("--machine-net").arg(net);
        }
        if let Some(folder) = &context.journal {
            launch = launch.arg("--journal").arg(folder);
        }
        let owner = serde_json::to_string(&self.owner).expect("an owner is always JSON");
        let guard = launch.args(["--owner", &owner]).companion(READY);
        self.guard = Some(guard.map_err(|e| format!("start the guard: {}", e.reason()))?);
        Ok(())
    }
}

fn journal(context: &AgentContext) -> Journal {
    let knobs = Knobs {
        machine_net: context.machine_net.clone(),
        ..Knobs::default()
    };
    match &context.journal {
        None => Journal::new(Journal::FOLDER, "/", knobs),
        // Below the journal itself there is no configuration to find or to write.
        Some(folder) => Journal::new(folder, folder, knobs),
    }
}

/// Runs as the guard of the agent `owner` (its JSON), until that is gone.
pub(crate) fn guard(context: &AgentContext, owner: &str) -> Result<(), KernelError> {
    let owner: Owner =
        serde_json::from_str(owner).map_err(|e| KernelError::Absent(format!("--owner: {e}")))?;
    let journal = journal(context);
    hawser_kernel::guard(&journal, &owner, std::io::stdin(), || println!("{READY}"))
}
