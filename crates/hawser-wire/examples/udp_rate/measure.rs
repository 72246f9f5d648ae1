//! One run of one program over one wire, and what the device and the kernel counted.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hawser_model::traffic::{Batching, ReceiverReport, SenderReport};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{Host, pair};
use crate::flow;
use crate::programs::{Kind, Program};

/// What one run showed.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Frames a second that the receiving device counted.
    pub frames_per_second: f64,
    /// Frames of the whole run.
    pub frames: f64,
    /// CPU time of both ends, and of the kernel's packet threads.
    pub cpu_seconds: f64,
    /// Of the frames, how many the receiving program got.
    pub delivered: f64,
    /// Packets the sending program says it sent, for those whose word is known.
    pub sent: Option<f64>,
}

/// Two hosts and the cable between them.
pub struct Wire {
    a: Host,
    b: Host,
}

impl Wire {
    /// A cable on which segments are cut before the wire, never after.
    pub fn new(napi: bool) -> Self {
        let (a, b) = pair();
        a.sh("ethtool -K ring0 tso off gso off tx-udp-segmentation off");
        b.sh("ethtool -K ring0 tso off gso off tx-udp-segmentation off");
        if napi {
            b.sh("ethtool -K ring0 gro on");
        }
        Self { a, b }
    }

    /// Runs a program for `length` and a little more.
    pub fn measure(
        &self,
        program: &Program,
        size: u32,
        length: Duration,
    ) -> Result<Sample, String> {
        let run = length + Duration::from_secs(1);
        let before = Counters::read(self);
        let (rate, ends) = match &program.kind {
            Kind::Hawser(batching) => self.hawser(size, length, run, *batching)?,
            Kind::Commands { receive, send } => {
                let with = |command: &str| {
                    command
                        .replace("SIZE", &size.to_string())
                        .replace("SECONDS", &run.as_secs().to_string())
                };
                (self.commands(&with(receive), &with(send), length)?, None)
            }
        };
        let after = Counters::read(self);
        let frames = after.frames - before.frames;
        // InDatagrams counts joined packets as one; who joins knows better.
        let delivered = ends
            .as_ref()
            .map_or(after.read - before.read, |(_, receiver)| {
                (receiver.received + receiver.duplicates).0 as f64
            });
        Ok(Sample {
            frames_per_second: rate,
            frames,
            cpu_seconds: after.cpu - before.cpu,
            delivered,
            sent: ends.map(|(sender, _)| sender.sent.0 as f64),
        })
    }

    /// Frames a second at the receiving device, once the program is under way.
    fn sample(&self, length: Duration) -> f64 {
        let (since, before) = (Instant::now(), frames(&self.b));
        // Some programs warm up or negotiate first.
        while frames(&self.b) < before + 5_000.0 && since.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(10));
        }
        sleep(Duration::from_millis(300));
        let (began, first) = (Instant::now(), frames(&self.b));
        sleep(length - Duration::from_millis(200));
        let (ended, last) = (Instant::now(), frames(&self.b));
        (last - first) / (ended - began).as_secs_f64()
    }

    fn commands(&self, receive: &str, send: &str, length: Duration) -> Result<f64, String> {
        let mut receiver = Process::start(&self.b, "sh", &["-c", &format!("exec {receive}")])?;
        sleep(Duration::from_millis(300));
        let mut sender = Process::start(&self.a, "sh", &["-c", &format!("exec {send}")])?;
        let rate = self.sample(length);
        let done = sender.end(Duration::from_secs(10));
        receiver.interrupt();
        done.map(|_| rate)
    }

    fn hawser(
        &self,
        size: u32,
        length: Duration,
        run: Duration,
        batching: Batching,
    ) -> Result<(f64, Option<(SenderReport, ReceiverReport)>), String> {
        let program = std::env::current_exe().map_err(|e| e.to_string())?;
        let program = program.to_string_lossy();
        let spec = flow::spec(size, run, batching);
        let mut receiver = Process::start(&self.b, &program, &["receive", &json(&spec)])?;
        let port: u16 = receiver
            .line()?
            .trim()
            .parse()
            .map_err(|e| format!("port: {e}"))?;
        let mut sender = Process::start(&self.a, &program, &["send", &json(&(spec, port))])?;
        let rate = self.sample(length);
        let sent = sender.line()?;
        sender.end(Duration::from_secs(5))?;
        receiver.tell(&sent)?;
        let received = receiver.line()?;
        receiver.end(Duration::from_secs(5))?;
        let sent = serde_json::from_str(&sent).map_err(|e| e.to_string())?;
        let received = serde_json::from_str(&received).map_err(|e| e.to_string())?;
        Ok((rate, Some((sent, received))))
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain values are JSON")
}

/// Everything that is read before and after.
struct Counters {
    frames: f64,
    read: f64,
    cpu: f64,
}

impl Counters {
    fn read(wire: &Wire) -> Self {
        let snmp = wire
            .b
            .sh("grep '^Udp:' /proc/thread-self/net/snmp | tail -1");
        let read = snmp.split_whitespace().nth(1);
        Self {
            frames: frames(&wire.b),
            read: read.and_then(|n| n.parse().ok()).unwrap_or(0.0),
            cpu: children_cpu() + softirq_threads_cpu(),
        }
    }
}

fn frames(host: &Host) -> f64 {
    host.run(|| {
        let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        let line = table.lines().find(|line| line.trim().starts_with("ring0:"));
        let packets = line.and_then(|line| line.split_whitespace().nth(2));
        packets.and_then(|n| n.parse().ok()).unwrap_or(0.0)
    })
}

/// CPU time of all processes that were started here and have ended.
fn children_cpu() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("getrusage of children");
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// CPU time of the kernel's packet threads: work for a program that is not charged to it.
fn softirq_threads_cpu() -> f64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ticks: f64 = processes
        .filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok())
        .filter(|stat| stat.contains("(ksoftirqd/"))
        .filter_map(|stat| {
            stat.rsplit(") ")
                .next()?
                .split(' ')
                .nth(12)?
                .parse::<f64>()
                .ok()
        })
        .sum();
    // USER_HZ is 100 on every Linux architecture that has a veth to measure on.
    ticks / 100.0
}

/// A child that is ended and waited for whatever happens.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Process {
    fn start(host: &Host, program: &str, arguments: &[&str]) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let named = format!("{program} {arguments:?}");
        let child = host.run(move || command.stderr(Stdio::null()).spawn());
        let mut child = child.map_err(|e| format!("{named}: {e}"))?;
        let output = child.stdout.take().ok_or("no output")?;
        let input = child.stdin.take();
        Ok(Self {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err("it said nothing".to_owned()),
            Ok(_) => Ok(line),
            Err(error) => Err(error.to_string()),
        }
    }

    fn tell(&mut self, line: &str) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("no input")?;
        input.write_all(line.as_bytes()).map_err(|e| e.to_string())
    }

    fn interrupt(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT);
        let _ = self.end(Duration::from_secs(2));
    }

    fn end(&mut self, patience: Duration) -> Result<(), String> {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(status.to_string()),
                Ok(None) => sleep(Duration::from_millis(10)),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("it did not end".to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
