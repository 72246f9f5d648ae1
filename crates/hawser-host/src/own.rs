//! The host that this process runs on, asked as any other and answered in the process itself.

use hawser_model::names::HostName;

use crate::error::{Failure, HostError};
use crate::frame::body;
use crate::host::{Host, Question, Stopper};
use crate::server::Work;
use crate::stop::Stop;

/// This host, for a process that stays on it.
pub struct Own<W> {
    name: HostName,
    work: W,
}

impl<W: Work + Send> Own<W> {
    /// This host by its name in the cluster, and who answers.
    pub fn new(name: HostName, work: W) -> Self {
        Self { name, work }
    }
}

impl<W: Work + Send> Host for Own<W> {
    fn name(&self) -> &HostName {
        &self.name
    }

    fn exchange(&mut self, question: &Question) -> Result<Vec<u8>, HostError> {
        let name = question.name;
        match self.work.work(name, &question.body, &Stop::default()) {
            Some(Ok(frame)) => Ok(body(frame)),
            Some(Err(source)) => Err(Failure::unreadable(name, source).on(&self.name)),
            None => Err(Failure::Gone {
                question: name,
                earlier: None,
            }
            .on(&self.name)),
        }
    }

    fn is_lost(&mut self) -> bool {
        false
    }

    fn let_go(&mut self) {}

    fn stopper(&self) -> Stopper {
        // Whoever waits for the answer is who works on it.
        Stopper::new(|| {})
    }
}
