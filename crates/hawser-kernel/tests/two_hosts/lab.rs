//! Two hosts on one wire: threads in network namespaces of their own, joined by a veth pair.
//!
//! The namespaces have no name; they and all that is in them are gone when their threads end,
//! also when a test panics.

use std::net::{SocketAddr, UdpSocket};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hawser_kernel::Observer;
use hawser_model::drops::{DropScope, DropSubject, TapDirection};
use hawser_model::host::HostWindow;
use hawser_model::traffic::{FlowId, PROBE_MAGIC, WatchedFlow};
use hawser_tool::Deadline;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Pid, gettid};

/// For whatever must come at last, on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);

type Job = Box<dyn FnOnce() + Send>;

/// A host: run something on it, and it happens in its network namespace.
pub struct Host {
    jobs: mpsc::Sender<Job>,
    thread: Pid,
}

impl Host {
    fn new() -> nix::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (started, start) = mpsc::channel();
        thread::spawn(move || {
            let made = unshare(CloneFlags::CLONE_NEWNET).map(|()| gettid());
            started.send(made).expect("the test waits for the host");
            for job in queue {
                job();
            }
        });
        let thread = start.recv().expect("the host's thread answers")?;
        Ok(Self { jobs, thread })
    }

    /// Runs `job` on the host and returns its result; a panic comes back as a panic.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = mpsc::channel();
        self.jobs
            .send(Box::new(move || {
                let _ = done.send(catch_unwind(AssertUnwindSafe(job)));
            }))
            .expect("the host lives as long as its test");
        match result.recv().expect("the host's thread answers") {
            Ok(value) => value,
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Runs a command line on the host, which must succeed.
    pub fn sh(&self, line: &str) {
        assert!(self.try_sh(line), "{line}");
    }

    /// Runs a command line on the host; false when it fails.
    pub fn try_sh(&self, line: &str) -> bool {
        let line = line.to_owned();
        self.run(move || {
            let status = Command::new("sh").args(["-ec", &line]).status();
            status.expect("sh runs").success()
        })
    }

    /// Waits until a command line succeeds on the host: what its kernel does by its own timers may come late.
    pub fn until(&self, line: &str) {
        let until = Deadline::after(PATIENCE);
        let holds = until.holds(Duration::from_millis(100), || self.try_sh(line));
        assert!(holds, "{line}");
    }

    /// A UDP socket on the host.
    pub fn udp(&self, address: &str) -> UdpSocket {
        let address = address.to_owned();
        let socket = self.run(move || UdpSocket::bind(address)).expect("bind");
        socket.set_nonblocking(true).expect("fcntl");
        socket
    }
}

/// Two hosts, `ring0` of each joined to the other's: 10.77.0.1 and .2, fd77::1 and ::2.
pub struct Pair {
    pub a: Host,
    pub b: Host,
    observers: Option<(Observer, Observer)>,
}

impl Pair {
    /// None, with a word on standard error, where this process may not make namespaces.
    pub fn new() -> Option<Self> {
        let hosts = Host::new().and_then(|a| Ok((a, Host::new()?)));
        let (a, b) = match hosts {
            Ok(hosts) => hosts,
            Err(e) => {
                eprintln!("not run: unshare CLONE_NEWNET: {e}");
                return None;
            }
        };
        a.sh(&format!(
            "ip link add ring0 type veth peer name ring0 netns {}",
            b.thread
        ));
        for (host, last) in [(&a, 1), (&b, 2)] {
            host.sh(&format!(
                "ip link set lo up
                 ip address add 10.77.0.{last}/24 dev ring0
                 ip address add fd77::{last}/64 dev ring0 nodad
                 ip link set ring0 up"
            ));
        }
        let observers = (a.run(Observer::start), b.run(Observer::start));
        let pair = Self {
            a,
            b,
            observers: Some(observers),
        };
        pair.warm_up("10.77.0.1:0", "10.77.0.2:0");
        pair.warm_up("[fd77::1]:0", "[fd77::2]:0");
        Some(pair)
    }

    /// Sends until something arrives: an address becomes usable and a neighbour known some time
    /// after the command that made it.
    pub fn warm_up(&self, from: &str, to: &str) {
        let (sender, receiver) = (self.a.udp(from), self.b.udp(to));
        for _ in 0..300 {
            send(&sender, local(&receiver), b"warm-up", 1);
            if drain_for(&receiver, Duration::from_millis(10)) > 0 {
                return;
            }
        }
        panic!("nothing arrives at {to}");
    }

