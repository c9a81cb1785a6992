//! The label of a queued item.

/// Label of an item. Together with the time offset of a wheel entry it takes 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Number of the process that caused the item.
    pub from: u32,
    /// Number of the process that the item is for.
    pub to: u32,
    /// Arbitrary value of the owner of the item.
    pub tag: u32,
}
