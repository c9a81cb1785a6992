//! Who may do what.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quorate_algorithms::mutex::leased_quorum::ToVoter;
use quorate_protocol::{Call, Name, escaped};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::core::Owner;

/// A client that the node's file names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientConfig {
    /// Who.
    pub name: String,
    /// The SHA-256 of the token by which it is known, in hexadecimal.
    pub token_sha256: Option<String>,
    /// Whether a certificate of the cluster's authority for this client's name is good as well.
    #[serde(default)]
    pub certificate: bool,
    /// It may take locks and lead where names begin so.
    #[serde(default)]
    pub acquire: Vec<String>,
    /// It may see who has what where names begin so.
    #[serde(default)]
    pub observe: Vec<String>,
    /// It may take away what others have where names begin so.
    #[serde(default)]
    pub admin: Vec<String>,
}

impl ClientConfig {
    pub(crate) fn validate(&self) -> Result<(), String> {
        let name = &self.name;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 60 || !name.chars().all(plain) {
            return Err(format!(
                "[[client]] name = {name:?}: 1 to 60 small letters, digits and hyphens"
            ));
        }
        if let Some(hash) = &self.token_sha256
            && (hash.len() != 64 || !hash.chars().all(|c| c.is_ascii_hexdigit()))
        {
            return Err(format!(
                "[[client]] {name}: token_sha256 is 64 hexadecimal digits; `printf %s TOKEN | sha256sum` prints them"
            ));
        }
        if self.token_sha256.is_none() && !self.certificate {
            return Err(format!(
                "[[client]] {name}: nothing tells who it is; give token_sha256, or certificate = true"
            ));
        }
        Ok(())
    }
}

/// What one client may do.
#[derive(Debug)]
pub(crate) struct Rights {
    pub(crate) name: String,
    /// Whose quotas are used: those of the client, or of its address where clients need not show who they are.
    pub(crate) owner: Owner,
    acquire: Vec<String>,
    observe: Vec<String>,
    admin: Vec<String>,
    bucket: Option<Bucket>,
}

impl Rights {
    /// Of somebody who may do everything.
    fn everything(calls_per_second: u32, address: IpAddr) -> Self {
        let all = || vec![String::new()];
        let bucket = Bucket::new(calls_per_second);
        let (name, owner) = (String::new(), Owner::new(&format!("address {address}")));
        Self { name, owner, acquire: all(), observe: all(), admin: all(), bucket }
    }

    /// Why it may not take this lock, or become this leader.
    pub(crate) fn may_acquire(&self, name: &Name) -> Result<(), String> {
        self.may("acquire", &self.acquire, name.text())
    }

    fn may(&self, right: &str, allowed: &[String], name: &str) -> Result<(), String> {
        let shown = escaped(if name.is_empty() { "everything" } else { name });
        match allowed.iter().any(|prefix| name.starts_with(prefix.as_str())) {
            true => Ok(()),
            false => Err(format!("{} has no right to {right} {shown}", self.name)),
        }
    }

    /// Why not, if it may not. Who wants to take a lock away from others is written down.
    pub(crate) fn objection(&self, call: &Call) -> Option<String> {
        let (right, allowed, name) = match call {
            Call::Acquire { name, .. } => ("acquire", &self.acquire, name.text()),
            Call::List { prefix, .. } | Call::Watch { prefix } => {
                ("observe", &self.observe, prefix.as_str())
            }
            Call::ToVoter(messages) => {
                let asked = messages.iter().filter_map(|message| match message {
                    ToVoter::Request { lock, .. } => Some(lock),
                    _ => None,
                });
                return asked.filter_map(|lock| self.may_acquire(lock).err()).next();
            }
            Call::CheckToken { name, .. } => ("observe", &self.observe, name.text()),
            Call::Expel { name, .. } => ("admin", &self.admin, name.text()),
            // Who knows the key of a session has the session.
            _ => return None,
        };
        let objection = self.may(right, allowed, name).err();
        if let Call::Expel { name, reason } = call {
            let (by, refused, reason) = (&self.name, objection.is_some(), escaped(reason));
            tracing::warn!(lock = %name, %by, %reason, refused, "asks that a lock be taken away");
        }
        objection
    }

    /// How long to wait before one more call is dealt with.
    pub(crate) fn pause(&self) -> Option<Duration> {
        self.bucket.as_ref().and_then(|bucket| bucket.take(Instant::now()))
    }
}

/// So many calls in a second, and as many at once as in a tenth of one.
#[derive(Debug)]
struct Bucket {
    each: Duration,
    burst: Duration,
    /// When it would be empty.
    full_until: Mutex<Instant>,
}

impl Bucket {
    fn new(per_second: u32) -> Option<Self> {
        let each = Duration::from_secs(1).checked_div(per_second)?;
        let burst = Duration::from_millis(100).max(each);
        Some(Self { each, burst, full_until: Mutex::new(Instant::now()) })
    }

