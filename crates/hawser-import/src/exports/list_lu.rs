//! `stmfadm list-lu -v`.

use super::{Offered, Unit};
use crate::page::Page;
use crate::place::{Malformed, quoted};
use crate::source::Source;

/// Reads what was printed.
pub(crate) fn read(
    source: &Source,
    offered: &mut Offered,
    page: &mut Page,
) -> Result<(), Malformed> {
    let mut open: Option<Unit> = None;
    let mut any = false;
    for (i, line) in source.text.lines().enumerate() {
        let at = source.at(i + 1);
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        if key == "LU Name" {
            close(open.take(), offered, page);
            any = true;
            let digits = value.len() == 32 && value.chars().all(|c| c.is_ascii_hexdigit());
            if !digits || !value.starts_with('6') {
                return Err(Malformed::new(
                    &at,
                    format!("LU Name {}", quoted(value)),
                    "32 hexadecimal digits that begin with 6",
                ));
            }
            let mut unit = Unit::new("", &at);
            unit.naa = Some(value.to_owned());
            open = Some(unit);
            continue;
        }
        let Some(unit) = &mut open else { continue };
        match (key, value) {
            ("Data File", path) => unit.path = path.to_owned(),
            ("Block Size", size) => match size.parse::<u32>() {
                Ok(size) if size.is_power_of_two() && size >= 512 => {
                    unit.block_size = Some(size).filter(|n| *n != 512);
                }
                _ => {
                    let found = format!("Block Size {}", quoted(size));
                    let allowed = "512, 4096 or another power of two above";
                    return Err(Malformed::new(&at, found, allowed));
                }
            },
            ("Write Protect", "Enabled") => unit.read_only = true,
            ("Writeback Cache", "Enabled") => unit.write_cache = Some(true),
            ("Writeback Cache", "Disabled") => unit.write_cache = Some(false),
            _ => {}
        }
    }
    close(open, offered, page);
    match any {
        true => Ok(()),
        false => Err(Malformed::new(
            &source.at(1),
            "no \"LU Name:\"",
            "what `stmfadm list-lu -v` prints",
        )),
    }
}

fn close(unit: Option<Unit>, offered: &mut Offered, page: &mut Page) {
    let Some(unit) = unit else { return };
    if unit.path.is_empty() {
        return page.unsaid(&unit.at, "a unit", "it has no data file: print it with -v");
    }
    offered.units.push(unit);
}
