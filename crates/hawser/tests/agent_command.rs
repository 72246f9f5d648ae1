//! Agents started by a command: a flow between two nodes, an early end, and every way in which
//! an agent or its coordinator can go missing.

mod agent_support;

use std::io::Read;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use agent_support::{B, KEY, Node, Nodes, ask, eventually, flow, hawser, run};
use hawser_agent::questions::{
    Care, CloseWindow, ExpectFrom, FinishReceiver, OpenReceiver, OpenSender, OpenWindow,
    ReadCorosync, ReadFacts, ReadSockets, StopReason, WatchCluster,
};
use hawser_host::frame::{self, Decoder};
use hawser_host::marker::Scanner;
use hawser_host::protocol::{Hello, Message, Ping, Reply, VERSION};
use hawser_host::{Agent, Ask, Failure, Host, HostError, transport};
use hawser_model::traffic::{FlowSpec, WatchedFlow};
use hawser_model::units::{Nanos, Packets};
use hawser_tool::Launch;
use serde_json::value::to_raw_value;

const SETTLE: Nanos = Nanos::from_millis(60);

fn finish(spec: &FlowSpec, sent: Packets) -> FinishReceiver {
    FinishReceiver {
        flow: spec.flow,
        sent,
        settle: SETTLE,
    }
}

/// Peak resident memory of a process of the node, in KiB.
fn peak_memory(node: &Node, pid: u32) -> u64 {
    let line = node.sh(&format!("grep VmHWM /proc/{pid}/status"));
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_flow_between_two_agents_is_sent_received_and_observed_in_little_memory() {
    let nodes = Nodes::start();
    let (mut a, mut b) = (nodes.a.agent("a"), nodes.b.agent("b"));
    let facts = ask(&mut a, &ReadFacts).unwrap();
    assert!(facts.interfaces.contains_key("ring0"), "{facts:?}");
    assert!(!facts.collectors.is_empty());
    ask(&mut b, &ReadFacts).unwrap();

    let spec = flow(7, Duration::from_millis(500));
    let port = ask(&mut b, &OpenReceiver(spec.clone())).unwrap();
    let source_port = ask(&mut a, &OpenSender(spec.clone())).unwrap();
    let expect = ExpectFrom {
        flow: spec.flow,
        port: source_port,
    };
    ask(&mut b, &expect).unwrap();
    let watched = OpenWindow(vec![WatchedFlow {
        flow: spec.flow,
        source: spec.source,
        source_port,
        destination: spec.destination,
        destination_port: port,
        interface: "ring0".into(),
    }]);
    ask(&mut a, &watched).unwrap();
    ask(&mut b, &watched).unwrap();
    let sent = ask(&mut a, &run(&spec, port, Care::Gentle)).unwrap();
    let received = ask(&mut b, &finish(&spec, sent.report.sent)).unwrap();
    let [of_a, of_b] = [&mut a, &mut b].map(|agent| ask(agent, &CloseWindow).unwrap());

    assert_eq!(sent.stopped, None);
    // On a busy machine the last packets of a paced flow miss its end.
    let count = sent.report.sent.get();
    assert!((500..=1000).contains(&count), "{count}");
    assert_eq!(received.received.get(), count);
    assert_eq!(of_a.counters.get("udp/OutDatagrams"), Some(count));
    assert_eq!(of_b.counters.get("udp/InDatagrams"), Some(count));
    assert!(
        ask(&mut b, &ReadSockets)
            .unwrap()
            .iter()
            .all(|s| s.local.port() != port),
        "the receiver was closed"
    );

    for (node, agent) in [(&nodes.a, a), (&nodes.b, b)] {
        let pid = agent.pid();
        let peak = peak_memory(node, pid);
        println!("peak resident memory of agent {}: {peak} KiB", agent.name());
        // The build of the tests is not optimised: it is seven times as large, and what it runs of that is resident.
        let own_build = std::env::var_os("HAWSER_BIN").is_none();
        let most = if own_build { 64 } else { 32 };
        assert!(peak < most << 10, "{peak} KiB");
        drop(agent);
        assert!(!node.runs(pid), "it ends in good order");
    }
}

#[test]
fn another_thread_can_stop_a_running_sender_and_gets_its_report() {
    let nodes = Nodes::start();
    let (mut a, mut b) = (nodes.a.agent("a"), nodes.b.agent("b"));
    let spec = flow(1, Duration::from_secs(30));
    let port = ask(&mut b, &OpenReceiver(spec.clone())).unwrap();
    ask(&mut a, &OpenSender(spec.clone())).unwrap();
    let stopper = a.stopper();
    let started = Instant::now();
    let sent = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            stopper.stop();
        });
        ask(&mut a, &run(&spec, port, Care::None)).unwrap()
    });
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(sent.stopped, Some(StopReason::Asked));
    let received = ask(&mut b, &finish(&spec, sent.report.sent)).unwrap();
    assert_eq!(received.received, sent.report.sent);
    assert!(sent.report.sent.get() > 0);
    // The next flow is not touched by it.
    let spec = flow(2, Duration::from_millis(100));
    let port = ask(&mut b, &OpenReceiver(spec.clone())).unwrap();
    ask(&mut a, &OpenSender(spec.clone())).unwrap();
    let sent = ask(&mut a, &run(&spec, port, Care::None)).unwrap();
    assert_eq!(sent.stopped, None);
    assert!((1..=200).contains(&sent.report.sent.get()));
}

