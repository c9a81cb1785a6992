//! Bytes on a connection between a client and a node: limits of frames and names, and every answer to a handshake.

use std::future::Future;
use std::io::ErrorKind;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use quorate_core::{Drift, Span, Versions};
use quorate_protocol::frame::{self, Reader};
use quorate_protocol::handshake::{self, ClientHandshakeError, MAGIC};
use quorate_protocol::{
    Attached, BadName, Call, ClusterTerms, Configuration, Cursor, Kind, Members, MembersKnown,
    NAME_MOST, Name, SessionKey,
};

/// Result of a future whose bytes are all there.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits for more than there is"),
    }
}

/// The bytes of one message as a frame.
fn framed(message: &str) -> BytesMut {
    let mut bytes = BytesMut::new();
    frame::put(&message, &mut bytes);
    bytes
}

#[test]
fn frames_follow_each_other_and_the_stream_ends_between_two() {
    let mut bytes = framed("one");
    frame::put(&"two", &mut bytes);
    // A length of four bytes, then a length of one byte and the letters.
    assert_eq!(&bytes[..8], [0, 0, 0, 4, 3, b'o', b'n', b'e']);
    let mut reader = Reader::new(&bytes[..], 4);
    assert_eq!(ready(reader.next::<String>()).expect("a frame"), Some("one".to_owned()));
    assert_eq!(ready(reader.next::<String>()).expect("a frame"), Some("two".to_owned()));
    assert_eq!(ready(reader.next::<String>()).expect("the end"), None);
}

#[test]
fn a_frame_may_be_as_long_as_the_limit_and_no_longer() {
    let bytes = framed("four");
    let read = |most| ready(Reader::new(&bytes[..], most).next::<String>());
    assert_eq!(read(5).expect("as long as the limit"), Some("four".to_owned()));
    let error = read(4).expect_err("longer than the limit");
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(error.to_string().contains("a message of 5 bytes; at most 4"), "{error}");
}

#[test]
fn a_frame_may_be_empty() {
    let mut reader = Reader::new(&[0_u8; 4][..], 0);
    assert_eq!(ready(reader.next::<()>()).expect("a frame"), Some(()));
    assert_eq!(ready(reader.next::<()>()).expect("the end"), None);
}

#[test]
fn a_stream_that_ends_within_a_frame_is_an_error() {
    let bytes = framed("one");
    for end in 1..bytes.len() {
        let error = ready(Reader::new(&bytes[..end], 100).next::<String>()).expect_err("cut off");
        assert!(error.to_string().contains("ended within a message"), "{end}: {error}");
    }
}

#[test]
fn a_frame_with_bytes_after_its_message_is_an_error() {
    let error = ready(Reader::new(&[0, 0, 0, 3, 1, b'a', 9][..], 100).next::<String>());
    let error = error.expect_err("one byte too many");
    assert!(error.to_string().contains("trailing bytes"), "{error}");
    let error = ready(Reader::new(&[0, 0, 0, 2, 9, b'a'][..], 100).next::<String>());
    assert_eq!(error.expect_err("too short").kind(), ErrorKind::InvalidData);
}

#[test]
fn the_stream_of_a_reader_is_the_one_it_was_given() {
    let mut reader = Reader::new(&[1_u8, 2][..], 100);
    assert_eq!(*reader.stream(), [1, 2]);
}

const OURS: Versions = Versions { oldest: 8, newest: 9 };

/// The bytes that the client's side of a handshake sends, and its result for this answer of the node.
fn initiate(token: Option<&str>, answer: &[u8]) -> (Vec<u8>, Result<u16, ClientHandshakeError>) {
    let mut stream = tokio::io::join(answer, Vec::new());
    let result = ready(handshake::initiate(&mut stream, OURS, token));
    (stream.writer().clone(), result)
}

/// The versions and a text, as both sides send them.
fn versions((oldest, newest): (u16, u16), text: &str) -> Vec<u8> {
    let numbers = [newest, oldest, text.len() as u16].map(u16::to_be_bytes).concat();
    [&numbers[..], text.as_bytes()].concat()
}