    /// A flow from `sender` on host a to `receiver` on host b, both sockets bound.
    pub fn flow(&self, sender: &UdpSocket, receiver: &UdpSocket) -> WatchedFlow {
        let (from, to) = (local(sender), local(receiver));
        WatchedFlow {
            flow: FLOW,
            source: from.ip(),
            source_port: from.port(),
            destination: to.ip(),
            destination_port: to.port(),
            interface: "ring0".into(),
        }
    }

    /// Opens a window on both hosts, does `work`, and closes it: what a and b saw.
    pub fn window(
        &mut self,
        flow: &WatchedFlow,
        work: impl FnOnce(&Self),
    ) -> (HostWindow, HostWindow) {
        let (mut a, mut b) = self.observers.take().expect("one window at a time");
        let flows = [flow.clone(), flow.clone()].map(|flow| [flow]);
        let [for_a, for_b] = flows;
        let a = self
            .a
            .run(move || a.open(&for_a).map(|()| a))
            .expect("open on a");
        let b = self
            .b
            .run(move || b.open(&for_b).map(|()| b))
            .expect("open on b");
        work(self);
        // The last packet may still be in a softirq of the other CPU, and that be busy.
        thread::sleep(Duration::from_millis(150));
        let close = |mut observer: Observer| move || (observer.close().expect("close"), observer);
        let (window_a, a) = self.a.run(close(a));
        let (window_b, b) = self.b.run(close(b));
        self.observers = Some((a, b));
        (window_a, window_b)
    }
}

/// The only flow of a test.
pub const FLOW: FlowId = FlowId(7);

/// The address a socket is bound to.
pub fn local(socket: &UdpSocket) -> SocketAddr {
    socket.local_addr().expect("getsockname")
}

/// A probe's payload of `size` bytes.
pub fn probe(size: usize) -> Vec<u8> {
    let mut payload = PROBE_MAGIC.to_vec();
    payload.resize(size, 0x5a);
    payload
}

/// Sends `count` datagrams; how many the kernel took.
pub fn send(socket: &UdpSocket, to: SocketAddr, payload: &[u8], count: usize) -> usize {
    (0..count)
        .filter(|_| socket.send_to(payload, to).is_ok())
        .count()
}

/// Reads until nothing has come for a quarter of a second, since the kernel of a busy machine delivers later than it sends;
/// how many datagrams there were.
pub fn drain(socket: &UdpSocket) -> usize {
    drain_for(socket, Duration::from_millis(250))
}

/// The same with another silence at the end.
pub fn drain_for(socket: &UdpSocket, silence: Duration) -> usize {
    let mut buffer = [0; 65_536];
    let (mut total, mut last) = (0, Instant::now());
    loop {
        match socket.recv(&mut buffer) {
            Ok(_) => (total, last) = (total + 1, Instant::now()),
            Err(_) if last.elapsed() >= silence => return total,
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// What a window tells of drops: reason, location, interface, packets; in the order of packets.
pub fn drops(
    window: &HostWindow,
    scope: DropScope,
    subject: DropSubject,
) -> Vec<(&str, &str, Option<&str>, u64)> {
    let drops = window
        .drops
        .as_ref()
        .expect("drop reasons are collected here");
    assert_eq!(window.drops_missed, 0, "{drops:#?}");
    drops
        .iter()
        .filter(|drop| drop.subject == subject && drop.scope == scope)
        .map(|drop| {
            let interface = drop.interface.as_ref().map(|name| name.as_str());
            (
                &drop.reason[..],
                &drop.location[..],
                interface,
                drop.packets.0,
            )
        })
        .collect()
}

/// Drops of the flow itself on this host: reason, interface, packets. Where exactly a kernel
/// drops is not the same on all of them, but it must be known.
pub fn flow_drops(window: &HostWindow) -> Vec<(&str, Option<&str>, u64)> {
    drops(window, DropScope::ThisHost, DropSubject::Flow(FLOW))
        .into_iter()
        .map(|(reason, location, interface, packets)| {
            assert!(!location.is_empty(), "{reason} happened nowhere");
            (reason, interface, packets)
        })
        .collect()
}

/// What the tap on `ring0` counted: intact, damaged, later fragments.
pub fn tapped(window: &HostWindow, direction: TapDirection) -> (u64, u64, u64) {
    let taps = window.taps.as_ref().expect("the tap works here");
    taps.iter()
        .find(|tap| tap.direction == direction && tap.flow == FLOW)
        .map_or((0, 0, 0), |tap| {
            assert_eq!(tap.interface.as_str(), "ring0");
            (tap.packets.0, tap.damaged.0, tap.later_fragments.0)
        })
}