#[test]
fn a_host_without_corosync_is_watched_without_trouble_until_the_watch_is_stopped() {
    let nodes = Nodes::start();
    let mut a = nodes.a.agent("a");
    assert_eq!(ask(&mut a, &ReadCorosync).unwrap(), None);
    let watch = WatchCluster {
        at_most: Nanos::from_millis(50),
    };
    assert_eq!(ask(&mut a, &watch).unwrap(), None);
}

/// A coordinator that can vanish without a destructor's help: it holds bare pipes.
struct Bare {
    child: Child,
    decoder: Decoder,
}

impl Bare {
    fn start(node: &Node) -> (Self, u32) {
        let mut child = node
            .command(&hawser())
            .arg("agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut scanner = Scanner::default();
        let mut byte = [0];
        let output = child.stdout.as_mut().unwrap();
        loop {
            output.read_exact(&mut byte).unwrap();
            if scanner.push(&byte).unwrap().is_some() {
                break;
            }
        }
        let mut bare = Self {
            child,
            decoder: Decoder::default(),
        };
        let welcome = bare.ask(&Hello {
            version: VERSION,
            run_key: KEY,
            host: "a".into(),
        });
        (bare, welcome.pid)
    }

    fn say<A: Ask>(&mut self, question: &A) {
        let message = Message::Ask {
            question: A::NAME.to_owned(),
            body: to_raw_value(question).unwrap(),
        };
        frame::write(self.child.stdin.as_mut().unwrap(), &message).unwrap();
    }

    fn ask<A: Ask>(&mut self, question: &A) -> A::Answer {
        self.say(question);
        let output = self.child.stdout.as_mut().unwrap();
        match frame::read(output, &mut self.decoder).unwrap() {
            Some(Reply::Answer(answer)) => answer,
            _ => panic!("no answer to {}", A::NAME),
        }
    }
}

#[test]
fn an_agent_whose_coordinator_vanishes_while_it_sends_ends_at_once_and_closes_everything() {
    let nodes = Nodes::start();
    let mut b = nodes.b.agent("b");
    let spec = flow(1, Duration::from_secs(60));
    let port = ask(&mut b, &OpenReceiver(spec.clone())).unwrap();
    let (mut bare, pid) = Bare::start(&nodes.a);
    let source_port = bare.ask(&OpenSender(spec.clone()));
    bare.say(&run(&spec, port, Care::None));
    eventually("traffic", Duration::from_secs(5), || {
        let sent = nodes.a.sh("nstat -asz UdpOutDatagrams | tail -1");
        sent.split_whitespace().nth(1).is_some_and(|n| n != "0")
    });
    assert!(nodes.a.runs(pid) && nodes.a.udp_port_open(source_port));

    drop(bare.child.stdin.take());
    let gone = eventually("the agent's end", Duration::from_secs(2), || {
        !nodes.a.runs(pid)
    });
    println!("agent gone {gone:?} after its stdin closed in the middle of a send");
    assert!(!nodes.a.udp_port_open(source_port));
    bare.child.wait().unwrap();
    drop(b);
    eventually("the receiver's end", Duration::from_secs(2), || {
        !nodes.b.udp_port_open(port)
    });
}

#[test]
fn an_agent_that_hangs_gives_an_error_in_time_and_is_ended() {
    let nodes = Nodes::start();
    let mut a = nodes.a.agent("a");
    ask(&mut a, &Ping).unwrap();
    let pid = a.pid();
    nodes.a.sh(&format!("kill -STOP {pid}"));
    let asked = Instant::now();
    let error = ask(&mut a, &Ping).unwrap_err();
    assert!(matches!(*error.failure, Failure::Timeout { .. }), "{error}");
    assert!(asked.elapsed() < Duration::from_secs(20));
    let error = ask(&mut a, &Ping).unwrap_err();
    assert!(matches!(*error.failure, Failure::Gone { .. }), "{error}");
    nodes.a.sh(&format!("kill -CONT {pid} || true"));
    eventually("the agent's end", Duration::from_secs(3), || {
        !nodes.a.runs(pid)
    });
}

#[test]
fn an_agent_behind_a_greeting_is_found_and_what_it_refuses_does_not_end_it() {
    let nodes = Nodes::start();
    let transport = nodes.a.transport("a", "echo 'Welcome to head1!'; uptime;");
    let mut a = Agent::connect(&transport, KEY).unwrap();
    let mut spec = flow(1, Duration::from_secs(1));
    spec.source = B;
    let error = ask(&mut a, &OpenSender(spec.clone())).unwrap_err();
    assert!(error.host_goes_on(), "{error}");
    let words = error.to_string();
    assert!(
        words.starts_with("a: ") && !words.contains("open sender") && words.contains("10.78.0.2"),
        "{words}"
    );
    let error = ask(&mut a, &run(&spec, 9, Care::None)).unwrap_err();
    assert_eq!(error.to_string(), "a: no sender of flow 1 is open");
    ask(&mut a, &Ping).unwrap();
}

#[test]
fn an_agent_that_dies_is_reported_with_its_last_words() {
    let nodes = Nodes::start();
    let mut a = Agent::connect(&nodes.a.transport("a", "echo 'lots of luck' >&2;"), KEY).unwrap();
    nodes.a.sh(&format!("kill -9 {}", a.pid()));
    let words = ask(&mut a, &Ping).unwrap_err().to_string();
    assert!(words.contains("agent ended during ping"), "{words}");
    assert!(
        words.contains("lots of luck") && words.contains("SIGKILL"),
        "{words}"
    );
}

fn connect_to(script: &'static str) -> HostError {
    let transport = transport::Command::new("head9".into(), move || {
        Ok::<_, std::io::Error>(Launch::new("sh").args(["-c", script]))
    });
    Agent::connect(&transport, KEY).unwrap_err()
}

#[test]
fn what_is_not_an_agent_is_shown_with_its_beginning_and_its_end() {
    let words = connect_to("echo This account is currently not available.; exit 1").to_string();
    assert!(words.contains("head9"), "{words}");
    assert!(
        words.contains("This account is currently not available."),
        "{words}"
    );
    assert!(words.contains("exit status: 1"), "{words}");

    let words = connect_to("exec hawser-that-does-not-exist").to_string();
    assert!(
        words.contains("127") && words.contains("not found"),
        "{words}"
    );

    let words = connect_to("yes 'no agent here'").to_string();
    assert!(words.contains("no agent here"), "{words}");
}

#[test]
fn another_protocol_version_is_an_error_that_names_both() {
    let error = connect_to("echo '<<hawser agent 4711>>'; cat");
    let Failure::OtherVersion { theirs, ours, .. } = &*error.failure else {
        panic!("{error}");
    };
    assert_eq!((theirs.as_str(), *ours), ("4711", VERSION));
    assert!(error.to_string().contains("4711"));
}

#[test]
fn a_lab_that_does_not_run_is_reported_by_the_maker_of_the_command() {
    let transport =
        transport::Command::new("head9".into(), || Err::<Launch, _>("lab demo does not run"));
    let words = Agent::connect(&transport, KEY).unwrap_err().to_string();
    assert_eq!(words, "head9: lab demo does not run");
}
