//! One end of a copy.

use std::time::Duration;

use hawser_copy::{Now, ReceiveSpec, SendSpec};
use hawser_host::{Answers, Ask, Declined, SLOW, Size, Stop};
use hawser_model::copy::CopyEnd;
use serde::{Deserialize, Serialize};

use crate::node::{Copy, Node};

const NO_COPY: &str = "no copy runs";

/// Opens the receiving end of a copy, instead of any copy before. It works by itself from then on. Answers its port.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenCopyReceiver(pub ReceiveSpec);

impl Ask for OpenCopyReceiver {
    type Answer = u16;
    const NAME: &'static str = "open copy receiver";
}

impl Answers<Node> for OpenCopyReceiver {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<u16, Declined> {
        // The one before goes first: it may hold the lock of the same destination.
        node.copy = None;
        let (copy, port) = Copy::receive(self.0)?;
        node.copy = Some(copy);
        Ok(port)
    }
}

/// Starts the sending end of a copy, instead of any copy before.
#[derive(Debug, Serialize, Deserialize)]
pub struct StartCopySender(pub SendSpec);

impl Ask for StartCopySender {
    type Answer = ();
    const NAME: &'static str = "start copy sender";
}

impl Answers<Node> for StartCopySender {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        node.copy = None;
        node.copy = Some(Copy::send(self.0)?);
        Ok(())
    }
}

/// How far the copy is.
#[derive(Debug, Serialize, Deserialize)]
pub struct CopyNow;

impl Ask for CopyNow {
    type Answer = Now;
    const NAME: &'static str = "copy now";
}

impl Answers<Node> for CopyNow {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Now, Declined> {
        Ok(node.copy.as_ref().ok_or(NO_COPY)?.now())
    }
}

/// Ends the copy if it has not ended: what this end did.
#[derive(Debug, Serialize, Deserialize)]
pub struct FinishCopy;

impl Ask for FinishCopy {
    type Answer = CopyEnd;
    const NAME: &'static str = "finish copy";
    const SIZE: Size = Size::Recorded;
    const PATIENCE: Duration = SLOW;
}

impl Answers<Node> for FinishCopy {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<CopyEnd, Declined> {
        Ok(node.copy.take().ok_or(NO_COPY)?.finish())
    }
}
