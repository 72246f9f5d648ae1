//! Interrupt coalescing: how long a NIC waits before it interrupts.

use hawser_model::knob::Side;
use hawser_model::names::InterfaceName;

use super::{Words, number, on_or_off, pairs, switch};
use crate::KernelError;

const COALESCE: Words = Words {
    get: 0x0e,
    get_name: "ethtool ETHTOOL_GCOALESCE",
    set: 0x0f,
    set_name: "ethtool ETHTOOL_SCOALESCE",
    length: 23,
};

/// Words of "adaptive" and of the microseconds.
fn places(side: Side) -> (usize, usize) {
    match side {
        Side::Rx => (10, 1),
        Side::Tx => (11, 5),
    }
}

pub(in crate::knobs) fn read(interface: &InterfaceName, side: Side) -> Result<String, KernelError> {
    let words = COALESCE.read(interface)?;
    let (adaptive, usecs) = places(side);
    Ok(format!(
        "adaptive {} usecs {}",
        switch(words[adaptive]),
        words[usecs]
    ))
}

pub(in crate::knobs) fn write(
    interface: &InterfaceName,
    side: Side,
    value: &str,
) -> Result<(), KernelError> {
    let words = COALESCE.read(interface)?;
    let mut steps = steps(&words, side, value)?.into_iter();
    steps.try_for_each(|step| COALESCE.write(interface, &step))
}

/// What is written to a card that has these words, one after the other. Intel's drivers refuse other microseconds
/// together with adaptive (`i40e_set_coalesce`, `ice_set_rc_coalesce` and `iavf_set_itr_per_queue`, drivers/net/ethernet/intel),
/// so the microseconds go first, without it.
fn steps(words: &[u32], side: Side, value: &str) -> Result<Vec<Vec<u32>>, KernelError> {
    let (adaptive, usecs) = places(side);
    let either = |text: &str| on_or_off(text).or_else(|| number(text));
    let [switched, wanted] = pairs(value, ["adaptive", "usecs"], either)?;
    let with = |switched| {
        let mut words = words.to_vec();
        words[adaptive] = switched;
        words[usecs] = wanted;
        words
    };
    Ok(match switched != 0 && words[usecs] != wanted {
        true => vec![with(0), with(switched)],
        false => vec![with(switched)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card of Intel's, by the words that it has.
    struct Card(Vec<u32>);

    impl Card {
        fn new() -> Self {
            let mut words = vec![0; COALESCE.length];
            for side in [Side::Rx, Side::Tx] {
                let (adaptive, usecs) = places(side);
                (words[adaptive], words[usecs]) = (1, 50);
            }
            Self(words)
        }

        /// As its driver takes or refuses words.
        fn set(&mut self, words: Vec<u32>) {
            for (adaptive, usecs) in [places(Side::Rx), places(Side::Tx)] {
                let kept = words[usecs] == self.0[usecs];
                assert!(kept || words[adaptive] == 0, "EINVAL");
            }
            self.0 = words;
        }

        fn write(&mut self, side: Side, value: &str) -> usize {
            let steps = steps(&self.0, side, value).unwrap();
            let number = steps.len();
            steps.into_iter().for_each(|step| self.set(step));
            number
        }
    }

    #[test]
    fn a_card_that_refuses_microseconds_with_adaptive_has_its_own_again() {
        for side in [Side::Rx, Side::Tx] {
            let mut card = Card::new();
            let before = card.0.clone();
            assert_eq!(card.write(side, "adaptive off usecs 0"), 1);
            assert_ne!(card.0, before);
            assert_eq!(card.write(side, "adaptive on usecs 50"), 2);
            assert_eq!(card.0, before);
            // To and fro between other values too, and in one step where one does.
            assert_eq!(card.write(side, "adaptive off usecs 50"), 1);
            assert_eq!(card.write(side, "adaptive on usecs 50"), 1);
            assert_eq!(card.write(side, "adaptive on usecs 60"), 2);
        }
    }
}
