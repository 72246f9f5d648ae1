//! What observing costs. Not asserted, since it is the machine that is measured:
//! `cargo test -p hawser-kernel --test two_hosts cost -- --ignored --nocapture`, on a quiet one.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use hawser_kernel::Observer;

use nix::time::{ClockId, clock_gettime};

use crate::lab::{Pair, drain_for, local, probe, send};

const PACKETS: usize = 100_000;

/// Processor time of this thread, which other programs on the machine do not lengthen.
fn now() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("clock_gettime");
    Duration::from(time).as_nanos() as f64
}

/// Nanoseconds a packet takes from the sender's system call through both stacks: on a veth pair
/// all of it happens in that call.
fn pass(sender: &UdpSocket, receiver: &UdpSocket) -> f64 {
    let payload = probe(800);
    let mut busy = 0.0;
    for _ in 0..PACKETS / 100 {
        let start = now();
        send(sender, local(receiver), &payload, 100);
        busy += now() - start;
        drain_for(receiver, Duration::ZERO);
    }
    busy / PACKETS as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
#[ignore = "measures the machine"]
fn of_the_tap_on_both_ends_and_of_a_drop() {
    let Some(mut net) = Pair::new() else { return };
    let (sender, receiver) = (net.a.udp("10.77.0.1:0"), net.b.udp("10.77.0.2:0"));
    let flow = net.flow(&sender, &receiver);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        without.push(pass(&sender, &receiver));
        net.window(&flow, |_| with.push(pass(&sender, &receiver)));
    }
    let (with, without) = (median(with), median(without));
    println!("a packet without taps {without:.0} ns, with one on each end {with:.0} ns");

    let nobody = {
        let gone = net.b.udp("10.77.0.2:0");
        local(&gone)
    };
    net.b.sh("nft 'table netdev t { chain c { type filter hook ingress device ring0 priority 0; udp dport 9 drop; }; }'");
    let discard = (nobody.ip(), 9).into();
    let payload = probe(100);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let drop_pass = || {
        let start = now();
        send(&sender, discard, &payload, PACKETS);
        (now() - start) / PACKETS as f64
    };
    for _ in 0..7 {
        without.push(drop_pass());
        net.window(&flow, |_| with.push(drop_pass()));
    }
    let (with, without) = (median(with), median(without));
    println!("a dropped packet without a window {without:.0} ns, in one {with:.0} ns");
}

#[test]
#[ignore = "measures the machine"]
fn of_starting_opening_and_closing() {
    let Some(net) = Pair::new() else { return };
    net.a.run(|| {
        let started = Instant::now();
        let mut observer = Observer::start();
        println!("start {:?}", started.elapsed());
        for _ in 0..5 {
            let opening = Instant::now();
            observer.open(&[]).expect("open");
            let opened = opening.elapsed();
            let closing = Instant::now();
            observer.close().expect("close");
            println!("open {opened:?}, close {:?}", closing.elapsed());
        }
    });
}
