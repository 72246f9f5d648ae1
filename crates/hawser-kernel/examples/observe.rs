//! Describes this host, opens a window for a second, and prints what moved in it.

use std::time::{Duration, Instant};

use hawser_kernel::{Observer, host_facts, udp_sockets};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:#?}", host_facts());
    println!("{:#?}", udp_sockets()?);
    let started = Instant::now();
    let mut observer = Observer::start();
    println!("start {:?}", started.elapsed());
    for collector in observer.collectors() {
        let state = collector.unavailable.as_deref().unwrap_or("runs");
        println!("{:20} {state}", collector.name);
    }
    let opening = Instant::now();
    observer.open(&[])?;
    println!("open  {:?}", opening.elapsed());
    std::thread::sleep(Duration::from_secs(1));
    let closing = Instant::now();
    let window = observer.close()?;
    println!("close {:?}", closing.elapsed());
    for (name, gain) in &window.counters.0 {
        println!("{gain:>10}  {name}");
    }
    println!("{:#?}", window.drops);
    println!("{:#?}", window.sockets);
    let status = std::fs::read_to_string("/proc/self/status")?;
    for line in status
        .lines()
        .filter(|l| l.starts_with("VmHWM") || l.starts_with("VmRSS"))
    {
        println!("{line}");
    }
    Ok(())
}
