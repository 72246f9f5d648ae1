//! An agent on its own stdin and stdout.

use hawser_cluster::host::Machine;
use hawser_cluster::host::questions;
use hawser_host::frame::FrameError;
use hawser_host::server::{self, ServeError, Work};
use hawser_host::{Host, Own, Stop, answer_from};
use hawser_kernel::KernelError;
use hawser_model::names::HostName;
use serde_json::value::RawValue;

use crate::node::{AgentContext, Node, guard};
use crate::questions::QUESTIONS;
use crate::stale;

impl Work for Node {
    fn work(
        &mut self,
        question: &str,
        body: &RawValue,
        stop: &Stop,
    ) -> Option<Result<Vec<u8>, FrameError>> {
        answer_from(QUESTIONS, question, body, self, stop)
            .or_else(|| answer_from(questions::QUESTIONS, question, body, &mut Machine, stop))
    }
}

/// This host itself, for a process that stays on it and asks it all the time. It can be asked what changes nothing: it
/// has no coordinator whose end would take a change back.
pub fn own(name: HostName) -> Box<dyn Host> {
    Box::new(Own::new(name, Node::default()))
}

/// Stands guard over the agent `owner` (as it named itself) until it is gone, then undoes the
/// trials it had not been told to keep.
///
/// # Errors
/// A change could not be undone; it stays in the journal, and the next agent undoes it.
pub fn guard_stdio(context: &AgentContext, owner: &str) -> Result<(), KernelError> {
    guard(context, owner)
}

/// Serves the coordinator on stdin and stdout until it is gone. The process is expected to end when this returns.
///
/// # Errors
/// Why it ended, unless the coordinator closed the pipe.
pub fn serve_stdio(context: AgentContext) -> Result<(), ServeError> {
    server::serve_stdio(move || {
        // After the greeting, so that the coordinator does not wait for it.
        stale::remove_beside_own();
        Node::new(context)
    })
}