    fn take(&self, now: Instant) -> Option<Duration> {
        let mut until = self.full_until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = (*until).max(now) + self.each;
        (*until - now).checked_sub(self.burst).filter(|pause| !pause.is_zero())
    }
}

/// Who is let in, and with which rights.
#[derive(Debug)]
pub(crate) struct Entry {
    clients: Vec<Known>,
    /// Where no clients are named, everybody may do everything.
    open: bool,
    calls_per_second: u32,
}

#[derive(Debug)]
struct Known {
    token: Option<[u8; 32]>,
    certificate: bool,
    rights: Arc<Rights>,
}

/// What a client shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// A token.
    pub(crate) token: Option<String>,
    /// A certificate, which the authority has signed.
    pub(crate) certificate: Option<quorate_net::ClientCertificate>,
}

impl Entry {
    pub(crate) fn new(clients: &[ClientConfig], calls_per_second: u32) -> Self {
        let known = |client: &ClientConfig| Known {
            token: client.token_sha256.as_deref().and_then(digest),
            certificate: client.certificate,
            rights: Arc::new(Rights {
                name: client.name.clone(),
                owner: Owner::new(&format!("client {}", client.name)),
                acquire: client.acquire.clone(),
                observe: client.observe.clone(),
                admin: client.admin.clone(),
                bucket: Bucket::new(calls_per_second),
            }),
        };
        let clients: Vec<Known> = clients.iter().map(known).collect();
        Self { open: clients.is_empty(), clients, calls_per_second }
    }

    /// Whether nobody has to show anything.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// The rights of a connection of whoever need not show anything.
    pub(crate) fn admit_strangers(&self, address: IpAddr) -> Result<Arc<Rights>, &'static str> {
        match self.open {
            true => Ok(Arc::new(Rights::everything(self.calls_per_second, address))),
            false => Err("it wants a token or a certificate"),
        }
    }

    /// The rights of whoever shows this; why it is not let in.
    pub(crate) fn admit(
        &self,
        shown: &Shown,
        address: IpAddr,
    ) -> Result<Arc<Rights>, &'static str> {
        if self.open {
            return self.admit_strangers(address);
        }
        self.known(shown)
    }

    /// The rights of a client that the file names; why it is not let in.
    pub(crate) fn known(&self, shown: &Shown) -> Result<Arc<Rights>, &'static str> {
        if let Some(token) = shown.token.as_deref().filter(|token| !token.is_empty()) {
            let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
            let known = self.clients.iter().find(|client| client.token == Some(hash));
            return known.map(|known| Arc::clone(&known.rights)).ok_or("nobody has this token");
        }
        if let Some(certificate) = &shown.certificate {
            let mut with = self.clients.iter().filter(|client| client.certificate);
            let known = with.find(|known| certificate.is_for(&known.rights.name));
            return known
                .map(|known| Arc::clone(&known.rights))
                .ok_or("nobody here has this certificate");
        }
        Err("it wants a token or a certificate")
    }
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    for (place, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ci() -> ClientConfig {
        ClientConfig {
            name: "ci".to_owned(),
            // Of "secret".
            token_sha256: Some(
                "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b".to_owned(),
            ),
            certificate: false,
            acquire: vec!["deploy/".to_owned()],
            observe: vec![String::new()],
            admin: Vec::new(),
        }
    }

    fn shows(token: &str) -> Shown {
        Shown { token: Some(token.to_owned()), certificate: None }
    }

    #[test]
    fn rights_end_where_the_prefix_does() {
        let entry = Entry::new(&[ci()], 0);
        let rights = entry.known(&shows("secret")).expect("it is known");
        let name = |text| Name::lock(text).expect("a name");
        let expel = |text| Call::Expel { name: name(text), reason: String::new() };
        let check = |text| Call::CheckToken { name: name(text), token: 1 };
        assert_eq!(rights.objection(&check("other")), None);
        assert!(rights.objection(&expel("deploy/x")).is_some());
        let acquire = |text| Call::Acquire {
            session: quorate_protocol::SessionKey(1),
            request: 1,
            name: name(text),
            mode: Default::default(),
            wait_ms: None,
            why: String::new(),
            inside: None,
        };
        assert_eq!(rights.objection(&acquire("deploy/x")), None);
        assert!(rights.objection(&acquire("deploy")).is_some());
    }

    #[test]
    fn strangers_are_not_let_in_where_clients_are_named() {
        let entry = Entry::new(&[ci()], 0);
        assert!(entry.known(&shows("wrong")).is_err());
        assert!(entry.known(&Shown::default()).is_err());
        assert!(Entry::new(&[], 0).admit(&Shown::default(), IpAddr::from([127, 0, 0, 1])).is_ok());
    }

    #[test]
    fn who_asks_too_often_waits() {
        let bucket = Bucket::new(100).expect("a limit");
        let now = Instant::now();
        let pauses: Vec<_> = (0..12).map(|_| bucket.take(now)).collect();
        assert_eq!(pauses[..10], [None; 10]);
        assert_eq!(pauses[11], Some(Duration::from_millis(20)));
    }
}
