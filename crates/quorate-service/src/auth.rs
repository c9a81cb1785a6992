//! Authentication and permissions of clients.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quorate_algorithms::mutex::leased_quorum::ToVoter;
use quorate_protocol::{Call, Name, escaped};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::core::Owner;

/// A client that the configuration file of the node names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientConfig {
    /// Name of the client.
    pub name: String,
    /// SHA-256 of the token that authenticates the client, in hexadecimal.
    pub token_sha256: Option<String>,
    /// Whether a certificate of the cluster's authority for this client's name authenticates it, too.
    #[serde(default)]
    pub certificate: bool,
    /// Prefixes of names for which the client may acquire locks and campaign in elections.
    #[serde(default)]
    pub acquire: Vec<String>,
    /// Prefixes of names whose holders and waiters the client may see.
    #[serde(default)]
    pub observe: Vec<String>,
    /// Prefixes of names whose locks the client may release by force.
    #[serde(default)]
    pub admin: Vec<String>,
}

impl ClientConfig {
    pub(crate) fn validate(&self) -> Result<(), String> {
        let name = &self.name;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 60 || !name.chars().all(plain) {
            return Err(format!(
                "[[client]] name = {name:?}: a client name has 1 to 60 lowercase letters, digits and hyphens"
            ));
        }
        if let Some(hash) = &self.token_sha256
            && (hash.len() != 64 || !hash.chars().all(|c| c.is_ascii_hexdigit()))
        {
            return Err(format!(
                "[[client]] {name}: token_sha256 must be 64 hexadecimal digits; `printf %s TOKEN | sha256sum` prints them"
            ));
        }
        if self.token_sha256.is_none() && !self.certificate {
            return Err(format!(
                "[[client]] {name}: no credentials; set token_sha256, or certificate = true"
            ));
        }
        Ok(())
    }
}

/// Permissions of one client.
#[derive(Debug)]
pub(crate) struct Permissions {
    pub(crate) name: String,
    /// Owner of the quotas: the client, or its address if no authentication is required.
    pub(crate) owner: Owner,
    acquire: Vec<String>,
    observe: Vec<String>,
    admin: Vec<String>,
    bucket: Option<Bucket>,
}

impl Permissions {
    /// Permissions without restrictions, for clients that need no authentication.
    fn unrestricted(calls_per_second: u32, address: IpAddr) -> Self {
        let all = || vec![String::new()];
        let bucket = Bucket::new(calls_per_second);
        let (name, owner) = (String::new(), Owner::new(&format!("address {address}")));
        Self { name, owner, acquire: all(), observe: all(), admin: all(), bucket }
    }

    /// Checks whether the client may acquire this lock or lead this election. `Err` contains the reason if it may not.
    pub(crate) fn may_acquire(&self, name: &Name) -> Result<(), String> {
        self.may("acquire", &self.acquire, name.text())
    }

    /// Checks whether the client may see names with this prefix. `Err` contains the reason if it may not.
    pub(crate) fn may_observe(&self, prefix: &str) -> Result<(), String> {
        self.may("observe", &self.observe, prefix)
    }

    /// Prefixes of names for which the client may acquire, observe and administrate, in this order.
    pub(crate) fn prefixes(&self) -> [Vec<String>; 3] {
        [self.acquire.clone(), self.observe.clone(), self.admin.clone()]
    }

    fn may(&self, right: &str, allowed: &[String], name: &str) -> Result<(), String> {
        let escaped_name = escaped(if name.is_empty() { "everything" } else { name });
        match allowed.iter().any(|prefix| name.starts_with(prefix.as_str())) {
            true => Ok(()),
            false => Err(format!("{} has no right to {right} {escaped_name}", self.name)),
        }
    }

