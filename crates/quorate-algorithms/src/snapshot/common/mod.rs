//! Parts that several snapshot algorithms share.

mod account;

pub(super) use account::Account;
