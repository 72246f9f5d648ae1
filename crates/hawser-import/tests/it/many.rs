//! A source of many thousand resources is read in a time that grows as the source does.

use std::fmt::Write as _;
use std::time::Duration;

use hawser_import::{Kind, Options, Source, import};

/// What a list that is searched for each of its entries takes many times as long for, also on a slow processor.
const ENOUGH: Duration = Duration::from_secs(60);

fn time_of(text: String) -> Duration {
    let source = Source {
        path: "crm".into(),
        text,
        kind: Kind::Crm,
        node: None,
    };
    let options = Options {
        name: Some("c".into()),
        pool: None,
        secrets: "/s".into(),
        adopt: true,
    };
    let begun = on_a_processor();
    import(&[source], &options).expect("read");
    on_a_processor() - begun
}

/// How long this thread had a processor (proc(5), `/proc/PID/schedstat`): what runs beside it does not count.
fn on_a_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let spent = text.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(spent.expect("a number"))
}

#[test]
fn many_pools() {
    let mut text = "node a\nnode b\n".to_owned();
    for n in 0..10_000 {
        let (net, host) = (n / 250, n % 250 + 1);
        writeln!(
            text,
            "primitive p{n} Filesystem params device=/dev/x{n} directory=/srv/{n} fstype=ext4\n\
             primitive ip{n} IPaddr2 params ip=10.1.{net}.{host} cidr_netmask=16\n\
             group g{n} p{n} ip{n}\nlocation l{n} g{n} 100: a"
        )
        .expect("text");
    }
    let took = time_of(text);
    assert!(took < ENOUGH, "{took:?}");
}

#[test]
fn many_constraints() {
    let mut text = "node a\nnode b\n".to_owned();
    for n in 0..20_000 {
        writeln!(text, "primitive p{n} Dummy").expect("text");
    }
    for n in 0..19_999 {
        let next = n + 1;
        writeln!(
            text,
            "colocation c{n} inf: p{n} p{next}\norder o{n} p{n} p{next}"
        )
        .expect("text");
    }
    let took = time_of(text);
    assert!(took < ENOUGH, "{took:?}");
}
