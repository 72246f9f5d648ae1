//! Names of drop reasons, from the running kernel's type information (BTF).
//!
//! A list written down here would be wrong for every other kernel: the numbers move.

use std::collections::BTreeMap;
use std::path::Path;

use crate::KernelError;
use crate::netlink::{text, u16_at, u32_at};

const VMLINUX: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xeb9f;

/// `enum skb_drop_reason` and, for the upper half of a reason, `enum skb_drop_reason_subsys`.
#[derive(Default)]
pub(super) struct Names {
    core: BTreeMap<u32, String>,
    subsystems: BTreeMap<u32, String>,
}

impl Names {
    /// Those of the running kernel.
    pub(super) fn read() -> Result<Self, KernelError> {
        let path = Path::new(VMLINUX);
        let file = std::fs::read(path).map_err(|source| KernelError::File {
            call: "read",
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&file).ok_or_else(|| KernelError::Format {
            path: path.to_owned(),
            what: "no enum skb_drop_reason (the kernel is older than 5.17)".to_owned(),
        })
    }

    fn parse(btf: &[u8]) -> Option<Self> {
        if u16_at(btf, 0)? != MAGIC {
            return None;
        }
        let word = |offset| Some(u32_at(btf, offset)? as usize);
        let header = word(4)?;
        let (types, types_length) = (header + word(8)?, word(12)?);
        let (strings, strings_length) = (header + word(16)?, word(20)?);
        let mut types = btf.get(types..types + types_length)?;
        let strings = btf.get(strings..strings + strings_length)?;
        let string = |offset: u32| strings.get(offset as usize..).map(text);
        let mut names = Self::default();
        while let (Some(name), Some(info)) = (u32_at(types, 0), u32_at(types, 4)) {
            let (kind, count) = (info >> 24 & 0x1f, info as usize & 0xffff);
            let body = 12 + body_length(kind, count)?;
            if kind == KIND_ENUM {
                let (into, prefix) = match string(name)?.as_str() {
                    "skb_drop_reason" => (&mut names.core, "SKB_DROP_REASON_"),
                    "skb_drop_reason_subsys" => (&mut names.subsystems, "SKB_DROP_REASON_SUBSYS_"),
                    _ => {
                        types = types.get(body..)?;
                        continue;
                    }
                };
                for member in types.get(12..body)?.chunks_exact(8) {
                    let name = string(u32_at(member, 0)?)?;
                    let short = name.strip_prefix(prefix).unwrap_or(&name);
                    into.insert(u32_at(member, 4)?, short.to_owned());
                }
            }
            types = types.get(body..)?;
        }
        (!names.core.is_empty()).then_some(names)
    }

    /// The kernel's name for a reason; a subsystem's own reasons are numbers below its name.
    /// None for the "reasons" of packets that were not dropped.
    pub(super) fn of(&self, reason: u32) -> Option<String> {
        let (subsystem, number) = (reason >> 16, reason & 0xffff);
        let name = match (self.core.get(&reason), self.subsystems.get(&subsystem)) {
            (Some(name), _) => name.clone(),
            (None, Some(subsystem)) => format!("{subsystem}/{number}"),
            (None, None) => format!("{subsystem}/{number}"),
        };
        let dropped = !matches!(
            name.as_str(),
            "SKB_CONSUMED" | "CONSUMED" | "SKB_NOT_DROPPED_YET" | "NOT_DROPPED_YET"
        );
        dropped.then_some(name)
    }
}

const KIND_ENUM: u32 = 6;

/// Bytes after a type's first twelve (`Documentation/bpf/btf.rst`).
fn body_length(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        2 | 7..=12 | 16 | 18 => 0,
        1 | 14 | 17 => 4,
        3 => 12,
        KIND_ENUM | 13 => 8 * count,
        4 | 5 | 15 | 19 => 12 * count,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A BTF with an integer, a struct of one member and the two enums.
    fn btf() -> Vec<u8> {
        let strings = b"\0int\0other\0skb_drop_reason\0SKB_CONSUMED\0SKB_DROP_REASON_NO_SOCKET\0\
                        skb_drop_reason_subsys\0SKB_DROP_REASON_SUBSYS_OPENVSWITCH\0";
        let at = |wanted: &str| {
            let all = String::from_utf8(strings.to_vec()).unwrap();
            (all.find(&format!("\0{wanted}\0")).unwrap() + 1) as u32
        };
        let words: Vec<u32> = vec![
            at("int"),
            1 << 24,
            4,
            32,
            at("other"),
            4 << 24 | 1,
            4,
            0,
            1,
            0,
            at("skb_drop_reason"),
            6 << 24 | 2,
            4,
            at("SKB_CONSUMED"),
            1,
            at("SKB_DROP_REASON_NO_SOCKET"),
            3,
            at("skb_drop_reason_subsys"),
            6 << 24 | 1,
            4,
            at("SKB_DROP_REASON_SUBSYS_OPENVSWITCH"),
            3,
        ];
        let types: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let mut file = MAGIC.to_ne_bytes().to_vec();
        file.extend([1, 0]);
        for word in [24, 0, types.len(), types.len(), strings.len()] {
            file.extend((word as u32).to_ne_bytes());
        }
        file.extend(types);
        file.extend(strings);
        file
    }

    #[test]
    fn reasons_are_named_as_the_kernel_names_them() {
        let names = Names::parse(&btf()).unwrap();
        assert_eq!(names.of(3).as_deref(), Some("NO_SOCKET"));
        assert_eq!(names.of(1), None, "consumed is not dropped");
        assert_eq!(names.of(3 << 16 | 7).as_deref(), Some("OPENVSWITCH/7"));
        assert_eq!(names.of(9).as_deref(), Some("0/9"));
    }

    #[test]
    fn type_information_without_the_enum_or_cut_short_has_no_names() {
        let file = btf();
        for length in 0..file.len() {
            assert!(Names::parse(&file[..length]).is_none(), "{length} bytes");
        }
        let mut other = file;
        let at = other.windows(4).position(|w| w == b"skb_").unwrap();
        other[at] = b'x';
        assert!(Names::parse(&other).is_none());
    }

    #[test]
    fn the_running_kernel_has_the_reasons_the_accounts_rest_on() {
        let Ok(names) = Names::read() else {
            return assert!(
                !Path::new(VMLINUX).exists(),
                "BTF is there but not understood"
            );
        };
        let known: Vec<&String> = names.core.values().collect();
        for reason in [
            "NO_SOCKET",
            "SOCKET_RCVBUFF",
            "QDISC_DROP",
            "NETFILTER_DROP",
        ] {
            assert!(known.iter().any(|name| *name == reason), "{reason}");
        }
    }
}
