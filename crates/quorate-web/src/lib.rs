//! What every HTTP server of quorate keeps to.

mod host_guard;

pub use host_guard::{HostGuard, add_security_headers, check_host_and_origin};
