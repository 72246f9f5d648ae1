//! How each program is started, as fast as it can send.

use hawser_model::traffic::Batching;

/// A program and what it needs.
pub struct Program {
    pub name: &'static str,
    /// Whether the receiving device polls (`gro on`), as every real NIC does; otherwise veth
    /// hands each packet to the softnet backlog. Each program has what is better for it.
    pub napi: bool,
    pub kind: Kind,
}

/// What to start.
pub enum Kind {
    /// This crate's own ends.
    Hawser(Batching),
    /// Shell commands for the receiving and the sending host; `SIZE` and `SECONDS` are
    /// replaced.
    Commands {
        receive: &'static str,
        send: &'static str,
    },
}

/// All that are compared.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "hawser",
        napi: true,
        kind: Kind::Hawser(Batching::Segment),
    },
    Program {
        name: "hawser-mmsg",
        napi: true,
        kind: Kind::Hawser(Batching::Mmsg),
    },
    Program {
        name: "iperf3",
        napi: false,
        kind: Kind::Commands {
            receive: "iperf3 -s -1",
            send: "iperf3 -c 10.9.0.2 -u -b 0 -l SIZE -t SECONDS",
        },
    },
    Program {
        name: "iperf3-napi",
        napi: true,
        kind: Kind::Commands {
            receive: "iperf3 -s -1",
            send: "iperf3 -c 10.9.0.2 -u -b 0 -l SIZE -t SECONDS",
        },
    },
    Program {
        name: "iperf2",
        napi: false,
        kind: Kind::Commands {
            receive: "iperf -s -u -l SIZE",
            send: "iperf -c 10.9.0.2 -u -b 100g -l SIZE -t SECONDS",
        },
    },
    Program {
        name: "nuttcp",
        napi: false,
        kind: Kind::Commands {
            receive: "nuttcp -1 --nofork",
            send: "nuttcp -u -Ru -l SIZE -T SECONDS 10.9.0.2",
        },
    },
    Program {
        name: "sockperf",
        napi: false,
        kind: Kind::Commands {
            receive: "sockperf server -i 10.9.0.2",
            send: "sockperf throughput -i 10.9.0.2 -m SIZE -t SECONDS",
        },
    },
];
