//! Of what is asked seldom: fence devices, packets of full size, who else answers for addresses, clocks.

use super::{All, flag};
use crate::shown::Shown;

pub(super) fn probed(all: &mut All<'_>, shown: &Shown) {
    let heads = || {
        shown
            .heads
            .iter()
            .map(|(head, known)| (head, &known.probed))
    };
    let devices = || {
        heads().flat_map(|(head, probed)| {
            probed.fence_devices.iter().map(move |(device, problem)| {
                let labels = shown.labels(head, &[("device", device.as_str())]);
                (labels, problem, probed.at)
            })
        })
    };
    let up = devices().map(|(labels, problem, _)| (labels, flag(problem.is_none())));
    let help = "Whether a fence device answered that it would fence, when this head asked it";
    all.gauge("fence_device_up", help, up);
    let asked = devices().filter_map(|(labels, _, at)| Some((labels, at? as f64)));
    let help = "When this head asked a fence device last";
    all.gauge("fence_device_asked_timestamp_seconds", help, asked);
    let echoes = heads().flat_map(|(head, probed)| {
        probed.echoes.iter().filter_map(move |echo| {
            let pairs = [("link", echo.link.as_str()), ("peer", echo.to.as_str())];
            Some((
                shown.labels(head, &pairs),
                flag(echo.found.full_size_passes()?),
            ))
        })
    });
    let help = "Whether a packet of full size came back from a peer";
    all.gauge("link_full_size_passes", help, echoes);
    let addresses = heads().flat_map(|(head, probed)| {
        probed.addresses.iter().map(move |(asked, claimed)| {
            let address = asked.address.to_string();
            let pairs = [("address", address.as_str()), ("link", asked.link.as_str())];
            (shown.labels(head, &pairs), flag(*claimed))
        })
    });
    let help = "Whether another host answered for an address of this head";
    all.gauge("address_duplicate", help, addresses);
    if !shown.whole {
        return;
    }
    for (bound, help) in [
        (
            "least",
            "By how much a head's clock is ahead of this machine's, at least",
        ),
        (
            "most",
            "By how much a head's clock is ahead of this machine's, at most",
        ),
    ] {
        let ahead = heads().filter_map(|(head, probed)| {
            let ahead = probed.ahead?;
            let us = match bound {
                "least" => ahead.least_us,
                _ => ahead.most_us,
            };
            Some((shown.labels(head, &[]), us as f64 / 1e6))
        });
        all.gauge(&format!("clock_ahead_{bound}_seconds"), help, ahead);
    }
}
