//! `/proc/net/sockstat` and `sockstat6`: datagrams that wait for their missing fragments.

use hawser_model::counters::Counters;

use super::Source;
use crate::{KernelError, proc};

/// `frag/inuse`, `frag6/inuse`: gauges, queues of IP fragments not yet complete.
pub(super) struct Fragments;

impl Source for Fragments {
    fn name(&self) -> &'static str {
        "fragments"
    }

    fn read(&mut self, into: &mut Counters) -> Result<(), KernelError> {
        parse(&proc::net("sockstat")?, into);
        if let Ok(text) = proc::net("sockstat6") {
            parse(&text, into);
        }
        Ok(())
    }
}

fn parse(text: &str, into: &mut Counters) {
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let name = match words.next() {
            Some("FRAG:") => "frag/inuse",
            Some("FRAG6:") => "frag6/inuse",
            _ => continue,
        };
        if let (Some("inuse"), Some(Ok(value))) = (words.next(), words.next().map(str::parse)) {
            into.0.insert(name.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fragment_queues_are_taken() {
        let mut read = Counters::default();
        parse(
            "sockets: used 20\nUDP: inuse 3 mem 9\nFRAG: inuse 2 memory 9216\nFRAG6: inuse 1 memory 4\n",
            &mut read,
        );
        assert_eq!(
            read,
            Counters::from_iter([("frag/inuse", 2), ("frag6/inuse", 1)])
        );
    }
}
