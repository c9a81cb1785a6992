//! Admission of requests: callers are authenticated before bodies are read, and bodies have a timeout.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Sleep;

use super::refusal::Refusal;
use crate::auth::{Authenticator, Permissions};
use crate::connections::Connection;
use crate::etcd;

/// Timeout for the whole body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Calls whose body is a stream of requests, which lasts as long as the client wants.
const STREAMING_PATHS: [&str; 2] =
    ["/etcdserverpb.Watch/Watch", "/etcdserverpb.Lease/LeaseKeepAlive"];

/// Calls by which a client of etcd's API logs in.
const LOGIN_PATHS: [&str; 2] = ["/etcdserverpb.Auth/Authenticate", "/v3/auth/authenticate"];

/// State of the admission check.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    pub(super) authenticator: Arc<Authenticator>,
}

/// Checks a request and passes it on. Calls of etcd's API are authenticated here, because their libraries read the body
/// first. Other handlers authenticate before they read the body.
pub(super) async fn check(
    State(admission): State<Admission>,
    request: Request,
    next: Next,
) -> Response {
    let grpc = request.headers().get(header::CONTENT_TYPE);
    let grpc = grpc.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    let path = request.uri().path();
    let (streams, logs_in) = (grpc && STREAMING_PATHS.contains(&path), LOGIN_PATHS.contains(&path));
    let of_etcd = grpc || path.starts_with("/v3/");
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let open = request.extensions().get::<Arc<Permissions>>().is_some();
    if of_etcd && !logs_in && !open {
        let credentials = etcd::credentials(request.headers(), request.extensions());
        if let Err(why) = admission.authenticator.authenticate(&credentials) {
            return etcd::unauthenticated(why, grpc);
        }
        connection.iter().for_each(|connection| connection.admit());
    }
    let late = Arc::new(AtomicBool::new(false));
    let complete = connection.clone().filter(|_| open);
    // Most handlers never read an empty body, so it counts as complete immediately.
    let request = match streams || request.body().is_end_stream() {
        true => {
            complete.iter().for_each(|connection| connection.admit());
            request
        }
        false => request.map(|body| {
            let sleep = Box::pin(tokio::time::sleep(BODY_TIMEOUT));
            Body::new(TimedBody { body, sleep, late: Arc::clone(&late), complete })
        }),
    };
    let response = next.run(request).await;
    connection.iter().for_each(|connection| connection.progress());
    if late.load(Ordering::Relaxed) {
        return match of_etcd {
            true => etcd::body_timeout(grpc),
            false => Refusal::body_timeout(BODY_TIMEOUT).into_response(),
        };
    }
    response
}

/// A body that has to arrive in time.
struct TimedBody {
    body: Body,
    sleep: Pin<Box<Sleep>>,
    late: Arc<AtomicBool>,
    /// The connection to admit once the body is complete, if no authentication is required.
    complete: Option<Arc<Connection>>,
}

impl TimedBody {
    fn end(&mut self) {
        if let Some(connection) = self.complete.take() {
            connection.admit();
        }
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                if frame.is_none() || self.body.is_end_stream() {
                    self.end();
                }
                Poll::Ready(frame)
            }
            Poll::Pending if self.sleep.as_mut().poll(cx).is_ready() => {
                self.late.store(true, Ordering::Relaxed);
                Poll::Ready(Some(Err(axum::Error::new("the request body timed out"))))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
