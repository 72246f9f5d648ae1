//! What a cluster did in a drill of a lab that was recorded: the simulated heads, their site and their client answer by it.
//!
//! What is recorded after the fault happens at its recorded time, if the fault is made. What is not recorded, since nobody
//! asked for it, is what a healthy cluster would say.

use std::ops::RangeInclusive;

use hawser_cluster::xml::Element;
use hawser_model::date::utc_millis;
use hawser_model::drill::{DrillCase, FaultRecord, Hold, Moment, PowerEvent, PowerState, Stall};
use hawser_model::names::HostName;

/// A drill of `cases/drill`.
pub struct Recorded(pub DrillCase);

impl Recorded {
    /// The recorded drill of that name.
    pub fn named(name: &str) -> Self {
        Self(hawser_cases::read(&format!("drill/{name}")))
    }

    /// When its first fault was ordered.
    pub fn ordered(&self) -> Moment {
        self.0.faults[0].ordered
    }

    /// The fault that took the power away, or the other one.
    pub fn fault(&self, power: bool) -> Option<&FaultRecord> {
        let mut faults = self.0.faults.iter();
        faults.find(|fault| (fault.name == "power-cut") == power)
    }

    /// The pools that a head has at that time.
    pub fn pools_of(&self, head: &HostName, now: Moment, broken: bool) -> Vec<String> {
        let holds = self.0.watch.holds.iter();
        let holds = holds.filter(|hold| hold.host == *head && self.holds(hold, now, broken));
        holds.map(|hold| hold.pool.clone()).collect()
    }

    fn holds(&self, hold: &Hold, now: Moment, broken: bool) -> bool {
        let from_the_start = hold.first < self.ordered();
        if !broken {
            return from_the_start;
        }
        // One that was seen to the end goes on.
        let to_the_end = self.0.client.ended.since(hold.last) < 1.0;
        (from_the_start || hold.first <= now) && (to_the_end || now <= hold.last)
    }

    /// What others than the drill did to the power of these hosts.
    pub fn power(&self) -> impl Iterator<Item = &PowerEvent> {
        let own = self.fault(true).map(|fault| fault.made);
        let events = self.0.power.iter();
        events.filter(move |event| Some(event.at) != own)
    }

    /// Whether a head was shot since then.
    pub fn shot(&self, head: &HostName, since: Moment, now: Moment) -> bool {
        let mut events = self.power().filter(|event| event.host == *head);
        events.any(|it| it.what == PowerState::Off && it.at > since && it.at <= now)
    }

    /// A writer's stall at that time.
    pub fn stall(&self, writer: u8, at: Moment) -> Option<&Stall> {
        let mut stalls = self.0.client.stalls.iter();
        stalls.find(|stall| {
            let during = stall.from < at && (at < stall.to || !stall.over);
            stall.writer == writer && during
        })
    }

    /// The CIB, as far as a drill records it.
    pub fn cib(&self) -> String {
        let cluster = &self.0.cluster;
        let set = |kind: &str, pairs: &std::collections::BTreeMap<String, String>| {
            let pairs = pairs.iter().map(|(name, value)| {
                let pair = Element::new("nvpair").with("id", name);
                pair.with("name", name).with("value", value)
            });
            Element::new(kind).with("id", kind).children(pairs)
        };
        let resources = cluster.pools.iter().flat_map(|pool| &pool.resources);
        let resources = resources.map(|resource| {
            let mut parts = resource.agent.split(':');
            let mut primitive = Element::new("primitive").with("id", &resource.name);
            for part in ["class", "provider", "type"] {
                primitive.set(part, parts.next().unwrap());
            }
            primitive.child(set("instance_attributes", &resource.parameters))
        });
        let devices = cluster.fence_devices.iter().map(|device| {
            let primitive = Element::new("primitive").with("id", &device.name);
            let primitive = primitive
                .with("class", "stonith")
                .with("type", &device.agent);
            primitive.child(set("instance_attributes", &device.parameters))
        });
        let options = set("cluster_property_set", &cluster.properties);
        let configuration = Element::new("configuration")
            .child(Element::new("crm_config").child(options))
            .child(Element::new("resources").children(resources.chain(devices)));
        Element::new("cib").child(configuration).to_text()
    }

    /// Corosync's map, as far as a drill records it.
    pub fn cmap(&self) -> String {
        let totem = self.0.cluster.totem;
        format!(
            "runtime.config.totem.token (u32) = {}\nruntime.config.totem.consensus (u32) = {}\n",
            totem.token_ms, totem.consensus_ms
        )
    }

    /// The fencers' history of that time, with a shot that is under way.
    pub fn fencing(&self, when: RangeInclusive<Moment>, under_way: Option<&HostName>) -> String {
        let events = self
            .0
            .fencing
            .iter()
            .filter(|event| when.contains(&event.completed));
        let events = events.map(|event| {
            let time = utc_millis(event.completed.0);
            let completed = format!("{} {}Z", &time[..10], &time[11..19]);
            let status = if event.succeeded { "success" } else { "failed" };
            let element = Element::new("fence_event")
                .with("target", event.target.as_str())
                .with("action", &event.action)
                .with("status", status)
                .with("completed", completed);
            match &event.delegate {
                Some(delegate) => element.with("delegate", delegate.as_str()),
                None => element,
            }
        });
        let pending = under_way.map(|target| {
            let element = Element::new("fence_event").with("target", target.as_str());
            element.with("action", "off").with("status", "pending")
        });
        Element::new("pacemaker-result")
            .children(pending.into_iter().chain(events))
            .to_text()
    }

    /// The two logs of a head.
    pub fn logs(&self, head: &HostName) -> [String; 2] {
        let logs = self.0.logs.get(head);
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect();
        logs.map(|logs| [text(&logs.corosync), text(&logs.pacemaker)])
            .unwrap_or_default()
    }
}
