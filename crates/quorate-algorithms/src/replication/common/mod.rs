//! Parts that the replication algorithms share.

#[cfg(test)]
pub(super) mod cluster;
mod timeout;

pub(super) use timeout::Timeouts;
