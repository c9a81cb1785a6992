//! The methods of etcd's API, and their routes over gRPC.
//!
//! All methods share one codec, whose messages are bytes. Each method decodes and encodes its own messages, from gRPC and from
//! JSON. So the gRPC library is compiled for one type of message, and not for the messages of each method.

use std::marker::PhantomData;
use std::pin::Pin;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::post;
use bytes::{Buf as _, BufMut as _, Bytes};
use futures_util::future::BoxFuture;
use futures_util::stream::{Stream, StreamExt};
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::{Grpc, StreamingService, UnaryService};
use tonic::{Request, Response, Status, Streaming};

use super::{Etcd, MESSAGE_MOST};

/// A method with one request and one answer.
pub(super) type Unary =
    fn(Etcd, Request<Bytes>, Encoding) -> BoxFuture<'static, Result<Bytes, Status>>;

/// A method with a stream of requests and a stream of answers, over gRPC.
type Streamed = fn(
    Etcd,
    Request<Streaming<Bytes>>,
) -> BoxFuture<'static, Result<ResponseStream<Bytes>, Status>>;

/// Answers that arrive one after the other.
pub(super) type ResponseStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// A method that can be called in JSON and over gRPC.
macro_rules! json_and_grpc {
    ($method:ident) => {
        |etcd, request, encoding| {
            Box::pin(async move {
                let answer = etcd.$method(encoding.decode(request)?).await?;
                encoding.encode(answer.get_ref())
            })
        }
    };
}

/// A method that can be called over gRPC only.
macro_rules! grpc_only {
    ($method:ident) => {
        |etcd, request, _| {
            Box::pin(async move {
                let answer = etcd.$method(decode_protobuf(request)?).await?;
                Ok(answer.get_ref().encode_to_vec().into())
            })
        }
    };
}

/// A method with streams, over gRPC.
macro_rules! streamed {
    ($method:ident) => {
        |etcd, request| {
            Box::pin(async move {
                let answers = etcd.$method(request.map(Messages::new)).await?.into_inner();
                let encoded = answers.map(|answer| Ok(Bytes::from(answer?.encode_to_vec())));
                Ok(encoded.boxed() as ResponseStream<Bytes>)
            })
        }
    };
}

/// The methods that have a path in JSON, by their paths over gRPC.
const JSON_AND_GRPC: [(&str, &[&str], Unary); 11] = [
    ("/v3lockpb.Lock/Lock", &["/v3/lock/lock"], json_and_grpc!(lock)),
    ("/v3lockpb.Lock/Unlock", &["/v3/lock/unlock"], json_and_grpc!(unlock)),
    ("/v3electionpb.Election/Campaign", &["/v3/election/campaign"], json_and_grpc!(campaign)),
    ("/v3electionpb.Election/Proclaim", &["/v3/election/proclaim"], json_and_grpc!(proclaim)),
    ("/v3electionpb.Election/Leader", &["/v3/election/leader"], json_and_grpc!(leader)),
    ("/v3electionpb.Election/Resign", &["/v3/election/resign"], json_and_grpc!(resign)),
    ("/etcdserverpb.Lease/LeaseGrant", &["/v3/lease/grant"], json_and_grpc!(lease_grant)),
    (
        "/etcdserverpb.Lease/LeaseRevoke",
        &["/v3/lease/revoke", "/v3/kv/lease/revoke"],
        json_and_grpc!(lease_revoke),
    ),
    (
        "/etcdserverpb.Lease/LeaseTimeToLive",
        &["/v3/lease/timetolive", "/v3/kv/lease/timetolive"],
        json_and_grpc!(lease_time_to_live),
    ),
    (
        "/etcdserverpb.Lease/LeaseLeases",
        &["/v3/lease/leases", "/v3/kv/lease/leases"],
        json_and_grpc!(lease_leases),
    ),
    ("/etcdserverpb.Auth/Authenticate", &["/v3/auth/authenticate"], json_and_grpc!(authenticate)),
];

const GRPC: [(&str, Unary); 4] = [
    ("/etcdserverpb.KV/Range", grpc_only!(range)),
    ("/etcdserverpb.KV/Put", grpc_only!(put)),
    ("/etcdserverpb.KV/DeleteRange", grpc_only!(delete_range)),
    ("/etcdserverpb.KV/Txn", grpc_only!(txn)),
];

const STREAMED: [(&str, Streamed); 3] = [
    ("/v3electionpb.Election/Observe", streamed!(observe_first)),
    ("/etcdserverpb.Lease/LeaseKeepAlive", streamed!(lease_keep_alive)),
    ("/etcdserverpb.Watch/Watch", streamed!(watch)),
];