fn answer(range: (u16, u16), refusal: &str) -> Vec<u8> {
    [&MAGIC[..], &versions(range, refusal)].concat()
}

/// The other side's versions, if they are the reason of an error.
fn theirs<T>(result: Result<T, ClientHandshakeError>) -> Option<(u16, u16)> {
    match result {
        Err(ClientHandshakeError::Version { theirs, ours: OURS }) => {
            Some((theirs.oldest, theirs.newest))
        }
        _ => None,
    }
}

#[test]
fn a_client_sends_its_versions_and_token_and_reads_the_answer() {
    let (sent, result) = initiate(Some("abc"), &answer((8, 9), ""));
    assert_eq!(result.expect("the same versions"), 9);
    assert_eq!(sent, [&b"QRTC"[..], &[0, 9, 0, 8, 0, 3], b"abc"].concat());
    let (sent, _) = initiate(None, &answer((8, 9), ""));
    assert_eq!(sent, [&b"QRTC"[..], &[0, 9, 0, 8, 0, 0]].concat());
    let (_, result) = initiate(None, b"HTTP/1.1 4");
    assert!(matches!(result, Err(ClientHandshakeError::NotQuorate)), "{result:?}");
    let (_, result) = initiate(None, &answer((8, 9), "no"));
    assert!(
        matches!(&result, Err(ClientHandshakeError::Refused(why)) if why == "no"),
        "{result:?}"
    );
}

#[test]
fn both_sides_use_the_newest_version_that_both_understand() {
    for (range, version) in
        [((7, 8), Some(8)), ((9, 12), Some(9)), ((7, 7), None), ((10, 11), None)]
    {
        let (_, result) = initiate(None, &answer(range, ""));
        assert_eq!(
            (result.as_ref().ok().copied(), theirs(result)),
            match version {
                Some(version) => (Some(version), None),
                None => (None, Some(range)),
            }
        );
        let (sent, result) = receive(&versions(range, "abc"));
        let used = result.as_ref().ok().map(|(version, _)| *version);
        assert_eq!((used, theirs(result)), (version, version.is_none().then_some(range)));
        // A client that has no version in common learns which versions there are.
        let expected = if version.is_some() { Vec::new() } else { answer((8, 9), "") };
        assert_eq!(sent, expected);
    }
}

/// Up to version 6 the version was followed by the length of the token or the refusal.
#[test]
fn a_side_without_a_range_is_too_old() {
    let (_, result) = initiate(None, b"QRTC\x00\x06\x00\x00");
    assert_eq!(theirs(result), Some((6, 6)));
    let (sent, result) = receive(&[0, 6, 0, 0]);
    assert_eq!(theirs(result), Some((6, 6)));
    assert_eq!(sent[..6], *b"QRTC\x00\x09", "where it expects the version of the node");
}

/// The answer of a node to a client that begins with these bytes after [`MAGIC`], and the version and the token that it reads.
fn receive(bytes: &[u8]) -> (Vec<u8>, Result<(u16, String), ClientHandshakeError>) {
    let mut stream = tokio::io::join(bytes, Vec::new());
    let result = ready(handshake::receive(&mut stream, OURS));
    (stream.writer().clone(), result)
}

#[test]
fn a_node_reads_the_token() {
    let (sent, result) = receive(&versions((8, 9), "abc"));
    assert_eq!((sent, result.expect("the same versions")), (Vec::new(), (9, "abc".to_owned())));
    // A token of more than 4096 bytes is not read further.
    let (_, result) = receive(&versions((8, 9), &"x".repeat(5000)));
    assert_eq!(result.expect("it is cut off").1.len(), 4096);
}

#[test]
fn a_refusal_is_cut_off_where_a_client_would_not_read_further() {
    let respond = |refusal: &str| {
        let mut out = Vec::new();
        ready(handshake::respond(&mut out, OURS, refusal)).expect("memory takes everything");
        out
    };
    assert_eq!(respond(""), answer((8, 9), ""));
    assert_eq!(respond("no"), answer((8, 9), "no"));
    assert_eq!(respond(&"x".repeat(1025)), answer((8, 9), &"x".repeat(1024)));
}

