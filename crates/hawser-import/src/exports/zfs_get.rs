//! `zfs get` of the properties in which stmf-ha kept what it had given out.

use hawser_cluster::exports::LAST_LUN;

use super::{Offered, Unit};
use crate::page::Page;
use crate::place::{Malformed, quoted};
use crate::source::Source;

/// What the properties are called.
const OURS: &str = "org.illumos.stmf-ha:";

/// Reads `NAME PROPERTY VALUE [SOURCE]`, with or without its heading.
pub(crate) fn read(
    source: &Source,
    offered: &mut Offered,
    page: &mut Page,
) -> Result<(), Malformed> {
    let first = offered.units.len();
    for (i, line) in source.text.lines().enumerate() {
        let at = source.at(i + 1);
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, property, value, ..] = words[..] else {
            continue;
        };
        let Some(property) = property.strip_prefix(OURS) else {
            continue;
        };
        // A snapshot inherits what its volume has, and is no unit.
        if value == "-" || name.contains('@') {
            continue;
        }
        let path = format!("/dev/zvol/{name}");
        let known = offered.units[first..]
            .iter()
            .position(|unit| unit.path == path);
        let i = known.map_or(offered.units.len(), |i| first + i);
        if known.is_none() {
            offered.units.push(Unit::new(&path, &at));
        }
        let unit = &mut offered.units[i];
        let wrong = |allowed: &str| {
            let found = format!("{OURS}{property} of {}: {}", quoted(name), quoted(value));
            Err(Malformed::new(&at, found, allowed))
        };
        match property {
            "lun" => match value.parse() {
                Ok(lun) if lun <= LAST_LUN => unit.lun = Some(lun),
                _ => return wrong("a number from 0 to 16383"),
            },
            "guid" => {
                let digits = value.len() == 32 && value.chars().all(|c| c.is_ascii_hexdigit());
                if !digits || !value.starts_with('6') {
                    return wrong("32 hexadecimal digits that begin with 6");
                }
                unit.naa = Some(value.to_owned());
            }
            "blk" => match value.parse() {
                Ok(512) => {}
                Ok(4096) => unit.block_size = Some(4096),
                _ => return wrong("512 or 4096"),
            },
            _ => {
                page.unsaid(
                    &at,
                    format!("{OURS}{property} of {}", quoted(name)),
                    "exports.toml has no key for it",
                );
                continue;
            }
        }
        page.understood(
            &at,
            format!("{property} {value} of {}", quoted(name)),
            match property {
                "lun" => "[[unit]]: its number",
                _ => "[[unit]]: clients see the same disk",
            },
        );
    }
    match offered.units.len() > first {
        true => Ok(()),
        false => Err(Malformed::new(
            &source.at(1),
            format!("no property {OURS}…"),
            "what `zfs get -r all POOL` prints where stmf-ha has run",
        )),
    }
}
