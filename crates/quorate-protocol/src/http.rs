//! Middleware of all HTTP servers of quorate. It accepts requests that address the server by a known name and come from its
//! own pages.
//!
//! A page of another site can make a browser send requests to any address, and a foreign name can be made to resolve
//! to this machine (DNS rebinding). Both are rejected: the first is visible in `Origin`, the second in `Host`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Names under which clients may address this server.
#[derive(Debug)]
pub struct HostGuard {
    port: u16,
    loopback: bool,
    names: Vec<String>,
    /// Any host name is accepted, because requests carry credentials that a page of another site does not have.
    any_host: bool,
}

impl HostGuard {
    /// Creates a guard for a server that listens at `address` and is also reachable under `names`.
    pub fn new(address: SocketAddr, names: Vec<String>) -> Self {
        let (port, loopback) = (address.port(), address.ip().is_loopback());
        Self { port, loopback, names, any_host: false }
    }

    /// Accepts any host name. Only for servers that authenticate each request.
    #[must_use]
    pub fn allowing_any_host(self) -> Self {
        Self { any_host: true, ..self }
    }

    /// Returns why a request is rejected. HTTP/2 sends the host in the address, HTTP/1 in `Host`.
    fn rejection_reason(&self, headers: &HeaderMap, address: &Uri) -> Option<&'static str> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| address.authority().map(|authority| authority.as_str()));
        let Some(host) = host.filter(|host| self.is_allowed_host(host)) else {
            return Some("this server does not accept that host name; --name adds one");
        };
        let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
        let plain = |origin: &'_ str| {
            let name = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            name == Some(host)
        };
        if origin.is_some_and(|origin| !plain(origin)) {
            return Some("requests from other sites are refused");
        }
        let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        // A link from another site may lead here. A script of another site may not send requests.
        let navigates = headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
        match site {
            Some("cross-site" | "same-site") if !navigates => {
                Some("requests from other sites are refused")
            }
            _ => None,
        }
    }

    /// IP addresses cannot be rebound, names can: of names only `localhost` and the configured ones are accepted.
    fn is_allowed_host(&self, host: &str) -> bool {
        let Some((name, port)) = split_host_port(host) else { return false };
        if self.any_host {
            return true;
        }
        if port != self.port {
            return false;
        }
        if name.eq_ignore_ascii_case("localhost")
            || self.names.iter().any(|ours| ours.eq_ignore_ascii_case(name))
        {
            return true;
        }
        let unbracketed =
            name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        unbracketed.parse::<IpAddr>().is_ok_and(|ip| !self.loopback || ip.is_loopback())
    }
}

/// Splits a host into name and port. The default port is 80.
fn split_host_port(host: &str) -> Option<(&str, u16)> {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => Some((name, port.parse().ok()?)),
        _ => Some((host, 80)),
    }
}

/// Middleware that rejects requests for other hosts, from other origins, or with other methods.
pub async fn check_host_and_origin(
    State(guard): State<Arc<HostGuard>>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(reason) = guard.rejection_reason(request.headers(), request.uri()) {
        return error_response(StatusCode::FORBIDDEN, reason);
    }
    if ![Method::GET, Method::HEAD, Method::POST, Method::DELETE].contains(request.method()) {
        return error_response(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
    }
    next.run(request).await
}

fn error_response(status: StatusCode, reason: &str) -> Response {
    (status, Json(json!({ "error": reason, "key": null }))).into_response()
}

/// Policy of all pages: only our own files are loaded or run, and framing is forbidden.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                              base-uri 'none'; form-action 'none'; frame-ancestors 'none'; trusted-types drawing; \
                              require-trusted-types-for 'script'";

/// Returns the policy of a page that the pages of these origins may frame. Browsers then ignore `x-frame-options`.
pub fn content_policy_framed_by(origins: &[String]) -> String {
    if origins.is_empty() {
        return CONTENT_POLICY.to_owned();
    }
    CONTENT_POLICY
        .replace("frame-ancestors 'none'", &format!("frame-ancestors {}", origins.join(" ")))
}

/// Headers of every response. Content types are not guessed.
const SECURITY_HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", CONTENT_POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Adds the headers that make browsers isolate the page from other sites.
pub async fn add_security_headers(mut response: Response) -> Response {
    for (name, value) in SECURITY_HEADERS {
        let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
        // A drawing already has its own policy, which allows its inline styles, and so has a page that may be framed.
        response.headers_mut().entry(name).or_insert(value);
    }
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(address: &str, names: &[&str], host: &str) -> bool {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        HostGuard::new(address.parse().unwrap(), names).is_allowed_host(host)
    }

    #[test]
    fn on_loopback_only_loopback_names_count() {
        for host in ["127.0.0.1:7400", "localhost:7400", "LOCALHOST:7400", "[::1]:7400"] {
            assert!(ours("127.0.0.1:7400", &[], host), "{host}");
        }
        let wrong =
            ["evil.example:7400", "127.0.0.1:80", "127.0.0.1", "10.0.0.1:7400", "", ":7400"];
        for host in wrong {
            assert!(!ours("127.0.0.1:7400", &[], host), "{host}");
        }
    }

    #[test]
    fn elsewhere_addresses_count_and_names_only_if_given() {
        assert!(ours("0.0.0.0:80", &[], "192.168.1.5"));
        assert!(ours("0.0.0.0:80", &["lab.example"], "lab.example"));
        assert!(!ours("0.0.0.0:80", &[], "lab.example"));
        let guard = HostGuard::new("0.0.0.0:80".parse().unwrap(), Vec::new()).allowing_any_host();
        assert!(guard.is_allowed_host("lab.example:8080"));
    }
}