/// Returns the routes over gRPC.
pub(super) fn router(etcd: &Etcd) -> Router {
    let mut router = Router::new();
    let in_json = JSON_AND_GRPC.into_iter().map(|(path, _, method)| (path, method));
    for (path, method) in in_json.chain(GRPC) {
        let call = UnaryCall { etcd: etcd.clone(), method };
        router = router.route(path, post(answer_once).with_state(call));
    }
    for (path, method) in STREAMED {
        let call = StreamedCall { etcd: etcd.clone(), method };
        router = router.route(path, post(answer_stream).with_state(call));
    }
    router
}

/// Returns the methods with one answer by their paths in JSON.
pub(super) fn in_json() -> Vec<(&'static str, Unary)> {
    let of_method = |(_, paths, method): &(&str, &'static [&'static str], Unary)| {
        let method = *method;
        paths.iter().map(move |path| (*path, method))
    };
    JSON_AND_GRPC.iter().flat_map(of_method).collect()
}

/// Encoding of the messages of a call.
#[derive(Clone, Copy)]
pub(super) enum Encoding {
    /// Protocol buffers, which is the encoding of gRPC.
    Protobuf,
    /// JSON, as in etcd's gateway.
    Json,
}

impl Encoding {
    pub(super) fn decode<T>(self, request: Request<Bytes>) -> Result<Request<T>, Status>
    where
        T: Message + Default + DeserializeOwned,
    {
        match self {
            Self::Protobuf => decode_protobuf(request),
            Self::Json => {
                let (metadata, extensions, bytes) = request.into_parts();
                let text = if bytes.is_empty() { &b"{}"[..] } else { &bytes };
                let message = serde_json::from_slice(text);
                let message =
                    message.map_err(|error| Status::invalid_argument(error.to_string()))?;
                Ok(Request::from_parts(metadata, extensions, message))
            }
        }
    }

    fn encode<T: Message + Serialize>(self, message: &T) -> Result<Bytes, Status> {
        match self {
            Self::Protobuf => Ok(message.encode_to_vec().into()),
            Self::Json => match serde_json::to_vec(message) {
                Ok(json) => Ok(json.into()),
                Err(error) => Err(Status::internal(error.to_string())),
            },
        }
    }
}

fn decode_protobuf<T: Message + Default>(request: Request<Bytes>) -> Result<Request<T>, Status> {
    let (metadata, extensions, bytes) = request.into_parts();
    Ok(Request::from_parts(metadata, extensions, message(bytes)?))
}

fn message<T: Message + Default>(bytes: Bytes) -> Result<T, Status> {
    T::decode(bytes).map_err(|error| Status::internal(error.to_string()))
}

/// Requests that arrive one after the other.
pub(super) struct Messages<T> {
    bytes: Streaming<Bytes>,
    decoded: PhantomData<fn() -> T>,
}

impl<T: Message + Default> Messages<T> {
    fn new(bytes: Streaming<Bytes>) -> Self {
        Self { bytes, decoded: PhantomData }
    }

    /// Returns the next request; `None` after the last one.
    pub(super) async fn next(&mut self) -> Result<Option<T>, Status> {
        self.bytes.message().await?.map(message).transpose()
    }
}

/// A method with one answer, and the service that it belongs to.
#[derive(Clone)]
pub(super) struct UnaryCall {
    pub(super) etcd: Etcd,
    pub(super) method: Unary,
}

impl UnaryService<Bytes> for UnaryCall {
    type Response = Bytes;
    type Future = BoxFuture<'static, Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let answer = (self.method)(self.etcd.clone(), request, Encoding::Protobuf);
        Box::pin(async { answer.await.map(Response::new) })
    }
}

/// A method with streams, and the service that it belongs to.
#[derive(Clone)]
struct StreamedCall {
    etcd: Etcd,
    method: Streamed,
}

impl StreamingService<Bytes> for StreamedCall {
    type Response = Bytes;
    type ResponseStream = ResponseStream<Bytes>;
    type Future = BoxFuture<'static, Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<Bytes>>) -> Self::Future {
        let answers = (self.method)(self.etcd.clone(), request);
        Box::pin(async { answers.await.map(Response::new) })
    }
}

type HttpRequest = axum::extract::Request;

async fn answer_once(
    State(call): State<UnaryCall>,
    request: HttpRequest,
) -> axum::response::Response {
    grpc().unary(call, request).await.map(Body::new)
}

async fn answer_stream(
    State(call): State<StreamedCall>,
    request: HttpRequest,
) -> axum::response::Response {
    grpc().streaming(call, request).await.map(Body::new)
}

fn grpc() -> Grpc<BytesCodec> {
    Grpc::new(BytesCodec).max_decoding_message_size(MESSAGE_MOST)
}

/// Codec whose messages are bytes.
#[derive(Clone, Copy)]
struct BytesCodec;

impl Codec for BytesCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let length = buffer.remaining();
        Ok(Some(buffer.copy_to_bytes(length)))
    }
}
