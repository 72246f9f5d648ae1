//! Hosts for experiments: threads with a network namespace of their own.
//!
//! A namespace made this way has no name and no file: it ends with its thread, however the
//! test ends, and takes its interfaces along. Needs root, like all of these tests.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hawser_model::traffic::{FlowId, FlowSpec, Rate, RunKey, Transport};
use hawser_model::units::{Nanos, PacketsPerSec};
use hawser_wire::{Receiver as FlowReceiver, Sender as FlowSender};
use nix::sched::{CloneFlags, unshare};

/// The key of all experiments.
pub const KEY: RunKey = RunKey(0x5eed_0123_4567_89ab);

/// Experiments run one after the other: traffic must not disturb traffic. Tests without any run beside them unless the
/// program has one thread, as packaging/run-tests gives it.
static TURN: Mutex<()> = Mutex::new(());

type Job = Box<dyn FnOnce() + Send>;

/// One host.
pub struct Host {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// Held by the first host of an experiment.
    turn: Option<MutexGuard<'static, ()>>,
    /// Its thread id, by which `ip` finds the namespace.
    pub id: i32,
}

impl Host {
    /// A host with nothing but a loopback interface that is up.
    pub fn new() -> Self {
        let (jobs, queue): (_, Receiver<Job>) = channel();
        let (ready, started) = channel();
        let thread = thread::spawn(move || {
            let made = unshare(CloneFlags::CLONE_NEWNET);
            ready.send((nix::unistd::gettid().as_raw(), made)).unwrap();
            for job in queue {
                job();
            }
        });
        let (id, made) = started.recv().unwrap();
        made.expect("these experiments need root: unshare(CLONE_NEWNET)");
        let host = Self {
            jobs: Some(jobs),
            thread: Some(thread),
            turn: None,
            id,
        };
        host.sh("ip link set lo up
            # No duplicate address detection: it would take a second.
            echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad");
        host
    }

    /// Runs something on this host; threads it starts stay there.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        self.start(job).join()
    }

    /// As `run`, without waiting for the result.
    pub fn start<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Running<T> {
        let (done, result) = channel();
        let job = Box::new(move || {
            // Nobody waits any more only when the test has failed already.
            let _ = done.send(job());
        });
        self.jobs.as_ref().unwrap().send(job).unwrap();
        Running(result)
    }