    /// Returns the reason if the call is not permitted. Attempts to release a lock by force are logged.
    pub(crate) fn denial(&self, call: &Call) -> Option<String> {
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
            Call::ForceRelease { name, .. } => ("admin", &self.admin, name.text()),
            Call::ChangeMembers(_) => ("admin", &self.admin, ""),
            // Anyone with the session key controls the session.
            _ => return None,
        };
        let denial = self.may(right, allowed, name).err();
        if let Call::ChangeMembers(change) = call {
            let (by, refused, change) = (&self.name, denial.is_some(), format!("{change:?}"));
            let change = escaped(&change);
            tracing::warn!(target: "quorate_service::rights", %by, %change, refused, "change of the members requested");
        }
        if let Call::ForceRelease { name, reason } = call {
            let (by, refused, reason) = (&self.name, denial.is_some(), escaped(reason));
            tracing::warn!(
                target: "quorate_service::rights",
                lock = %name, %by, %reason, refused,
                "force release requested"
            );
        }
        denial
    }

    /// Returns the time to wait before the next call is handled, if the rate limit is exceeded.
    pub(crate) fn throttle_delay(&self) -> Option<Duration> {
        self.bucket.as_ref().and_then(|bucket| bucket.take(Instant::now()))
    }
}

/// Rate limit: a number of calls per second, with bursts of up to a tenth of that number.
#[derive(Debug)]
struct Bucket {
    each: Duration,
    burst: Duration,
    /// When the bucket would be empty if no further call were made.
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
        (*until - now).checked_sub(self.burst).filter(|throttle_delay| !throttle_delay.is_zero())
    }
}

/// Authenticates clients and determines their permissions.
#[derive(Debug)]
pub(crate) struct Authenticator {
    clients: Vec<KnownClient>,
    /// Whether authentication is disabled, because no clients are named. Then every client may do everything.
    open: bool,
    calls_per_second: u32,
}

#[derive(Debug)]
struct KnownClient {
    token: Option<[u8; 32]>,
    certificate: bool,
    permissions: Arc<Permissions>,
}

/// Credentials that a client presents.
#[derive(Clone, Debug, Default)]
pub(crate) struct PresentedCredentials {
    /// A token, from the handshake or a header.
    pub(crate) token: Option<String>,
    /// A certificate that the cluster's authority has signed.
    pub(crate) certificate: Option<quorate_net::ClientCertificate>,
}

impl Authenticator {
    pub(crate) fn new(clients: &[ClientConfig], calls_per_second: u32) -> Self {
        let known = |client: &ClientConfig| KnownClient {
            token: client.token_sha256.as_deref().and_then(digest),
            certificate: client.certificate,
            permissions: Arc::new(Permissions {
                name: client.name.clone(),
                owner: Owner::new(&format!("client {}", client.name)),
                acquire: client.acquire.clone(),
                observe: client.observe.clone(),
                admin: client.admin.clone(),
                bucket: Bucket::new(calls_per_second),
            }),
        };
        let clients: Vec<KnownClient> = clients.iter().map(known).collect();
        Self { open: clients.is_empty(), clients, calls_per_second }
    }

