//! A gentle sender beside a real two-node Corosync: it leaves a healthy cluster in peace, and
//! stops by itself when the cluster is in trouble.

mod agent_support;

use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use agent_support::measured::not_measured;
use agent_support::{A, B, Node, Nodes, ask, eventually, flow, run, write};
use hawser_agent::questions::{
    Care, DropFlow, OpenReceiver, OpenSender, ReadCorosync, StopReason, WatchCluster,
};
use hawser_model::units::Nanos;

/// Two nodes that form a cluster over their only link.
struct Cluster {
    nodes: Nodes,
    engines: Vec<Child>,
}

impl Cluster {
    fn start() -> Self {
        let mut cluster = Self {
            nodes: Nodes::start(),
            engines: Vec::new(),
        };
        let file = write(
            cluster.nodes.scratch.path(),
            "corosync.conf",
            &format!(
                "totem {{\n version: 2\n cluster_name: hawser-test\n transport: knet\n \
                 crypto_cipher: none\n crypto_hash: none\n token: 1000\n}}\n\
                 nodelist {{\n node {{\n  name: a\n  nodeid: 1\n  ring0_addr: {A}\n }}\n \
                 node {{\n  name: b\n  nodeid: 2\n  ring0_addr: {B}\n }}\n}}\n\
                 quorum {{\n provider: corosync_votequorum\n two_node: 1\n}}\n\
                 logging {{\n to_stderr: yes\n to_syslog: no\n}}\n"
            ),
        );
        for node in [&cluster.nodes.a, &cluster.nodes.b] {
            node.sh("mkdir -p /var/lib/corosync");
            let engine = node
                .command("corosync")
                .args(["-f", "-c"])
                .arg(&file)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            cluster.engines.push(engine);
        }
        for node in [&cluster.nodes.a, &cluster.nodes.b] {
            eventually("membership", Duration::from_secs(30), || members(node) == 2);
        }
        // Merging and the first synchronisation are over when nothing is gathered any more.
        thread::sleep(Duration::from_secs(1));
        cluster
    }
}

fn members(node: &Node) -> usize {
    node.sh("corosync-cmapctl 2>/dev/null | grep -c 'members.*joined$' || true")
        .parse()
        .unwrap()
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for engine in &mut self.engines {
            let _ = engine.kill();
            let _ = engine.wait();
        }
    }
}

/// Whether a flow ended because Corosync had no processor for most of a token, by its own count: such a machine cannot show what
/// is tested.
fn starved(stopped: Option<&StopReason>) -> bool {
    let Some(StopReason::Cluster(what)) = stopped else {
        return false;
    };
    let starved = what.starts_with("stats.schedmiss.");
    if starved {
        not_measured(&format!("Corosync had no processor ({what})"));
    }
    starved
}

#[test]
fn a_gentle_flow_runs_to_its_end_beside_a_healthy_cluster_and_stops_when_the_link_fails() {
    let cluster = Cluster::start();
    let (mut a, mut b) = (cluster.nodes.a.agent("a"), cluster.nodes.b.agent("b"));
    let engine = ask(&mut a, &ReadCorosync).unwrap().expect("corosync runs");
    assert_eq!(engine.token, Some(Nanos::from_millis(1000)));

    let spec = flow(1, Duration::from_secs(3));
    let port = ask(&mut b, &OpenReceiver(spec.clone())).unwrap();
    ask(&mut a, &OpenSender(spec.clone())).unwrap();
    let sent = ask(&mut a, &run(&spec, port, Care::Gentle)).unwrap();
    if starved(sent.stopped.as_ref()) {
        return;
    }
    assert_eq!(sent.stopped, None);
    ask(&mut b, &DropFlow(spec.flow)).unwrap();

    let spec = flow(2, Duration::from_secs(30));
    let port = ask(&mut b, &OpenReceiver(spec.clone())).unwrap();
    ask(&mut a, &OpenSender(spec.clone())).unwrap();
    let watch = WatchCluster {
        at_most: Nanos::from_millis(30_000),
    };
    let (sent, trouble, after) = thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let sent = ask(&mut a, &run(&spec, port, Care::Gentle)).unwrap();
            (sent, Instant::now())
        });
        let watching = scope.spawn(|| ask(&mut b, &watch).unwrap());
        thread::sleep(Duration::from_millis(500));
        let cut = Instant::now();
        cluster.nodes.b.sh("ip link set ring0 down");
        let (sent, stopped) = sending.join().unwrap();
        (sent, watching.join().unwrap(), stopped - cut)
    });
    println!(
        "sender stopped {after:?} after the cut: {:?}; receiver's host: {trouble:?}",
        sent.stopped
    );
    if starved(sent.stopped.as_ref()) {
        return;
    }
    let Some(StopReason::Cluster(what)) = sent.stopped else {
        panic!("{:?}", sent.stopped);
    };
    assert!(
        what.starts_with("stats.knet.") || what.starts_with("stats.srp."),
        "{what}"
    );
    assert!(trouble.expect("b sees it too").starts_with("stats."));
    assert!(after < Duration::from_secs(3), "{after:?}");
}

#[test]
fn in_a_maintenance_window_a_flow_does_not_mind_the_cluster() {
    let cluster = Cluster::start();
    let mut a = cluster.nodes.a.agent("a");
    let spec = flow(1, Duration::from_secs(4));
    ask(&mut a, &OpenSender(spec.clone())).unwrap();
    cluster.nodes.b.sh("ip link set ring0 down");
    let sent = ask(&mut a, &run(&spec, 9, Care::None)).unwrap();
    assert_eq!(sent.stopped, None);
    assert!(sent.report.elapsed >= Nanos::from_millis(3_900));
}

#[test]
fn a_corosync_that_does_not_say_how_it_fares_is_not_sent_beside() {
    let cluster = Cluster::start();
    let mut a = cluster.nodes.a.agent("a");
    let spec = flow(1, Duration::from_secs(1));
    ask(&mut a, &OpenSender(spec.clone())).unwrap();
    cluster
        .nodes
        .a
        .sh("kill -STOP $(cat /proc/[0-9]*/stat | sed -n 's/ (corosync) .*//p')");
    let error = ask(&mut a, &run(&spec, 9, Care::Gentle)).unwrap_err();
    assert!(error.host_goes_on(), "{error}");
    assert!(
        error.to_string().contains("does not tell how it fares"),
        "{error}"
    );
}
