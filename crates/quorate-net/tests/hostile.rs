//! Misbehaving peers and strangers: refused with a reason, at a bounded cost, without effect on other nodes.

mod support;

use std::time::Duration;

use bytes::BytesMut;
use quorate_net::frame::{self, Body, Frame};
use quorate_net::hello::{Hello, HelloReply, Received};
use quorate_net::{
    ClusterId, DisconnectReason, Event, FRAME_VERSIONS, Incarnation, Refusal, RefusalReason,
    Security, Versions,
};
use support::{CLUSTER, Node, certified, config, eventually, in_time, listener, p, pair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Node 1, which expects node 0 to connect.
async fn victim() -> Node {
    let mut config = config(1, 1, Security::Plain);
    config.peers.insert(p(0), "127.0.0.1:1".to_owned());
    config.limits.message = 1000;
    Node::start(config, listener().await)
}

fn hello() -> Hello {
    Hello {
        frames: FRAME_VERSIONS,
        messages: Versions::only(1),
        cluster: CLUSTER,
        from: p(0),
        to: p(1),
        incarnation: Incarnation(7),
        received: None,
    }
}

/// Sends a request and reads the answer.
async fn exchange(node: &Node, request: &[u8]) -> (TcpStream, HelloReply) {
    let mut stream = TcpStream::connect(node.mesh.address()).await.expect("it listens");
    stream.write_all(request).await.expect("written");
    let mut prefix = [0; 6];
    in_time(stream.read_exact(&mut prefix)).await.expect("an answer");
    let mut answer = vec![0; u16::from_be_bytes([prefix[4], prefix[5]]).into()];
    in_time(stream.read_exact(&mut answer)).await.expect("an answer");
    (stream, HelloReply::decode(&answer).expect("understood"))
}

async fn refusal(node: &Node, request: &[u8]) -> Refusal {
    match exchange(node, request).await.1 {
        HelloReply::Refused(refusal) => refusal,
        HelloReply::Welcome(welcome) => panic!("{welcome:?}"),
    }
}

async fn admitted(node: &mut Node, hello: Hello) -> TcpStream {
    let (stream, answer) = exchange(node, &hello.encode()).await;
    assert!(matches!(answer, HelloReply::Welcome(_)), "{answer:?}");
    node.up().await;
    stream
}

fn data(sequence: u64, payload: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::new();
    Frame { acknowledged: 0, body: Body::Data { sequence, payload } }.encode(&mut bytes);
    bytes
}

async fn expect_violation(node: &mut Node, words: &str) {
    match node.next().await {
        Event::Down { why: DisconnectReason::ProtocolViolation(cause), .. } => {
            assert!(cause.contains(words), "{cause}")
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn who_does_not_fit_is_told_why() {
    let node = victim().await;
    let cases = [
        (
            Hello { cluster: ClusterId(2), ..hello() },
            RefusalReason::Cluster,
            "belongs to cluster 00",
        ),
        (
            Hello { from: p(5), ..hello() },
            RefusalReason::Unknown,
            "p5 is not a member of the cluster, as far as p1 knows",
        ),
        (
            Hello { to: p(2), ..hello() },
            RefusalReason::Addressee,
            "p0 wants to connect to p2, this is p1",
        ),
        (
            Hello { frames: Versions { oldest: 8, newest: 9 }, ..hello() },
            RefusalReason::Frames,
            "p0 speaks versions 8 to 9 of the frames, p1 speaks 1",
        ),
        (
            Hello { messages: Versions::only(4), ..hello() },
            RefusalReason::Messages,
            "p0 speaks versions 4 of the messages, p1 speaks 1",
        ),
        (
            Hello { received: Some(Received { from: Incarnation(1), messages: 3 }), ..hello() },
            RefusalReason::SequenceMismatch,
            "3 messages reported as received, but 0 were sent",
        ),
    ];
    for (hello, reason, words) in cases {
        let refusal = refusal(&node, &hello.encode()).await;
        assert_eq!(refusal.reason, reason);
        assert!(refusal.detail.contains(words), "{refusal}");
    }
    eventually("all are counted", || node.mesh.refused() == 6).await;
}

#[tokio::test]
async fn who_speaks_something_else_is_told_so() {
    let node = victim().await;
    let refused = refusal(&node, b"GET / HTTP/1.1\r\n\r\n").await;
    assert_eq!(refused.reason, RefusalReason::NotQuorate);
    let refused = refusal(&node, &[0x16, 3, 1, 0, 200, 1]).await;
    assert_eq!(refused.detail, "one side uses TLS, the other plain TCP: configure both alike");
}

#[tokio::test]
async fn replayed_frames_are_dropped() {
    let mut node = victim().await;
    let mut stream = admitted(&mut node, hello()).await;
    for sequence in [1, 1, 2, 1, 2, 2, 3] {
        stream.write_all(&data(sequence, &[sequence as u8])).await.expect("written");
    }
    assert_eq!(node.messages(3).await, [[1], [2], [3]]);
    // A replayed connection: the same incarnation sends the same messages again.
    let mut again = admitted(&mut node, hello()).await;
    for sequence in [1, 2, 3, 4] {
        again.write_all(&data(sequence, &[sequence as u8])).await.expect("written");
    }
    assert_eq!(node.messages(1).await, [[4]]);
}

#[tokio::test]
async fn frames_that_no_honest_peer_sends_end_the_connection() {
    let mut huge = data(1, b"");
    huge[..4].copy_from_slice(&u32::MAX.to_be_bytes());
    let mut unknown = data(1, b"");
    unknown[4] = 77;
    let mut boast = BytesMut::new();
    Frame { acknowledged: 9, body: Body::Alive }.encode(&mut boast);
    let cases = [
        (huge, "a frame of 4294967295 bytes; at most 1017 are allowed"),
        (data(1, &[0; 1001]), "a frame of 1018 bytes; at most 1017 are allowed"),
        (unknown, "a frame of the unknown kind 77"),
        (data(2, b""), "message 2 instead of 1"),
        (boast, "an acknowledgement of 9 messages that were not sent"),
    ];
    let mut node = victim().await;
    for (bytes, words) in cases {
        let mut stream = admitted(&mut node, hello()).await;
        stream.write_all(&bytes).await.expect("written");
        expect_violation(&mut node, words).await;
    }
}

#[tokio::test]
async fn half_a_frame_and_silence_end_the_connection() {
    let mut node = victim().await;
    let mut stream = admitted(&mut node, hello()).await;
    stream.write_all(&data(1, b"never complete")[..12]).await.expect("written");
    assert_eq!(node.next().await, Event::Down { peer: p(0), why: DisconnectReason::Silent });
    // The other side has received keep-alives all the time.
    let mut heard = vec![0; 13];
    in_time(stream.read_exact(&mut heard)).await.expect("signs of life");
    let (frame, _) = frame::decode(&heard, 0).expect("well formed").expect("complete");
    assert_eq!(frame.body, Body::Alive);
}

#[tokio::test]
async fn who_says_nothing_is_dropped_and_keeps_nobody_out() {
    let mut config = config(1, 1, Security::Plain);
    config.peers.insert(p(0), "127.0.0.1:1".to_owned());
    config.limits.handshakes = 4;
    config.limits.handshake = Duration::from_millis(300);
    let mut node = Node::start(config, listener().await);
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(TcpStream::connect(node.mesh.address()).await.expect("it listens"));
    }
    admitted(&mut node, hello()).await;
    eventually("all are dropped", || node.mesh.refused() == 20).await;
    for mut stream in idle {
        let end = in_time(stream.read(&mut [0; 8])).await;
        assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    }
}

#[tokio::test]
async fn a_stranger_to_the_authority_gets_nowhere() {
    let ([a], [b]) = (certified([0]), certified([1]));
    let (a, b) = pair(config(0, 1, a), config(1, 1, b)).await;
    a.expect_error("TLS handshake failed: invalid peer certificate").await;
    eventually("it is counted", || b.mesh.refused() > 0).await;
}

#[tokio::test]
async fn a_node_cannot_speak_for_another() {
    // Node 0 has a certificate for node 0 and uses it for TLS, but claims to be node 2.
    let [Security::Tls(zero), three] = certified([0, 3]) else { panic!("certificates") };
    let mut config = config(3, 1, three);
    config.peers.insert(p(2), "127.0.0.1:1".to_owned());
    let node = Node::start(config, listener().await);
    let hello = Hello { from: p(2), to: p(3), ..hello() };
    let stream =
        zero.connect(node.mesh.address(), p(3)).await.expect("a certificate of the authority");
    let refusal = over_tls(stream, hello).await;
    assert_eq!(refusal.reason, RefusalReason::Certificate);
    assert_eq!(
        refusal.detail,
        "the presented certificate is not valid for node-2.quorate.internal"
    );
}

async fn over_tls(mut stream: impl quorate_net::Stream, hello: Hello) -> Refusal {
    stream.write_all(&hello.encode()).await.expect("written");
    let mut answer = Vec::new();
    in_time(stream.read_to_end(&mut answer)).await.expect("an answer");
    match HelloReply::decode(&answer[6..]).expect("understood") {
        HelloReply::Refused(refusal) => refusal,
        HelloReply::Welcome(welcome) => panic!("{welcome:?}"),
    }
}

#[tokio::test]
async fn a_plain_peer_and_a_secure_one_see_what_is_wrong() {
    let [a] = certified([0]);
    let (a, _b) = pair(config(0, 1, a), config(1, 1, Security::Plain)).await;
    a.expect_error("TLS handshake failed").await;
    let [b] = certified([1]);
    let (a, _b) = pair(config(0, 1, Security::Plain), config(1, 1, b)).await;
    a.expect_error("one side uses TLS, the other plain TCP: configure both alike").await;
}
