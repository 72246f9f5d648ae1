//! Layer 2 by itself: which frames an interface hears.

use hawser_host::{Answers, Ask, Declined, Stop};
use hawser_model::names::{InterfaceName, LinkName};
use hawser_model::probe::FramesCounted;
use hawser_model::units::Packets;
use hawser_wire::frames::{FrameListener, send_in_turn};
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Starts to listen for the frames of [`SendFrames`] on an interface, and for any from a MAC address.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListenFrames {
    /// The interface.
    pub interface: InterfaceName,
    /// The MAC address, in colon form.
    pub mac: String,
}

impl Ask for ListenFrames {
    type Answer = ();
    const NAME: &'static str = "listen for frames";
}

impl Answers<Node> for ListenFrames {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        let key = node.session()?.run_key;
        node.frames = Some(FrameListener::open(&self.interface, &self.mac, key)?);
        Ok(())
    }
}

/// Sends frames to everybody and frames to a MAC address in turn. Answers how many of each.
#[derive(Debug, Serialize, Deserialize)]
pub struct SendFrames {
    /// Out of this interface.
    pub interface: InterfaceName,
    /// Which carries this link.
    pub link: LinkName,
    /// The MAC address, in colon form.
    pub mac: String,
}

impl Ask for SendFrames {
    type Answer = Packets;
    const NAME: &'static str = "send frames";
}

impl Answers<Node> for SendFrames {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Packets, Declined> {
        let session = node.session()?;
        let key = session.run_key;
        let sent = send_in_turn(&self.interface, &session.host, &self.link, &self.mac, key)?;
        Ok(sent)
    }
}

/// Ends listening: the frames heard.
#[derive(Debug, Serialize, Deserialize)]
pub struct HearFrames;

impl Ask for HearFrames {
    type Answer = FramesCounted;
    const NAME: &'static str = "frames heard";
}

impl Answers<Node> for HearFrames {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<FramesCounted, Declined> {
        let listener = node.frames.take().ok_or("no listener for frames is open")?;
        Ok(listener.heard())
    }
}
