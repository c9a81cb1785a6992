//! Agreements made of agreements.

mod general;
mod instances;

pub(super) use general::General;
pub(super) use instances::Instances;
