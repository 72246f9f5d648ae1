//! Making the faults of a port so: what must be taken away and what must be built, as commands.

use hawser_model::units::BitsPerSec;

use super::fault::{Direction, Fault};

/// What of the faults' making there is on a port now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Existing {
    pub clsact: bool,
    pub tbf: bool,
    /// The interface that shapes what comes from the node.
    pub shaper: bool,
    /// The veth pair of the holding line, by [`Direction::BOTH`].
    pub line: [bool; 2],
}

/// The names of a port and its helpers, in the switches' namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// The port.
    pub port: String,
    /// The port's numbers, `1_0`: unique in the lab.
    pub key: String,
    pub mtu: u32,
}

impl Names {
    pub fn shaper(&self) -> String {
        format!("rate-{}", self.key)
    }

    /// The end of the holding line where packets go in and come back.
    pub fn line(&self, direction: Direction) -> String {
        let letter = match direction {
            Direction::ToNode => 't',
            Direction::FromNode => 'f',
        };
        format!("hold-{}{letter}", self.key)
    }

    /// The end that the holding process reads.
    pub fn line_end(&self, direction: Direction) -> String {
        format!("{}x", self.line(direction))
    }
}

/// What is to be run, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PortPlan {
    /// `tc` commands that take away what was there.
    pub take_tc: Vec<String>,
    /// `ip` commands that remove and make interfaces.
    pub ip: Vec<String>,
    /// `tc` commands that build.
    pub make_tc: Vec<String>,
}

/// The commands that take all faults from a port.
pub(super) fn dismantle(names: &Names, there: Existing) -> PortPlan {
    let mut plan = PortPlan::default();
    let port = &names.port;
    if there.clsact {
        plan.take_tc.push(format!("qdisc del dev {port} clsact"));
    }
    if there.tbf {
        plan.take_tc.push(format!("qdisc del dev {port} root"));
    }
    if there.shaper {
        plan.ip.push(format!("link del {}", names.shaper()));
    }
    for (direction, there) in Direction::BOTH.into_iter().zip(there.line) {
        if there {
            plan.ip.push(format!("link del {}", names.line(direction)));
        }
    }
    plan
}

/// The commands that make `faults` so, whatever is there. `pin` names the pinned program of a
/// direction and the one that releases what was held.
pub(super) fn build(
    names: &Names,
    there: Existing,
    faults: [Fault; 2],
    pin: impl Fn(Direction) -> (String, String),
) -> PortPlan {
    let mut plan = dismantle(names, there);
    let port = &names.port;
    let [to_node, from_node] = faults;
    let any_filter = to_node.needs_program() || from_node.needs_program();
    if any_filter || from_node.rate.is_some() {
        plan.make_tc.push(format!("qdisc add dev {port} clsact"));
    }
    for (direction, fault) in Direction::BOTH.into_iter().zip(faults) {
        if !fault.needs_program() {
            continue;
        }
        let hook = match direction {
            Direction::ToNode => "egress",
            Direction::FromNode => "ingress",
        };
        let (main, release) = pin(direction);
        plan.make_tc.push(filter(port, hook, &main));
        if fault.reorder.is_some() {
            let (line, end) = (names.line(direction), names.line_end(direction));
            let mtu = names.mtu;
            plan.ip.push(format!(
                "link add {line} mtu {mtu} type veth peer name {end} mtu {mtu}"
            ));
            plan.ip.push(format!("link set {line} up"));
            plan.ip.push(format!("link set {end} up"));
            plan.make_tc.push(format!("qdisc add dev {line} clsact"));
            plan.make_tc.push(filter(&line, "ingress", &release));
        }
    }
    if let Some(rate) = to_node.rate {
        plan.make_tc.push(bucket(port, rate, &to_node, names.mtu));
    }
    if let Some(rate) = from_node.rate {
        let shaper = names.shaper();
        plan.ip
            .push(format!("link add {shaper} mtu {} type ifb", names.mtu));
        plan.ip.push(format!("link set {shaper} up"));
        plan.make_tc
            .push(bucket(&shaper, rate, &from_node, names.mtu));
        // Behind the program: what that drops does not come here.
        plan.make_tc.push(format!(
            "filter add dev {port} ingress prio 2 protocol all u32 match u32 0 0 \
             action mirred egress redirect dev {shaper}"
        ));
    }
    plan
}

fn filter(device: &str, hook: &str, pin: &str) -> String {
    format!(
        "filter add dev {device} {hook} prio 1 protocol all bpf direct-action object-pinned {pin}"
    )
}

/// A token bucket: at least two full frames deep, otherwise a millisecond of the rate, so that
/// the rate is kept at any speed and bursts are still cut.
fn bucket(device: &str, rate: BitsPerSec, fault: &Fault, mtu: u32) -> String {
    let depth = (rate.get() / 8 / 1000).max(2 * (u64::from(mtu) + 14));
    let queue = fault
        .queue
        .unwrap_or(Fault::QUEUE)
        .get()
        .max(u64::from(mtu) + 14);
    format!(
        "qdisc add dev {device} root tbf rate {}bit burst {depth} limit {queue}",
        rate.get()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names {
            port: "head1.ring0".to_owned(),
            key: "1_0".to_owned(),
            mtu: 1500,
        }
    }

    fn pin(direction: Direction) -> (String, String) {
        (
            format!("/p/{}", direction.word()),
            format!("/r/{}", direction.word()),
        )
    }

    #[test]
    fn a_loss_towards_the_node_is_one_filter_where_the_switch_sends() {
        let loss = Fault {
            loss: Some("1%".parse().unwrap()),
            ..Fault::default()
        };
        let plan = build(&names(), Existing::default(), [loss, Fault::default()], pin);
        assert_eq!(
            plan.make_tc,
            [
                "qdisc add dev head1.ring0 clsact",
                "filter add dev head1.ring0 egress prio 1 protocol all bpf direct-action \
                 object-pinned /p/to-node"
            ]
        );
        assert!(plan.ip.is_empty() && plan.take_tc.is_empty());
    }

    #[test]
    fn a_rate_from_the_node_is_shaped_on_an_interface_of_its_own() {
        let slow = Fault {
            rate: Some(BitsPerSec(8_000_000)),
            ..Fault::default()
        };
        let plan = build(&names(), Existing::default(), [Fault::default(), slow], pin);
        assert_eq!(
            plan.ip,
            [
                "link add rate-1_0 mtu 1500 type ifb",
                "link set rate-1_0 up"
            ]
        );
        assert_eq!(
            plan.make_tc[1],
            "qdisc add dev rate-1_0 root tbf rate 8000000bit burst 3028 limit 131072"
        );
        assert!(plan.make_tc[2].ends_with("mirred egress redirect dev rate-1_0"));
    }

    #[test]
    fn everything_that_is_there_is_taken_away_and_nothing_else() {
        let all = Existing {
            clsact: true,
            tbf: true,
            shaper: true,
            line: [true, false],
        };
        let plan = dismantle(&names(), all);
        assert_eq!(plan.take_tc.len() + plan.ip.len(), 4);
        assert_eq!(plan.ip[1], "link del hold-1_0t");
        assert_eq!(
            dismantle(&names(), Existing::default()),
            PortPlan::default()
        );
    }
}
