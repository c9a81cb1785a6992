//! Figures as the monograph prints them, and which of them cannot be right.

use quorate_sim::scenario::Requesters;

use super::super::crashes::Failures;

/// Numbers of processes in the monograph.
pub(super) const SIZES: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];

/// One column of a printed table: messages per entry and their deviation, for each of [`SIZES`].
#[derive(Debug)]
pub(super) struct Printed {
    pub(super) table: &'static str,
    pub(super) generator: &'static str,
    pub(super) requesters: Requesters,
    pub(super) failures: Failures,
    /// Messages per entry, truncated to whole numbers.
    means: [u32; 7],
    sigmas: [f64; 7],
}

/// A printed figure that cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Misprint {
    /// Whether the mean is wrong; otherwise only the deviation is wrong.
    pub(super) mean: bool,
    pub(super) reason: &'static str,
}

const WITHOUT_RELEASE: &str = "two thirds of the right value: RELEASE was not counted. The printed deviation fits the \
                               wrong mean, and with one failure the monograph prints the right one for the same quorum";
const OTHERWISE_ELSEWHERE: &str =
    "the deviation does not fit its mean; Table 5.5 prints 80.03 for the same run";
const AS_WITH_ONE_FAILURE: &str = "the deviation does not fit its mean, whichever processes sent the messages: with \
                                   one failure 3050.09 is printed beside the same mean";
const NO_SUCH_RUN: &str = "the deviation does not fit its mean; and a run with one crash takes 13 to 16 messages, \
                           whichever process crashes and when";
const SUSPECT: &str = "the deviation does not fit its mean, whichever processes sent the messages; and the mean \
                       itself is less than three quarters of the mean with one failure, and two crashes cannot save \
                       that much";

impl Printed {
    /// The printed mean and deviation; `None` if the monograph does not cover this size.
    pub(super) fn at(&self, n: usize) -> Option<(u32, f64)> {
        let place = SIZES.iter().position(|size| *size == n)?;
        Some((self.means[place], self.sigmas[place]))
    }

    /// Reason why the printed figures of this size cannot be right, if so.
    pub(super) fn misprint(&self, n: usize) -> Option<Misprint> {
        let mean = |reason| Some(Misprint { mean: true, reason });
        let sigma = |reason| Some(Misprint { mean: false, reason });
        match (self.table, self.generator, self.failures, n) {
            ("5.1", "grid", Failures::None, 256 | 512) => mean(WITHOUT_RELEASE),
            ("5.1", "vcube", Failures::None, 512) => mean(WITHOUT_RELEASE),
            ("5.1", "grid", Failures::None, 16) => sigma(OTHERWISE_ELSEWHERE),
            ("5.5", "grid", Failures::Two, 512) => sigma(AS_WITH_ONE_FAILURE),
            ("5.7", "vcube", Failures::One, 8) => sigma(NO_SUCH_RUN),
            ("5.7", "vcube", Failures::Two, 512) => sigma(SUSPECT),
            _ => None,
        }
    }
}

