//! A fence device that takes its time to switch a head off, while somebody watches that head.

use std::fs;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use hawser_cluster::host::questions::{Power, ReadFenceMetadata};
use hawser_drill::heads::RealHeads;
use hawser_host::sim::{Simulated, Wire};
use hawser_host::site::Site;
use hawser_host::{Host, HostError, Reach, Reconnecting};
use hawser_model::cluster_file::parse_complete;
use hawser_model::names::HostName;

use crate::heads::FENCE_AGENT;

/// So long the device tries, if nobody asks for its status meanwhile.
const TRIES: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Device {
    tries: bool,
    was_asked: bool,
    /// Whether it was asked before it had done what it was told.
    in_time: bool,
}

#[derive(Clone, Default)]
struct Heads(Arc<(Mutex<Device>, Condvar)>);

hawser_host::answers! {
    Heads;
    ReadFenceMetadata: |_, _| FENCE_AGENT.to_owned();
    Power: |ask, heads| {
        let (device, changed) = &*heads.0;
        let mut it = device.lock().unwrap();
        match ask.on {
            None => it.was_asked = true,
            Some(_) => {
                it.tries = true;
                changed.notify_all();
                let waits = |it: &mut Device| !it.was_asked;
                it = changed.wait_timeout_while(it, TRIES, waits).unwrap().0;
                it.in_time = it.was_asked;
            }
        }
        changed.notify_all();
        ask.on.unwrap_or(true)
    };
}

impl Reach for Heads {
    fn connect(&self, host: &HostName) -> Result<Box<dyn Host>, HostError> {
        let (name, wire) = (host.clone(), Wire::default());
        let head = Simulated::new(name, self.clone(), QUESTIONS, &wire);
        Ok(Box::new(head))
    }
}

#[test]
fn whoever_watches_does_not_wait_for_an_order_to_switch_power() {
    let path = "../../examples/lab/hawser.toml";
    let text = fs::read_to_string(path).unwrap();
    let file = parse_complete(&text, path).unwrap_or_else(|errors| panic!("{errors}"));
    let heads = Heads::default();
    let hosts = Reconnecting::new(&heads);
    let site = RealHeads::new(&file, &hosts).unwrap();
    site.prepare().unwrap();
    let head1 = HostName::from("head1");
    let (device, changed) = &*heads.0;
    thread::scope(|scope| {
        let order = scope.spawn(|| site.power_off(&head1));
        let tries = changed.wait_while(device.lock().unwrap(), |it| !it.tries);
        drop(tries.unwrap());
        assert_eq!(site.shows_off(&head1).unwrap(), None);
        order.join().unwrap().unwrap();
    });
    assert!(device.lock().unwrap().in_time);
}