#[test]
fn a_name_has_a_kind_and_a_bounded_text_without_control_characters() {
    let longest = "x".repeat(NAME_MOST);
    assert_eq!(Name::lock(&longest).map(|name| name.text().len()), Ok(NAME_MOST));
    assert_eq!(Name::lock(&format!("{longest}x")), Err(BadName::TooLong(NAME_MOST + 1)));
    assert_eq!(Name::election("a\u{7f}"), Err(BadName::Control(1)));
    let (lock, election) = (Name::lock("a").expect("a name"), Name::election("a").expect("a name"));
    assert_eq!((lock.kind(), election.kind()), (Kind::Lock, Kind::Election));
    assert_eq!((lock.text(), lock.to_string().as_str()), ("a", "a"));
    assert_ne!(lock, election);
    let bytes = postcard::to_stdvec(&(Kind::Lock, "a\n")).expect("plain data");
    assert!(postcard::from_bytes::<Name>(&bytes).is_err(), "a peer cannot send a bad name either");
}

#[test]
fn a_cursor_is_read_from_its_text() {
    for name in [Name::lock("a b  c").expect("a name"), Name::election("é").expect("a name")] {
        let cursor = Cursor { name, stamp: 12, tie_breaker: 34 };
        assert_eq!(Cursor::read(&cursor.text()), Some(cursor));
    }
    for text in ["", "l", "l 1", "l 1 2", "x 1 2 a", "l 1 x a", "l x 2 a", "l 1 2 "] {
        assert_eq!(Cursor::read(text), None, "{text}");
    }
}

#[test]
fn the_key_of_a_session_is_neither_its_identifier_nor_shown() {
    let key = SessionKey(7);
    // The first half of the SHA-256 of sixteen bytes, of which the last one is 7.
    assert_eq!(format!("{:032x}", key.id()), KEY_7);
    assert_ne!(key.id(), SessionKey(8).id());
    assert_eq!(format!("{key:?}"), "SessionKey(..)");
    for call in [Call::KeepAlive(key), Call::Close(key), Call::Session(key)] {
        assert_eq!(call.session(), Some(key));
    }
    let name = Name::lock("a").expect("a name");
    let inside = Call::Release { session: key, request: 1 };
    assert_eq!(inside.session(), Some(key));
    assert_eq!(Call::CheckToken { name, token: 1 }.session(), None);
}

/// `head -c 15 /dev/zero | (cat; printf '\007') | sha256sum | head -c 32`
const KEY_7: &str = "6bae426822df52caf9dc36c8319247d6";

fn members(n: usize, quorums: &str) -> MembersKnown {
    let members = Members::numbered(vec!["a:1".to_owned(); n], quorums);
    MembersKnown { configuration: Configuration::first(members), clients: Vec::new() }
}

fn attached() -> Attached {
    Attached { node: 0, candidate: 7, members: members(3, "majority") }
}

#[test]
fn limits_of_what_a_node_says_about_its_cluster() {
    assert_eq!(attached().candidate().0, 7);
    let with_n = |n| Attached { members: members(n, "majority"), ..attached() }.electorate();
    assert!(with_n(0).is_none() && with_n(65).is_none());
    assert!(with_n(1).is_some() && with_n(64).is_some());
    assert!(Attached { members: members(3, "none"), ..attached() }.electorate().is_none());
    let on = |terms| {
        let mut members = members(3, "majority");
        members.configuration.voters.terms = terms;
        Attached { members, ..attached() }
    };
    let least = |least| on(ClusterTerms::new(least, 200, 1_000)).electorate();
    assert!(least(9).is_none() && least(201).is_none() && least(10).is_some());
    let terms = on(ClusterTerms::new(200, 200, 1_000)).members.terms();
    let bounds = Span::from_millis(200);
    assert_eq!((terms.ttl_least, terms.ttl_most), (bounds, bounds));
    assert_eq!(terms.drift.0, Drift::ONE / 1_000);
    let drift = |drift_ppm| on(ClusterTerms::new(100, 200, drift_ppm)).electorate();
    assert!(drift(100_001).is_none() && drift(100_000).is_some());
}