/// Tables 5.1 to 5.8 as printed.
pub(super) const PRINTED: [Printed; 24] = [
    Printed {
        table: "5.1",
        generator: "grid",
        requesters: Requesters::One,
        failures: Failures::None,
        means: [15, 21, 33, 45, 66, 62, 90],
        sigmas: [38.40, 80.00, 182.23, 355.70, 742.22, 988.65, 2033.01],
    },
    Printed {
        table: "5.1",
        generator: "tree",
        requesters: Requesters::One,
        failures: Failures::None,
        means: [12, 15, 18, 21, 24, 27, 30],
        sigmas: [30.79, 57.22, 99.46, 166.05, 269.94, 430.73, 677.82],
    },
    Printed {
        table: "5.1",
        generator: "vcube",
        requesters: Requesters::One,
        failures: Failures::None,
        means: [15, 27, 51, 99, 195, 387, 514],
        sigmas: [38.40, 102.83, 281.55, 782.42, 2192.80, 6173.21, 11_610.63],
    },
    Printed {
        table: "5.2",
        generator: "grid",
        requesters: Requesters::All,
        failures: Failures::None,
        means: [18, 26, 40, 55, 85, 118, 170],
        sigmas: [2.66, 1.60, 5.70, 3.39, 10.51, 6.59, 14.49],
    },
    Printed {
        table: "5.2",
        generator: "tree",
        requesters: Requesters::All,
        failures: Failures::None,
        means: [16, 20, 24, 28, 32, 36, 40],
        sigmas: [6.00, 12.04, 21.19, 34.86, 55.13, 85.12, 129.36],
    },
    Printed {
        table: "5.2",
        generator: "vcube",
        requesters: Requesters::All,
        failures: Failures::None,
        means: [19, 33, 61, 119, 236, 469, 937],
        sigmas: [1.17, 2.27, 4.59, 8.08, 17.79, 36.61, 72.62],
    },
    Printed {
        table: "5.3",
        generator: "tree",
        requesters: Requesters::One,
        failures: Failures::One,
        means: [12, 16, 22, 28, 34, 40, 46],
        sigmas: [30.79, 61.09, 121.58, 221.39, 382.41, 638.11, 1039.32],
    },
    Printed {
        table: "5.3",
        generator: "tree",
        requesters: Requesters::One,
        failures: Failures::Two,
        means: [11, 19, 22, 28, 34, 40, 46],
        sigmas: [28.44, 72.49, 121.58, 221.39, 382.41, 638.11, 1039.32],
    },
    Printed {
        table: "5.3",
        generator: "tree",
        requesters: Requesters::One,
        failures: Failures::Half,
        means: [14, 15, 18, 43, 57, 87, 104],
        sigmas: [36.05, 57.42, 99.46, 340.01, 640.90, 1387.94, 2349.67],
    },
    Printed {
        table: "5.4",
        generator: "tree",
        requesters: Requesters::All,
        failures: Failures::One,
        means: [18, 22, 25, 29, 33, 37, 41],
        sigmas: [6.18, 11.71, 20.36, 34.15, 55.03, 83.64, 128.25],
    },
    Printed {
        table: "5.4",
        generator: "tree",
        requesters: Requesters::All,
        failures: Failures::Two,
        means: [19, 28, 28, 32, 36, 40, 44],
        sigmas: [7.99, 13.16, 21.51, 36.10, 55.38, 84.50, 128.89],
    },
    Printed {
        table: "5.4",
        generator: "tree",
        requesters: Requesters::All,
        failures: Failures::Half,
        means: [25, 55, 52, 69, 91, 116, 128],
        sigmas: [19.63, 42.15, 43.41, 63.34, 89.82, 133.09, 184.60],
    },
    Printed {
        table: "5.5",
        generator: "grid",
        requesters: Requesters::One,
        failures: Failures::One,
        means: [15, 21, 33, 45, 66, 93, 135],
        sigmas: [38.40, 80.03, 182.23, 355.70, 742.22, 1483.52, 3050.09],
    },
    Printed {
        table: "5.5",
        generator: "grid",
        requesters: Requesters::One,
        failures: Failures::Two,
        means: [16, 27, 38, 45, 66, 129, 135],
        sigmas: [41.03, 102.83, 209.78, 355.70, 742.22, 2057.68, 3004.34],
    },
    Printed {
        table: "5.5",
        generator: "grid",
        requesters: Requesters::One,
        failures: Failures::Half,
        means: [15, 19, 37, 47, 79, 100, 164],
        sigmas: [38.69, 72.49, 204.47, 371.65, 888.61, 1595.28, 3705.43],
    },
    Printed {
        table: "5.6",
        generator: "grid",
        requesters: Requesters::All,
        failures: Failures::One,
        means: [22, 30, 52, 68, 103, 136, 199],
        sigmas: [4.84, 4.83, 7.69, 7.44, 14.11, 12.88, 21.00],
    },
    Printed {
        table: "5.6",
        generator: "grid",
        requesters: Requesters::All,
        failures: Failures::Two,
        means: [25, 42, 59, 65, 123, 164, 235],
        sigmas: [8.25, 10.85, 10.52, 10.05, 19.17, 16.44, 24.96],
    },
    Printed {
        table: "5.6",
        generator: "grid",
        requesters: Requesters::All,
        failures: Failures::Half,
        means: [32, 58, 164, 352, 1024, 2286, 4572],
        sigmas: [24.26, 43.94, 126.67, 269.72, 802.15, 1769.79, 3538.58],
    },
    Printed {
        table: "5.7",
        generator: "vcube",
        requesters: Requesters::One,
        failures: Failures::One,
        means: [22, 27, 52, 99, 195, 388, 771],
        sigmas: [55.80, 102.83, 287.11, 782.42, 2192.80, 6189.17, 17_419.25],
    },
    Printed {
        table: "5.7",
        generator: "vcube",
        requesters: Requesters::One,
        failures: Failures::Two,
        means: [14, 29, 51, 100, 197, 387, 564],
        sigmas: [36.05, 110.55, 281.55, 790.35, 2215.33, 6173.21, 12_753.124],
    },
    Printed {
        table: "5.7",
        generator: "vcube",
        requesters: Requesters::One,
        failures: Failures::Half,
        means: [13, 22, 41, 76, 145, 283, 560],
        sigmas: [33.42, 84.08, 226.71, 601.24, 1631.34, 4515.17, 12_653.49],
    },
    Printed {
        table: "5.8",
        generator: "vcube",
        requesters: Requesters::All,
        failures: Failures::One,
        means: [21, 35, 63, 121, 238, 471, 939],
        sigmas: [4.12, 5.42, 7.13, 10.84, 20.89, 39.95, 77.07],
    },
    Printed {
        table: "5.8",
        generator: "vcube",
        requesters: Requesters::All,
        failures: Failures::Two,
        means: [26, 36, 65, 121, 240, 473, 939],
        sigmas: [9.14, 7.65, 9.29, 14.91, 24.86, 41.12, 80.21],
    },
    Printed {
        table: "5.8",
        generator: "vcube",
        requesters: Requesters::All,
        failures: Failures::Half,
        means: [29, 49, 97, 181, 365, 703, 1447],
        sigmas: [21.01, 35.78, 70.80, 133.24, 265.80, 514.67, 1055.01],
    },
];
