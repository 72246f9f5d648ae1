//! The function around a kernel address: `/proc/kallsyms`, read once through and not kept.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Names already looked up: a host drops in few places, and the file has 100 000 lines.
#[derive(Default)]
pub(super) struct Symbols {
    known: BTreeMap<u64, String>,
}

impl Symbols {
    /// Looks up the functions at `addresses`, as far as they are not known yet.
    pub(super) fn find(&mut self, addresses: impl Iterator<Item = u64>) {
        let unknown: Vec<u64> = addresses.filter(|a| !self.known.contains_key(a)).collect();
        if !unknown.is_empty() {
            let found = match File::open("/proc/kallsyms") {
                Ok(file) => search(BufReader::with_capacity(1 << 16, file), unknown),
                Err(_) => unknown.into_iter().map(|a| (a, String::new())).collect(),
            };
            self.known.extend(found);
        }
    }

    /// A name that was looked up; empty when it is hidden from this process
    /// (`kernel.kptr_restrict`) or unknown.
    pub(super) fn name(&self, address: u64) -> String {
        self.known.get(&address).cloned().unwrap_or_default()
    }
}

/// Lines of `address type name [module]`, modules' after the kernel's, so not all in order.
fn search(mut file: impl BufRead, mut wanted: Vec<u64>) -> BTreeMap<u64, String> {
    wanted.sort_unstable();
    wanted.dedup();
    let mut best = vec![(0, String::new()); wanted.len()];
    let mut line = String::new();
    while file.read_line(&mut line).is_ok_and(|n| n > 0) {
        let mut words = line.split_ascii_whitespace();
        if let (Some(Ok(start)), Some("t" | "T" | "w" | "W"), Some(name)) = (
            words.next().map(|w| u64::from_str_radix(w, 16)),
            words.next(),
            words.next(),
        ) {
            // A return address is behind its call, so behind its function's first byte.
            let first = wanted.partition_point(|&address| address <= start);
            for (found, symbol) in &mut best[first..] {
                if start > *found {
                    *found = start;
                    name.clone_into(symbol);
                }
            }
        }
        line.clear();
    }
    wanted
        .into_iter()
        .zip(best)
        .map(|(address, (_, name))| (address, without_suffix(&name)))
        .collect()
}

/// The compiler's copies of a function (`.constprop.0`, `.isra.0`, `.cold`) by its own name.
fn without_suffix(name: &str) -> String {
    name.split('.').next().unwrap_or("").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "ffffffff81000000 T _stext\n\
                        ffffffff81a00100 t ip_rcv_finish_core.constprop.0\n\
                        ffffffff81a00180 d not_a_function\n\
                        ffffffff81a00400 T ip_rcv\n\
                        ffffffffc0001000 t veth_xmit\t[veth]\n";

    #[test]
    fn an_address_belongs_to_the_function_before_it() {
        let found = search(
            FILE.as_bytes(),
            vec![
                0xffff_ffff_c000_1042,
                0xffff_ffff_81a0_01c3,
                0xffff_ffff_81a0_0400,
            ],
        );
        assert_eq!(found[&0xffff_ffff_c000_1042], "veth_xmit");
        assert_eq!(found[&0xffff_ffff_81a0_01c3], "ip_rcv_finish_core");
        // An address at a function's start returned from the end of the one before.
        assert_eq!(found[&0xffff_ffff_81a0_0400], "ip_rcv_finish_core");
    }

    #[test]
    fn hidden_addresses_give_no_names() {
        let hidden = "0000000000000000 T _stext\n0000000000000000 T ip_rcv\n";
        let found = search(hidden.as_bytes(), vec![0xffff_ffff_81a0_0410]);
        assert_eq!(found[&0xffff_ffff_81a0_0410], "");
    }
}
