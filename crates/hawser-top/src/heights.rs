//! How many rows of the screen each part has.

/// Gives each part the rows it needs, titles among them, or shares what there is: each has its title and a row, the part
/// that is looked at comes next, and the others in turn. Where that is too little, that part has what it needs, and those
/// after it what is left.
pub fn heights(needs: &[usize], first: usize, height: usize) -> Vec<usize> {
    let all: usize = needs.iter().sum();
    if all <= height {
        return needs.to_vec();
    }
    let mut given: Vec<usize> = needs.iter().map(|need| (*need).min(2)).collect();
    let least: usize = given.iter().sum();
    let Some(mut left) = height.checked_sub(least) else {
        return from(needs, first, height);
    };
    if let Some(need) = needs.get(first) {
        let more = (need - given[first]).min(left);
        given[first] += more;
        left -= more;
    }
    while left > 0 {
        for (given, need) in given.iter_mut().zip(needs) {
            if *given < *need && left > 0 {
                *given += 1;
                left -= 1;
            }
        }
    }
    given
}

/// Gives each part what it needs, from this one on, until nothing is left. A title alone says nothing.
fn from(needs: &[usize], first: usize, height: usize) -> Vec<usize> {
    let mut given = vec![0; needs.len()];
    let mut left = height;
    for at in (first..needs.len()).chain(0..first) {
        if left > 1 || at == first {
            given[at] = needs[at].min(left);
            left -= given[at];
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_is_shown_whole_and_what_does_not_shares() {
        assert_eq!(heights(&[2, 3, 4], 0, 9), [2, 3, 4]);
        assert_eq!(heights(&[2, 30, 4], 2, 12), [2, 6, 4]);
        assert_eq!(heights(&[20, 30, 4], 1, 12), [2, 8, 2]);
        assert_eq!(heights(&[20, 30, 4], 0, 5), [5, 0, 0]);
        assert_eq!(heights(&[20, 30, 3], 2, 5), [2, 0, 3]);
        assert_eq!(heights(&[20, 30, 3], 2, 4), [0, 0, 3]);
        assert_eq!(heights(&[], 0, 5), [0; 0]);
    }

    proptest! {
        #[test]
        fn no_row_is_given_twice_or_left_while_it_is_needed(
            needs in prop::collection::vec(1..40usize, 1..8),
            first in 0..8usize,
            height in 0..60usize,
        ) {
            let first = first % needs.len();
            let given = heights(&needs, first, height);
            let sum: usize = given.iter().sum();
            // A row that is left is too little for another part.
            let all = needs.iter().sum::<usize>().min(height);
            prop_assert!(sum == all || sum + 1 == all);
            prop_assert!(given.iter().zip(&needs).all(|(given, need)| given <= need));
            prop_assert!(given[first] > 0 || height == 0);
        }
    }
}