    /// Returns whether clients need no authentication.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Returns the permissions of a connection whose client needs no authentication.
    pub(crate) fn admit_anonymous(
        &self,
        address: IpAddr,
    ) -> Result<Arc<Permissions>, &'static str> {
        match self.open {
            true => Ok(Arc::new(Permissions::unrestricted(self.calls_per_second, address))),
            false => Err("a token or a client certificate is required"),
        }
    }

    /// Returns the permissions for these credentials. `Err` contains the reason if the client is rejected.
    pub(crate) fn admit(
        &self,
        credentials: &PresentedCredentials,
        address: IpAddr,
    ) -> Result<Arc<Permissions>, &'static str> {
        if self.open {
            return self.admit_anonymous(address);
        }
        self.authenticate(credentials)
    }

    /// Returns the permissions of a client that the file names. `Err` contains the reason if the client is rejected.
    pub(crate) fn authenticate(
        &self,
        credentials: &PresentedCredentials,
    ) -> Result<Arc<Permissions>, &'static str> {
        if let Some(token) = credentials.token.as_deref().filter(|token| !token.is_empty()) {
            let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
            let known = self.clients.iter().find(|client| client.token == Some(hash));
            return known.map(|known| Arc::clone(&known.permissions)).ok_or("unknown token");
        }
        if let Some(certificate) = &credentials.certificate {
            let mut with = self.clients.iter().filter(|client| client.certificate);
            let known = with.find(|known| certificate.is_for(&known.permissions.name));
            return known
                .map(|known| Arc::clone(&known.permissions))
                .ok_or("no [[client]] matches this certificate");
        }
        Err("a token or a client certificate is required")
    }
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    for (index, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use quorate_algorithms::mutex::leased_quorum::{
        Beat, CandidateId, Claim, Presented, Rank, RequestId,
    };
    use quorate_core::Span;

    use super::*;

    fn ci() -> ClientConfig {
        ClientConfig {
            name: "ci".to_owned(),
            // The SHA-256 of "secret".
            token_sha256: Some(
                "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b".to_owned(),
            ),
            certificate: false,
            acquire: vec!["deploy/".to_owned()],
            observe: vec![String::new()],
            admin: Vec::new(),
        }
    }

    fn with_token(token: &str) -> PresentedCredentials {
        PresentedCredentials { token: Some(token.to_owned()), certificate: None }
    }

    #[test]
    fn a_client_has_a_plain_name_and_credentials() {
        let valid = |change: fn(&mut ClientConfig)| {
            let mut client = ci();
            change(&mut client);
            client.validate()
        };
        assert_eq!(valid(|_| {}), Ok(()));
        assert_eq!(valid(|client| client.name = "a-1".to_owned()), Ok(()));
        assert_eq!(valid(|client| client.name = "x".repeat(60)), Ok(()));
        let bad_names: [fn(&mut ClientConfig); 3] = [
            |client| client.name.clear(),
            |client| client.name = "x".repeat(61),
            |client| client.name = "A".to_owned(),
        ];
        for change in bad_names {
            let error = valid(change).expect_err("a bad name");
            assert!(error.contains("1 to 60 lowercase letters"), "{error}");
        }
        for hash in ["a".repeat(63), "a".repeat(65), "g".repeat(64)] {
            let client = ClientConfig { token_sha256: Some(hash), ..ci() };
            let error = client.validate().expect_err("a bad hash");
            assert!(error.contains("64 hexadecimal digits"), "{error}");
        }
        let by_certificate = |certificate| {
            ClientConfig { token_sha256: None, certificate, ..ci() }.validate().is_ok()
        };
        assert!(by_certificate(true) && !by_certificate(false));
        assert_eq!(ClientConfig { certificate: true, ..ci() }.validate(), Ok(()));
    }

    #[test]
    fn each_kind_of_call_needs_its_own_right() {
        let client = |acquire: &[&str], observe: &[&str], admin: &[&str]| {
            let owned = |prefixes: &[&str]| prefixes.iter().map(|it| (*it).to_owned()).collect();
            let (acquire, observe, admin) = (owned(acquire), owned(observe), owned(admin));
            let client = ClientConfig { acquire, observe, admin, ..ci() };
            let authenticator = Authenticator::new(&[client], 0);
            authenticator.authenticate(&with_token("secret")).expect("it is known")
        };
        let (acquires, observes, administers) =
            (client(&["a"], &[], &[]), client(&[], &["a"], &[]), client(&[], &[], &["a"]));
        let name = Name::lock("a/x").expect("a name");
        let list = Call::List { prefix: "a/".to_owned(), exact: false, after: None, most: 1 };
        let watch = Call::Watch { prefix: "a/".to_owned() };
        let check = Call::CheckToken { name: name.clone(), token: 1 };
        for call in [list, watch, check] {
            assert_eq!(observes.denial(&call), None, "{call:?}");
            assert!(acquires.denial(&call).is_some() && administers.denial(&call).is_some());
        }
        let all = Call::Watch { prefix: String::new() };
        let denial = observes.denial(&all).expect("more than its prefix");
        assert_eq!(denial, "ci has no right to observe everything");
        let force = Call::ForceRelease { name: name.clone(), reason: String::new() };
        assert_eq!(administers.denial(&force), None);
        assert!(acquires.denial(&force).is_some() && observes.denial(&force).is_some());
        assert_eq!(acquires.may_acquire(&name), Ok(()));
        assert!(observes.may_acquire(&name).is_err());
    }

    #[test]
    fn a_client_with_its_own_candidate_needs_the_same_right() {
        let authenticator = Authenticator::new(&[ci()], 0);
        let permissions = authenticator.authenticate(&with_token("secret")).expect("it is known");
        let request = |text: &str| {
            let beat = Beat { incarnation: 1, number: 1 };
            let session = Presented { session: 1, ttl: Span(1), beat, relayed: false, config: 0 };
            let request = RequestId { session: 1, incarnation: 1, number: 1 };
            let claim = Claim { request, attempt: 1, candidate: CandidateId(1) };
            let lock = Name::lock(text).expect("a name");
            let (inside, rank) = (None, Rank::Waits);
            ToVoter::Request { session, lock, claim, stamp: 1, inside, rank, ended: 0 }
        };
        let denial = |texts: &[&str]| {
            let messages = texts.iter().map(|text| request(text)).collect();
            permissions.denial(&Call::ToVoter(messages))
        };
        assert_eq!(denial(&["deploy/a", "deploy/b"]), None);
        let reason = denial(&["deploy/a", "other"]).expect("the second one is outside the prefix");
        assert_eq!(reason, "ci has no right to acquire other");
    }

    #[test]
    fn calls_beyond_the_rate_wait() {
        let limited = Authenticator::new(&[], 10);
        let address = IpAddr::from([127, 0, 0, 1]);
        let permissions = limited.admit_anonymous(address).expect("it is open");
        assert!(limited.is_open() && !Authenticator::new(&[ci()], 10).is_open());
        assert_eq!(permissions.throttle_delay(), None);
        let delay = permissions.throttle_delay().expect("the second call comes too early");
        assert!(delay > Duration::ZERO && delay <= Duration::from_millis(100), "{delay:?}");
        let free = Authenticator::new(&[], 0).admit_anonymous(address).expect("it is open");
        assert!((0..100).all(|_| free.throttle_delay().is_none()));
    }

    #[test]
    fn rights_end_where_the_prefix_does() {
        let authenticator = Authenticator::new(&[ci()], 0);
        let permissions = authenticator.authenticate(&with_token("secret")).expect("it is known");
        let name = |text| Name::lock(text).expect("a name");
        let force_release = |text| Call::ForceRelease { name: name(text), reason: String::new() };
        let check = |text| Call::CheckToken { name: name(text), token: 1 };
        assert_eq!(permissions.denial(&check("other")), None);
        assert!(permissions.denial(&force_release("deploy/x")).is_some());
        let acquire = |text| Call::Acquire {
            session: quorate_protocol::SessionKey(1),
            request: 1,
            name: name(text),
            mode: Default::default(),
            wait_ms: None,
            why: String::new(),
            inside: None,
        };
        assert_eq!(permissions.denial(&acquire("deploy/x")), None);
        assert!(permissions.denial(&acquire("deploy")).is_some());
    }

    #[test]
    fn strangers_are_not_let_in_where_clients_are_named() {
        let authenticator = Authenticator::new(&[ci()], 0);
        assert!(authenticator.authenticate(&with_token("wrong")).is_err());
        assert!(authenticator.authenticate(&PresentedCredentials::default()).is_err());
        assert!(
            Authenticator::new(&[], 0)
                .admit(&PresentedCredentials::default(), IpAddr::from([127, 0, 0, 1]))
                .is_ok()
        );
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
