//! Settings of a NIC's driver: fixed structures of 32-bit words that are read, changed in some
//! words, and written whole (`struct ethtool_ringparam` and its like in `linux/ethtool.h`).

pub(super) mod channels;
pub(super) mod coalescing;
pub(super) mod pause;
pub(super) mod ring;

use hawser_model::names::InterfaceName;

use crate::KernelError;
use crate::ethtool::Ethtool;

/// One of the structures: its two commands and its length in words, the command included.
struct Words {
    get: u32,
    get_name: &'static str,
    set: u32,
    set_name: &'static str,
    length: usize,
}

impl Words {
    fn read(&self, interface: &InterfaceName) -> Result<Vec<u32>, KernelError> {
        Ethtool::open()?
            .words(interface.as_str(), self.get, &vec![0; self.length - 1])
            .map_err(|e| KernelError::call(self.get_name, interface, e))
    }

    fn write(&self, interface: &InterfaceName, words: &[u32]) -> Result<(), KernelError> {
        Ethtool::open()?
            .words(interface.as_str(), self.set, &words[1..])
            .map(|_| ())
            .map_err(|e| KernelError::call(self.set_name, interface, e))
    }
}

/// `on` or `off`.
fn switch(word: u32) -> &'static str {
    if word == 0 { "off" } else { "on" }
}

/// The pairs of `rx on tx off` in the order of `names`, each value read by `value`.
fn pairs<const N: usize>(
    text: &str,
    names: [&str; N],
    value: impl Fn(&str) -> Option<u32>,
) -> Result<[u32; N], KernelError> {
    let wrong = || KernelError::Absent(format!("`{text}`: wanted are {}", names.join(", ")));
    let parts: Vec<&str> = text.split_whitespace().collect();
    if parts.len() != 2 * N {
        return Err(wrong());
    }
    let mut found = [0; N];
    for (place, (pair, name)) in parts.chunks(2).zip(names).enumerate() {
        if pair[0] != name {
            return Err(wrong());
        }
        found[place] = value(pair[1]).ok_or_else(wrong)?;
    }
    Ok(found)
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

fn on_or_off(text: &str) -> Option<u32> {
    match text {
        "on" => Some(1),
        "off" => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_in_its_own_order_only() {
        let read = |text| pairs(text, ["rx", "tx"], on_or_off);
        assert_eq!(read("rx on tx off").unwrap(), [1, 0]);
        assert!(read("tx on rx off").is_err() && read("rx on").is_err());
        assert!(read("rx on tx 3").is_err());
    }
}
