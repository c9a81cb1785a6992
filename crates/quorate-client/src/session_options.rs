//! Options of a session.

use std::time::Duration;

/// Options of a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Time-to-live: the session expires and its locks are released if the cluster receives nothing from it for this long.
    pub ttl: Duration,
    /// Name of the client, shown in lists.
    pub client_name: String,
    /// Location of the client, for example host and process, shown in lists.
    pub client_location: String,
    /// Maximum time to reach a node when the session is opened.
    pub connect_timeout: Duration,
    /// Lets a node collect the votes even if the client could collect them itself. A relayed session needs one connection,
    /// which all relayed sessions of a client share. If its node stops, another node takes over.
    pub relayed: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        let client_name = std::env::var("USER").unwrap_or_else(|_| "somebody".to_owned());
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let host = host.map_or_else(|_| "somewhere".to_owned(), |host| host.trim().to_owned());
        let client_location = format!("{host}, process {}", std::process::id());
        let (ttl, connect_timeout) = (Duration::from_secs(10), Duration::from_secs(5));
        Self { ttl, client_name, client_location, connect_timeout, relayed: false }
    }
}
