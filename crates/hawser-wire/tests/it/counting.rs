//! A receiver that reads nothing counts exactly its own flow.

use std::time::Duration;

use crate::common::{KEY, flow, flow_v6, pair, send};
use hawser_model::traffic::{FlowId, FlowSpec, Membership, Rate, RunKey};
use hawser_model::units::{Nanos, PacketsPerSec};
use hawser_wire::{CountingReceiver, Sender};

#[test]
fn what_comes_of_the_flow_is_counted_and_nothing_else() {
    let (a, b) = pair();
    let group = FlowSpec {
        destination: "239.192.72.87".parse().unwrap(),
        membership: Some(Membership {
            source: None,
            ttl: 1,
        }),
        ..flow()
    };
    for spec in [flow(), flow_v6(), group] {
        let asked = spec.clone();
        let counting = b
            .run(move || CountingReceiver::open(&asked, KEY, 0))
            .unwrap();
        let port = counting.port();

        let few = FlowSpec {
            duration: Nanos::from_millis(20),
            ..spec.clone()
        };
        let other = FlowSpec {
            flow: FlowId(8),
            ..few.clone()
        };
        assert!(send(&a, &other, port).sent.0 > 0, "of another flow");
        let sent = a.run(move || {
            let sender = Sender::open(&few, RunKey(KEY.0 + 1))?;
            sender.run(port)
        });
        assert!(sent.unwrap().sent.0 > 0, "of another run");
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(counting.counted().unwrap().0, 0, "{spec:?}");

        let sent = send(&a, &spec, port).sent;
        std::thread::sleep(Duration::from_millis(100));
        assert!(sent.0 > 0);
        assert_eq!(counting.counted().unwrap(), sent, "{spec:?}");

        // Nobody reads what is not the flow's: before the kernel drops any of it, no count is given.
        let many = FlowSpec {
            rate: Rate::PerSecond(PacketsPerSec(10_000)),
            ..other
        };
        for _ in 0..20 {
            send(&a, &many, port);
        }
        let refused = counting.counted().unwrap_err().to_string();
        assert!(refused.contains("other flows"), "{refused}");
    }
}
