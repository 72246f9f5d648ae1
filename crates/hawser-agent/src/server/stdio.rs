//! An agent on its own stdin and stdout.

use hawser_kernel::KernelError;
use nix::unistd::dup2_stdout;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use crate::node::{Node, Place, guard};
use crate::server::{Patience, ServeError, serve, stale};

/// Why an agent could not serve on its stdio, or ended.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// A file descriptor could not be copied.
    #[error("{call}: {source}")]
    Descriptor {
        /// The call.
        call: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// It ended.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A guard could not undo what its agent had left; the next agent will.
    #[error(transparent)]
    Guard(#[from] KernelError),
}

/// Stands guard over the agent `owner` (as it named itself) until it is gone, then undoes the
/// trials it had not been told to keep.
///
/// # Errors
/// A change could not be undone; it stays in the journal.
pub fn guard_stdio(place: &Place, owner: &str) -> Result<(), StdioError> {
    Ok(guard(place, owner)?)
}

/// Serves the coordinator on stdin and stdout until it is gone.
///
/// From then on the process's own stdout is its stderr, so that nothing that prints can get
/// between two frames. The process is expected to end when this returns.
///
/// # Errors
/// Why it ended, unless the coordinator closed the pipe or said goodbye.
pub fn serve_stdio(place: Place) -> Result<(), StdioError> {
    let failed = |call| move |source| StdioError::Descriptor { call, source };
    let output = io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .map_err(failed("dup stdout"))?;
    dup2_stdout(io::stderr()).map_err(|e| failed("dup2 stderr, stdout")(e.into()))?;
    let clean = stale::remove_beside_own;
    let node = move || {
        // After the greeting, so that the coordinator does not wait for it.
        clean();
        Node::new(place)
    };
    serve(io::stdin(), File::from(output), node, Patience::default())?;
    Ok(())
}
