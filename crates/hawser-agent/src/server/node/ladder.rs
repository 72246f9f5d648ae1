//! Rungs and whole paths: what is measured, and what the host's processors did meanwhile.

use hawser_kernel::{Observer, Processors};
use hawser_model::traffic::RunKey;
use hawser_rungs::RungSpec;
use hawser_rungs::whole::{self, WholeReceiver, WholeSpec};

use super::{Answer, words};
use crate::protocol::Response;

/// What is open of a ladder on this node.
#[derive(Default)]
pub(super) struct Ladder {
    since: Option<Processors>,
    receiver: Option<WholeReceiver>,
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

    pub(super) fn open_whole(&mut self, spec: &WholeSpec, key: RunKey) -> Answer {
        // One at a time: the one before goes first, also when this one cannot be opened.
        self.receiver = None;
        let receiver = WholeReceiver::open(spec, key).map_err(words)?;
        let port = receiver.port();
        self.receiver = Some(receiver);
        Ok(Response::Port(port))
    }

    pub(super) fn finish_whole(&mut self) -> Answer {
        let receiver = self.receiver.take().ok_or("no whole path is open")?;
        receiver
            .finish()
            .map(Response::WholeReceived)
            .map_err(words)
    }

    pub(super) fn drop_whole(&mut self) -> Response {
        self.receiver = None;
        Response::Done
    }
}

pub(super) fn run_whole(spec: &WholeSpec, port: u16, key: RunKey) -> Answer {
    whole::send(spec, key, port)
        .map(Response::WholeSent)
        .map_err(words)
}

pub(super) fn measure(spec: &RungSpec) -> Response {
    Response::Rung(Box::new(hawser_rungs::measure(spec)))
}
