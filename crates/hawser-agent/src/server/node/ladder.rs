//! Rungs: what is measured, and what the host's processors did meanwhile.

use hawser_kernel::{Observer, Processors};
use hawser_rungs::RungSpec;

use super::{Answer, words};
use crate::protocol::Response;

/// What is open of a ladder on this node.
#[derive(Default)]
pub(super) struct Ladder {
    since: Option<Processors>,
}

impl Ladder {
    pub(super) fn open_usage(&mut self, observer: &mut Observer) -> Answer {
        observer.open(&[]).map_err(words)?;
        self.since = Some(Processors::read().map_err(words)?);
        Ok(Response::Done)
    }

    pub(super) fn close_usage(&mut self, observer: &mut Observer) -> Answer {
        let since = self.since.take().ok_or("usage is not watched")?;
        let mut usage = Processors::read().map_err(words)?.since(&since);
        usage.counters = observer.close().map_err(words)?.counters;
        Ok(Response::Usage(Box::new(usage)))
    }
}

pub(super) fn measure(spec: &RungSpec) -> Response {
    Response::Rung(Box::new(hawser_rungs::measure(spec)))
}
