//! Wilcoxon's signed-rank test on paired differences, exact, and the Hodges-Lehmann estimate with
//! its interval (Hollander & Wolfe, Nonparametric Statistical Methods, 3.1 to 3.3).
//!
//! The order within each pair was chosen by a coin, so if the change does nothing each difference
//! is as likely to be negative as positive, whatever the noise looks like: the test is exact by
//! design and not by assumption. Ties share their rank, zeros have none; the distribution is of
//! the ranks as they are.

use hawser_model::statistics::median;

/// The chance of a sum of ranks of negative differences at least as large as the one seen, if the
/// change did nothing: small when differences are negative.
pub(super) fn chance_if_less(differences: &[f64]) -> f64 {
    let mut ranked: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    ranked.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranks = doubled_ranks(&ranked);
    let seen: usize = ranked
        .iter()
        .zip(&ranks)
        .filter(|(d, _)| **d < 0.0)
        .map(|(_, rank)| rank)
        .sum();
    let ways = ways(&ranks);
    let as_extreme: f64 = ways[seen..].iter().sum();
    as_extreme / 2f64.powi(ranks.len() as i32)
}

/// The median of all pairwise means, and the interval between two of them that holds the true
/// shift with a chance of `confidence` or more. `None` without differences, or where so few
/// cannot give that confidence.
pub(super) fn shift(differences: &[f64], confidence: f64) -> Option<(f64, [f64; 2])> {
    let n = differences.len();
    let mut means: Vec<f64> = (0..n)
        .flat_map(|i| (i..n).map(move |j| (i, j)))
        .map(|(i, j)| (differences[i] + differences[j]) / 2.0)
        .collect();
    means.sort_by(f64::total_cmp);
    let ranks: Vec<usize> = (1..=n).map(|rank| 2 * rank).collect();
    let ways = ways(&ranks);
    let total = 2f64.powi(n as i32);
    // The largest number of means to leave out at each end.
    let tail = (1.0 - confidence) / 2.0;
    let mut below = 0.0;
    let mut leave = None;
    for sum in 0..=means.len() {
        below += ways.get(2 * sum)? / total;
        if below > tail {
            break;
        }
        leave = Some(sum);
    }
    let leave = leave?;
    Some((
        median(means.iter().copied()),
        [means[leave], means[means.len() - 1 - leave]],
    ))
}

/// Ranks by size, times two so that a shared rank is whole.
fn doubled_ranks(sorted: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    while ranks.len() < sorted.len() {
        let first = ranks.len();
        let size = sorted[first].abs();
        let same = sorted[first..]
            .iter()
            .take_while(|d| d.abs() == size)
            .count();
        // Ranks first+1 to first+same; twice their mean.
        ranks.extend(std::iter::repeat_n(2 * first + same + 1, same));
    }
    ranks
}

/// How many of all choices of signs give each sum of ranks.
fn ways(ranks: &[usize]) -> Vec<f64> {
    let mut ways = vec![0.0; ranks.iter().sum::<usize>() + 1];
    ways[0] = 1.0;
    let mut largest = 0;
    for &rank in ranks {
        for sum in (0..=largest).rev() {
            ways[sum + rank] += ways[sum];
        }
        largest += rank;
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Critical values of the published table (Hollander & Wolfe, table A.4): P(T >= 28) for
    /// n = 7 is 1/128, P(T >= 47) for n = 10 is 0.024.
    #[test]
    fn chances_are_those_of_the_published_table() {
        let all_less: Vec<f64> = (1..=7).map(|d| -f64::from(d)).collect();
        assert_eq!(chance_if_less(&all_less), 1.0 / 128.0);
        let mut ten: Vec<f64> = (1..=10).map(|d| -f64::from(d)).collect();
        ten[7] = 8.0; // sum of negative ranks: 55 - 8 = 47
        assert!((chance_if_less(&ten) - 0.0244).abs() < 0.0001);
        assert_eq!(chance_if_less(&[0.0; 9]), 1.0);
        assert_eq!(chance_if_less(&[-1.0, 1.0]), 0.75, "tied ranks");
    }

    /// The example of Hollander & Wolfe 3.1 and 3.3 (Hamilton's depression scale, n = 9): the
    /// estimate is -0.46 and the interval of 96 % is -0.786 to -0.010.
    #[test]
    fn shift_is_that_of_the_textbook_example() {
        let z = [
            -0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010,
        ];
        let (estimate, [low, high]) = shift(&z, 0.95).unwrap();
        assert!((estimate - -0.46).abs() < 0.001, "{estimate}");
        assert!((low - -0.786).abs() < 0.001, "{low}");
        assert!((high - -0.010).abs() < 0.001, "{high}");
        assert!((chance_if_less(&z) - 0.0195).abs() < 0.0001);
        assert!(shift(&z[..3], 0.95).is_none(), "three pairs cannot tell");
    }
}
