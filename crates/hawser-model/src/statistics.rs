//! Medians and quantiles of measured values, and how they are rounded.

/// The `share`-quantile, between neighbours by proportion; 0 without values.
pub fn quantile(values: impl IntoIterator<Item = f64>, share: f64) -> f64 {
    let sorted = sorted(values);
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(last);
    sorted[below] * (1.0 - part) + sorted[above] * part
}

/// The value in the middle, or the mean of the two there; 0 without values.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

/// The value in the middle, the upper one of two there: one that was measured. `None` without values.
pub fn upper_median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let sorted = sorted(values);
    sorted.get(sorted.len() / 2).copied()
}

/// To so many decimals, and never −0.
pub fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    let rounded = (value * scale).round() / scale;
    if rounded == 0.0 { 0.0 } else { rounded }
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let values = [5.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(values, 0.0), 1.0);
        assert_eq!(quantile(values, 1.0), 5.0);
        assert_eq!(quantile([7.0], 0.9), 7.0);
        assert_eq!(quantile([], 0.5), 0.0);
        assert_eq!((median(values), upper_median(values)), (2.5, Some(3.0)));
        assert_eq!((median([]), upper_median([])), (0.0, None));
    }

    #[test]
    fn a_number_is_rounded_to_its_decimals() {
        assert_eq!(rounded(1.25, 1), 1.3);
        assert!(rounded(-0.04, 1).is_sign_positive());
    }
}
