//! Middleware common to all HTTP servers of quorate.

mod host_guard;

pub use host_guard::{HostGuard, add_security_headers, check_host_and_origin};
