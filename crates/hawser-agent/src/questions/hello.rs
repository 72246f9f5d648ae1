//! Layer-2 hellos: which interface hears which.

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::probe::HelloHeard;
use hawser_wire::hello::{Listener, announce};
use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Starts to listen for hellos on these interfaces, each of which carries a link.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListenHello(pub Vec<(InterfaceName, LinkName)>);

impl Ask for ListenHello {
    type Answer = ();
    const NAME: &'static str = "listen for hellos";
}

impl Answers<Node> for ListenHello {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        let key = node.session()?.run_key;
        node.hellos = Some(Listener::open(&self.0, key)?);
        Ok(())
    }
}

/// Sends a hello.
#[derive(Debug, Serialize, Deserialize)]
pub struct AnnounceHello {
    /// Out of this interface.
    pub interface: InterfaceName,
    /// Which carries this link.
    pub link: LinkName,
}

impl Ask for AnnounceHello {
    type Answer = ();
    const NAME: &'static str = "announce hello";
}

impl Answers<Node> for AnnounceHello {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<(), Declined> {
        let session = node.session()?;
        announce(&self.interface, &session.host, &self.link, session.run_key)?;
        Ok(())
    }
}

/// Ends listening: the hellos heard.
#[derive(Debug, Serialize, Deserialize)]
pub struct HearHellos;

impl Ask for HearHellos {
    type Answer = Vec<HelloHeard>;
    const NAME: &'static str = "hellos heard";
    const SIZE: Size = Size::Recorded;

    fn may_say(heard: &Vec<HelloHeard>, host: &HostName) -> bool {
        heard.iter().all(|hello| hello.by == *host)
    }
}

impl Answers<Node> for HearHellos {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Vec<HelloHeard>, Declined> {
        let listener = node.hellos.take().ok_or("no listener for hellos is open")?;
        Ok(listener.heard(&node.session()?.host))
    }
}
