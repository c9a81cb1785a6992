//! The format of every message between clients and nodes, recorded for each version of the protocol.
//!
//! A message has no field names on the wire, so that a field more, or two in another order, make two builds misunderstand each
//! other. Such a change fails here, until the version is raised in `handshake.rs` and the old format is still read and written for
//! builds of the release before. A variant that is appended to an enum keeps the version; it must not be sent to a build
//! that does not know it.

use quorate_algorithms::mutex::leased_quorum::{Rank, ToCandidate, ToVoter};
use quorate_protocol::handshake::VERSIONS;
use quorate_protocol::{
    Call, CallResponse, ClientMessage, Failure, Kind, Mode, Name, RequestState, ServerMessage,
};
use serde::de::DeserializeOwned;
use serde_reflection::{Samples, Tracer, TracerConfig};

#[test]
fn messages_keep_their_format_within_a_version() {
    // A name must not be empty.
    let config = TracerConfig::default().default_string_value("a".to_owned());
    let mut tracer = Tracer::new(config);
    see::<ClientMessage>(&mut tracer);
    see::<ServerMessage>(&mut tracer);
    // Of an enum within these, only the first variant is seen, so the tracer has to be shown each enum.
    see::<Call>(&mut tracer);
    see::<CallResponse>(&mut tracer);
    see::<Failure>(&mut tracer);
    see::<Kind>(&mut tracer);
    see::<Mode>(&mut tracer);
    see::<Rank>(&mut tracer);
    see::<RequestState>(&mut tracer);
    see::<ToCandidate<Name>>(&mut tracer);
    see::<ToVoter<Name>>(&mut tracer);
    let registry = tracer.registry().expect("every variant has been seen");
    let line = |(name, format)| {
        let format = serde_json::to_string(format).expect("a format is plain data");
        format!("{name}: {format}")
    };
    let lines = registry.iter().map(line).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(format!("messages_of_version_{}", VERSIONS.newest), lines);
}

fn see<T: DeserializeOwned>(tracer: &mut Tracer) {
    tracer.trace_type::<T>(&Samples::new()).expect("it can be read");
}