    /// Runs a shell command on this host; its output. Fails the test when it fails.
    #[track_caller]
    pub fn sh(&self, command: &str) -> String {
        let line = command.to_owned();
        let output = self.run(move || Command::new("sh").arg("-ec").arg(line).output());
        let output = output.unwrap();
        assert!(
            output.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Host {
    /// Waits until the kernel has noticed the carrier: before that IPv6 does not answer.
    #[track_caller]
    pub fn settled(&self, interface: &str) {
        self.sh(&format!(
            "for i in $(seq 100); do
                 ip link show {interface} | grep -q 'state UP' &&
                     ip -6 route show dev {interface} | grep -q fe80 &&
                     ! ip -6 addr show dev {interface} | grep -q tentative && exit 0
                 sleep 0.05
             done; echo {interface} did not come up >&2; exit 1"
        ));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A result that is still being worked on.
pub struct Running<T>(Receiver<T>);

impl<T> Running<T> {
    /// Waits for it.
    #[track_caller]
    pub fn join(self) -> T {
        self.0.recv().expect("the host's job panicked")
    }
}

/// Two hosts and one cable: `10.9.0.1`/`fd09::1` and `10.9.0.2`/`fd09::2` on `ring0`.
pub fn pair() -> (Host, Host) {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut a, b) = (Host::new(), Host::new());
    a.turn = Some(turn);
    a.sh(&format!(
        "ip link add ring0 type veth peer name ring0 netns {}",
        b.id
    ));
    for (host, number) in [(&a, 1), (&b, 2)] {
        address(host, number);
    }
    for host in [&a, &b] {
        host.settled("ring0");
    }
    (a, b)
}

/// Two hosts as in [`pair`], with a switch between them whose ports are `to-a` and `to-b`.
pub fn switched() -> (Host, Host, Host) {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut a, switch, b) = (Host::new(), Host::new(), Host::new());
    a.turn = Some(turn);
    // An address of its own: otherwise the bridge takes the lowest of its ports.
    switch.sh("ip link add switch address 02:00:00:00:09:00 type bridge
        echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
        ip link set switch up");
    for (host, name, number) in [(&a, "a", 1), (&b, "b", 2)] {
        switch.sh(&format!(
            "ip link add to-{name} type veth peer name ring0 netns {}
             ip link set to-{name} master switch up",
            host.id
        ));
        address(host, number);
    }
    for host in [&a, &b] {
        host.settled("ring0");
    }
    (a, switch, b)
}

fn address(host: &Host, number: u32) {
    host.sh(&format!(
        "ip addr add 10.9.0.{number}/24 dev ring0
         ip addr add fd09::{number}/64 dev ring0 nodad
         ip link set ring0 up"
    ));
}

/// A gentle flow from `.1` to `.2`: 200 packets of 200 bytes in a fifth of a second.
pub fn flow() -> FlowSpec {
    FlowSpec::plain(
        FlowId(7),
        Transport::Udp,
        ("10.9.0.1".parse().unwrap(), "10.9.0.2".parse().unwrap()),
        200,
        Rate::PerSecond(PacketsPerSec(1_000)),
        Nanos::from_millis(200),
    )
}

/// The same flow over IPv6.
pub fn flow_v6() -> FlowSpec {
    FlowSpec {
        source: "fd09::1".parse().unwrap(),
        destination: "fd09::2".parse().unwrap(),
        receiver: "fd09::2".parse().unwrap(),
        ..flow()
    }
}

/// How long each thread of this program has been ready to run and had no processor, in nanoseconds
/// (`Documentation/scheduler/sched-stats.rst`, the second number).
fn look_at_waits(waits: &mut BTreeMap<String, u64>) {
    let tasks = fs::read_dir("/proc/self/task").expect("the threads of this program");
    for task in tasks.flatten() {
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let waited = text.split_whitespace().nth(1);
        if let Some(waited) = waited.and_then(|it| it.parse().ok()) {
            waits.insert(task.file_name().to_string_lossy().into_owned(), waited);
        }
    }
}

/// What a measurement gave, unless this program was kept from running for so long that it says nothing: packaging/run-tests
/// counts that.
pub fn unhindered<T>(measure: impl FnOnce() -> T) -> Option<T> {
    /// A receive buffer as it comes holds two bursts of the fastest paced flow here, which are 12.8 ms; on a quiet machine all
    /// threads together wait for up to 10 ms, a few microseconds a packet.
    const HINDERED: u64 = 12_000_000;
    let mut before = BTreeMap::new();
    look_at_waits(&mut before);
    let over = AtomicBool::new(false);
    let (measured, after) = thread::scope(|scope| {
        // Threads end with the measurement, and what they waited with them. Who looks waits for a processor too.
        let looks = scope.spawn(|| {
            let mut waits = before.clone();
            while !over.load(Ordering::Relaxed) {
                look_at_waits(&mut waits);
                thread::sleep(Duration::from_millis(2));
            }
            look_at_waits(&mut waits);
            waits
        });
        let measured = measure();
        over.store(true, Ordering::Relaxed);
        (measured, looks.join().expect("it only reads"))
    });
    let waited = after.values().sum::<u64>() - before.values().sum::<u64>();
    if waited < HINDERED {
        return Some(measured);
    }
    let waited = Duration::from_nanos(waited);
    // Not by a macro, whose words libtest keeps for itself.
    writeln!(
        io::stderr(),
        "\nskipped: not measured: no processor for {waited:?}"
    )
    .expect("standard error");
    None
}

/// Opens a receiver on a host.
#[track_caller]
pub fn open(host: &Host, spec: &FlowSpec) -> FlowReceiver {
    let spec = spec.clone();
    host.run(move || FlowReceiver::open(&spec, KEY)).unwrap()
}

/// Sends a flow from a host to a port.
#[track_caller]
pub fn send(host: &Host, spec: &FlowSpec, port: u16) -> hawser_model::traffic::SenderReport {
    let spec = spec.clone();
    host.run(move || FlowSender::open(&spec, KEY).and_then(|sender| sender.run(port)))
        .unwrap()
}

/// The whole flow between two hosts.
#[track_caller]
pub fn measure(
    from: &Host,
    to: &Host,
    spec: &FlowSpec,
) -> (
    hawser_model::traffic::SenderReport,
    hawser_model::traffic::ReceiverReport,
) {
    let receiver = open(to, spec);
    let sent = send(from, spec, receiver.port());
    let settle = std::time::Duration::from_millis(100);
    let received = receiver.finish(sent.sent, settle).unwrap();
    (sent, received)
}
