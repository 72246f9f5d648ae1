//! Probes that are not flows: path MTU, layer-2 hellos, multicast control.

use std::net::IpAddr;
use std::time::Duration;

use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::traffic::RunKey;
use hawser_model::units::Mtu;
use hawser_wire::hello::{self, Listener};
use hawser_wire::multicast::{self, MulticastListener};
use hawser_wire::{PathMtuResponder, search_path_mtu};

use super::{Answer, words};
use crate::protocol::Response;

/// The answering ends that are open.
#[derive(Default)]
pub(super) struct Probes {
    responder: Option<PathMtuResponder>,
    listener: Option<Listener>,
    multicast: Option<MulticastListener>,
}

impl Probes {
    pub(super) fn open_responder(&mut self, address: IpAddr, key: RunKey) -> Answer {
        // One at a time: the one before goes first, also when this one cannot be opened.
        self.responder = None;
        let responder = PathMtuResponder::open(address, key).map_err(words)?;
        let port = responder.port();
        self.responder = Some(responder);
        Ok(Response::Port(port))
    }

    pub(super) fn close_responder(&mut self) -> Response {
        self.responder = None;
        Response::Done
    }

    pub(super) fn listen(
        &mut self,
        interfaces: &[(InterfaceName, LinkName)],
        key: RunKey,
    ) -> Answer {
        self.listener = Some(Listener::open(interfaces, key).map_err(words)?);
        Ok(Response::Done)
    }

    pub(super) fn heard(&mut self, by: &HostName) -> Answer {
        let listener = self.listener.take();
        let listener = listener.ok_or("nobody listens for hellos")?;
        Ok(Response::Hellos(listener.heard(by)))
    }

    pub(super) fn listen_multicast(
        &mut self,
        interface: &InterfaceName,
        unjoined: IpAddr,
        key: RunKey,
    ) -> Answer {
        let listener = MulticastListener::open(interface, unjoined, key).map_err(words)?;
        self.multicast = Some(listener);
        Ok(Response::Done)
    }

    pub(super) fn multicast_heard(&mut self, wait: Duration) -> Answer {
        let listener = self.multicast.take();
        let listener = listener.ok_or("nobody listens to multicast control")?;
        Ok(Response::Multicast(listener.heard(wait)))
    }
}

pub(super) fn send_unjoined(source: IpAddr, group: IpAddr, key: RunKey) -> Answer {
    multicast::send_unjoined(source, group, key)
        .map(Response::SentTo)
        .map_err(words)
}

pub(super) fn search(
    source: IpAddr,
    destination: IpAddr,
    port: u16,
    key: RunKey,
    interface_mtu: Mtu,
    deadline: Duration,
) -> Answer {
    search_path_mtu(source, destination, port, key, interface_mtu, deadline)
        .map(Response::PathMtu)
        .map_err(words)
}

pub(super) fn announce(
    interface: &InterfaceName,
    from: &HostName,
    link: &LinkName,
    key: RunKey,
) -> Answer {
    hello::announce(interface, from, link, key).map_err(words)?;
    Ok(Response::Done)
}
