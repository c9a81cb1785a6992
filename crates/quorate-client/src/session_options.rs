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
        let client_name = user_name();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let host = host.map_or_else(|_| "somewhere".to_owned(), |host| host.trim().to_owned());
        let client_location = format!("{host}, process {}", std::process::id());
        let (ttl, connect_timeout) = (Duration::from_secs(10), Duration::from_secs(5));
        Self { ttl, client_name, client_location, connect_timeout, relayed: false }
    }
}

/// Name of the user of this process: the one that the system knows, then that of the environment, then the number.
fn user_name() -> String {
    use std::os::unix::fs::MetadataExt;
    let number = std::fs::metadata("/proc/self").map(|process| process.uid());
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let known = number.as_ref().ok().and_then(|number| name_of(&users, *number));
    let variable = || std::env::var("USER").ok().filter(|name| !name.is_empty());
    known.map(str::to_owned).or_else(variable).unwrap_or_else(|| match number {
        Ok(number) => format!("user {number}"),
        Err(_) => "an unknown user".to_owned(),
    })
}

/// The name of a user in the format of /etc/passwd.
fn name_of(users: &str, number: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, own) = (fields.next()?, fields.nth(1)?);
        (own.parse() == Ok(number)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_number() {
        let users = "root:x:0:0:root:/:/bin/sh\nci:x:100:1000::/:/bin/false\n+\n";
        assert_eq!((name_of(users, 100), name_of(users, 1000)), (Some("ci"), None));
        assert!(!SessionOptions::default().client_name.is_empty());
    }
}
