//! Nodes over loopback, as their clients see them.

mod authentication;
mod direct;
mod etcd;
mod http;
mod lost_memory;
mod readiness;
#[path = "../support/mod.rs"]
mod support;
