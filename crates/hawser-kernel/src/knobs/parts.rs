//! The parts of a value. Some knobs are many settings, which the kernel is told one by one: `24=0-3 25=0-3`, `adaptive off usecs 50`. Whoever is
//! ended in the middle of a turn leaves some of them turned.

use std::collections::BTreeMap;

use hawser_model::knob::Knob;

/// Parts by what has them (an interrupt, a port) and their place in its value.
pub(crate) type Parts<'a> = BTreeMap<(&'a str, usize), &'a str>;

/// What stands between the parts of what one interrupt, port or card has; `None` of a knob that is one setting.
fn between(knob: &Knob) -> Option<&'static str> {
    match knob {
        Knob::Interrupts { .. } | Knob::Coalescing { .. } => Some(" "),
        Knob::ReceiverSteering { .. } => Some("/"),
        Knob::ReceiverThreads { .. } => Some(","),
        _ => None,
    }
}

/// A value in parts; one part if the knob is one setting.
pub(crate) fn parts<'a>(knob: &Knob, value: &'a str) -> Parts<'a> {
    let Some(between) = between(knob) else {
        return Parts::from([(("", 0), value)]);
    };
    let each = each(knob, value).into_iter().flat_map(|(name, value)| {
        let parts = value.split(between).enumerate();
        parts.map(move |(place, part)| ((name, place), part))
    });
    each.collect()
}

/// A value with other parts in it.
pub(crate) fn with_parts(knob: &Knob, value: &str, other: &Parts<'_>) -> String {
    let Some(between) = between(knob) else {
        return (*other.get(&("", 0)).unwrap_or(&value)).to_owned();
    };
    let each = each(knob, value).into_iter().map(|(name, value)| {
        let parts = value.split(between).enumerate();
        let parts = parts.map(|(place, part)| *other.get(&(name, place)).unwrap_or(&part));
        let parts = parts.collect::<Vec<_>>().join(between);
        match name {
            "" => parts,
            name => format!("{name}={parts}"),
        }
    });
    each.collect::<Vec<_>>().join(" ")
}

/// Whether two values come to the same: each part that both have is. Others have come or gone.
pub(crate) fn same(knob: &Knob, one: &str, other: &str) -> bool {
    let (one, other) = (parts(knob, one), parts(knob, other));
    one.iter()
        .all(|(name, part)| other.get(name).is_none_or(|o| o == part))
}

/// What has parts, and its value. A card has no name in its own.
fn each<'a>(knob: &Knob, value: &'a str) -> Vec<(&'a str, &'a str)> {
    match knob {
        Knob::Coalescing { .. } => vec![("", value)],
        _ => items(value).collect(),
    }
}

/// The items of `24=0-3 25=0-3`.
pub(super) fn items(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let items = value.split_whitespace();
    items.filter_map(|item| item.split_once('='))
}

#[cfg(test)]
mod tests {
    use hawser_model::knob::Side;

    use super::*;

    fn steering() -> Knob {
        Knob::ReceiverSteering {
            bridge: "br0".into(),
        }
    }

    #[test]
    fn receivers_that_came_or_went_make_no_difference_and_one_that_was_set_anew_does() {
        let agree = |one, other| same(&steering(), one, other);
        assert!(agree("a=1 b=2", "a=1 b=2"));
        assert!(agree("a=1", "a=1 b=2"), "b has ended");
        assert!(agree("a=1 c=0", "a=1 b=2"), "c is new");
        assert!(!agree("a=1 b=4", "a=1 b=2"));
        assert!(agree("", "a=1"));
    }

    #[test]
    fn a_value_is_put_together_again_as_it_was_taken_apart() {
        let threads = Knob::ReceiverThreads {
            bridge: "br0".into(),
        };
        let interrupts = Knob::Interrupts {
            interface: "eth0".into(),
        };
        let mtu = Knob::Mtu {
            interface: "eth0".into(),
        };
        let coalescing = Knob::Coalescing {
            interface: "eth0".into(),
            side: Side::Rx,
        };
        for (knob, value, of, changed) in [
            (steering(), "a=1,0/2 b=3", ("a", 1), "a=1,0/X b=3"),
            (threads, "a=on,1 b=off,0", ("b", 0), "a=on,1 b=X,0"),
            (interrupts, "24=0,2-3 25=1", ("24", 0), "24=X 25=1"),
            (mtu, "1500", ("", 0), "X"),
            // Some cards take the number before the switch.
            (
                coalescing,
                "adaptive off usecs 50",
                ("", 1),
                "adaptive X usecs 50",
            ),
        ] {
            assert_eq!(with_parts(&knob, value, &parts(&knob, value)), value);
            let other = Parts::from([(of, "X")]);
            assert_eq!(with_parts(&knob, value, &other), changed);
        }
    }
}
