//! The driver's failure detector in a scenario: how long it takes to notify its observers.

use super::delay::{Delay, LinkDelay};
use super::description::{DetectorChoice, Scenario};

/// Delays of the oracle.
#[derive(Clone, Debug)]
pub struct OracleModel {
    /// Delay from a crash or recovery to the notification of an observer, drawn for each observer and victim.
    pub delay: Delay,
    /// Delays of single pairs, observer first.
    pub pairs: Vec<LinkDelay>,
}

impl Scenario {
    /// The model of the driver's detector, if the scenario uses it.
    pub fn oracle(&self) -> Option<OracleModel> {
        (self.detector == DetectorChoice::Oracle).then(|| OracleModel {
            delay: self.detection.clone().unwrap_or(Delay::Constant(self.delay_unit())),
            pairs: self.detection_pair.clone(),
        })
    }
}
