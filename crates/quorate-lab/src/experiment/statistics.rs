//! Statistics of a figure over several independent runs.

use std::f64::consts::FRAC_2_PI;

/// Summary of a sample of independent figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Number of figures in the sample.
    pub count: u64,
    /// Mean of the sample.
    pub mean: f64,
    /// Sample standard deviation (n - 1); `None` for a single figure.
    pub deviation: Option<f64>,
}

impl Statistics {
    /// Summarizes these figures; `None` if there are none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        // Welford's method: one pass, and no difference of large squares.
        let (mut count, mut mean, mut squares) = (0u64, 0.0, 0.0);
        for figure in figures {
            count += 1;
            let off: f64 = figure - mean;
            mean += off / count as f64;
            squares += off * (figure - mean);
        }
        let deviation = (count > 1).then(|| (squares / (count - 1) as f64).sqrt());
        (count > 0).then_some(Self { count, mean, deviation })
    }

    /// Half the width of the 95 % confidence interval around the mean, by Student's t; `None` for a single figure.
    pub fn half_width(&self) -> Option<f64> {
        let deviation = self.deviation?;
        Some(t_95(self.count - 1) * deviation / (self.count as f64).sqrt())
    }
}

/// The value that the absolute of Student's t with this number of degrees of freedom does not exceed with probability 0.95.
fn t_95(freedom: u64) -> f64 {
    // The distribution is increasing, so that halving the interval finds the value. The largest is 12.7, of one degree.
    let (mut low, mut high) = (1.0, 13.0);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        match probability_within(middle, freedom) < 0.95 {
            true => low = middle,
            false => high = middle,
        }
    }
}

/// Probability that the absolute of Student's t does not exceed a value: Abramowitz and Stegun, equations 26.7.3 and 26.7.4,
/// which are finite sums for whole degrees of freedom.
fn probability_within(t: f64, freedom: u64) -> f64 {
    // The functions of libm give the same bits on every machine.
    let angle = libm::atan(t / (freedom as f64).sqrt());
    let (sine, cosine) = libm::sincos(angle);
    let is_odd = freedom % 2 == 1;
    let (mut term, mut sum) = (if is_odd { cosine } else { 1.0 }, 0.0);
    for k in (2 + freedom % 2..=freedom).step_by(2) {
        sum += term;
        term *= cosine * cosine * (k - 1) as f64 / k as f64;
    }
    match is_odd {
        true => (angle + sine * sum) * FRAC_2_PI,
        false => sine * sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_textbook_sample_has_its_mean_deviation_and_interval() {
        let sample = Statistics::of([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((sample.count, sample.mean), (8, 5.0));
        assert!((sample.deviation.unwrap() - 2.138_090).abs() < 1e-6);
        // t for seven degrees of freedom is 2.364624.
        assert!((sample.half_width().unwrap() - 1.787_488).abs() < 1e-5);
    }

    #[test]
    fn t_is_that_of_the_printed_tables() {
        for (freedom, t) in [
            (1, 12.706_205),
            (2, 4.302_653),
            (3, 3.182_446),
            (4, 2.776_445),
            (9, 2.262_157),
            (10, 2.228_139),
            (30, 2.042_272),
            (99, 1.984_217),
            (120, 1.979_930),
            (99_999, 1.959_988),
        ] {
            let computed = t_95(freedom);
            assert!((computed - t).abs() < 1e-6, "{freedom} degrees of freedom: {computed}");
        }
    }

    #[test]
    fn few_figures_say_little() {
        assert_eq!(Statistics::of([]), None);
        let one = Statistics::of([3.0]).unwrap();
        assert_eq!((one.mean, one.deviation, one.half_width()), (3.0, None, None));
        let same = Statistics::of([3.0, 3.0]).unwrap();
        assert_eq!((same.deviation, same.half_width()), (Some(0.0), Some(0.0)));
    }
}
