//! The account that a voter gives of its abstention, for trace validation.

use alloc::vec::Vec;

use quorate_core::ProcessId;

use super::super::message::Name;
use super::{Abstains, Voter};

/// How far a voter that has forgotten its votes has come.
#[derive(Clone, Debug)]
pub(in super::super) enum Abstention {
    /// It waits, and knows a bound of its earlier numbers.
    WithMark,
    /// It waits, and then has to learn its numbers.
    WithoutMark,
    /// It learns its numbers. These voters have answered.
    Learning(Vec<ProcessId>),
}

impl<K: Name> Voter<K> {
    /// The state of the abstention. `None` if the voter votes.
    pub(in super::super) fn abstention(&self) -> Option<Abstention> {
        Some(match self.abstains.as_ref()? {
            Abstains::Until { has_mark: true, .. } => Abstention::WithMark,
            Abstains::Until { has_mark: false, .. } => Abstention::WithoutMark,
            Abstains::Learning { told, .. } => Abstention::Learning(told.iter().collect()),
        })
    }
}
