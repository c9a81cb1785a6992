//! Statistics of a figure over several independent runs.

use statrs::distribution::{ContinuousCDF, StudentsT};

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
        let freedom = self.count.checked_sub(1)? as f64;
        let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975);
        self.deviation.map(|deviation| t * deviation / (self.count as f64).sqrt())
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
    fn few_figures_say_little() {
        assert_eq!(Statistics::of([]), None);
        let one = Statistics::of([3.0]).unwrap();
        assert_eq!((one.mean, one.deviation, one.half_width()), (3.0, None, None));
        let same = Statistics::of([3.0, 3.0]).unwrap();
        assert_eq!((same.deviation, same.half_width()), (Some(0.0), Some(0.0)));
    }
}
