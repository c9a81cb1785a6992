//! Algorithms without their types, so that a driver is compiled once for each family and not for each algorithm.

use quorate_algorithms::detector::AnyDetector;
use quorate_algorithms::{Algorithm, Sendable, Setup};
use quorate_core::{
    BelowErased, BelowErasedMessage, Data, Erased, ErasedMessage, Kind, Layered, Message, Process,
    ProcessId, Reason, Span, Stack,
};
use quorate_sim::{Driver, MemoryFootprint, ProcessFactory, Wire};

use crate::facts::Facts;

/// An algorithm with these commands, outputs and errors, as a table of facts and functions.
pub(crate) struct ErasedAlgorithm<C: Data, O: Data, E: Reason> {
    pub(crate) facts: Facts,
    pub(crate) bytes_per_other: u64,
    /// Duration of a round, for failure detectors.
    pub(crate) round: Option<fn(&Setup) -> Span>,
    /// The process without anything below it.
    pub(crate) alone: ErasedProcess<C, O, E>,
    /// The differences if the process runs over its own failure detector.
    over_detector: OverDetector,
}

/// A process without its type.
pub(crate) struct ErasedProcess<C: Data, O: Data, E: Reason> {
    pub(crate) build: fn(&Setup, ProcessId) -> Erased<C, O, E>,
    pub(crate) kinds: &'static [Kind],
    footprint: MemoryFootprint,
    encode: fn(&ErasedMessage) -> Vec<u8>,
    decode: fn(&[u8]) -> Option<ErasedMessage>,
}

struct OverDetector {
    kinds: &'static [Kind],
    footprint: MemoryFootprint,
    encode: fn(&ErasedMessage) -> Vec<u8>,
    decode: fn(&[u8]) -> Option<ErasedMessage>,
}

/// A message of an algorithm or of the failure detector below it.
type StackMessage = Layered<ErasedMessage, BelowErasedMessage<DetectorMessage>>;
type DetectorMessage = <AnyDetector as Process>::Message;

/// Constructor of a failure detector that every process runs itself.
pub(crate) type DetectorBuilder = fn(&Setup, ProcessId) -> AnyDetector;

impl<C: Data, O: Data, E: Reason> ErasedAlgorithm<C, O, E> {
    /// Erases the type of an algorithm.
    pub(crate) const fn of<A>() -> Self
    where
        A: Algorithm + Process<Command = C, Output = O, Misuse = E> + 'static,
    {
        Self {
            facts: Facts::of::<A>(),
            bytes_per_other: A::BYTES_PER_OTHER,
            round: None,
            alone: ErasedProcess::of::<A>(|setup, id| Erased::new(A::build(setup, id))),
            over_detector: OverDetector {
                kinds: <Stack<A, AnyDetector> as Process>::Message::KINDS,
                footprint: MemoryFootprint::of::<Stack<A, AnyDetector>>(),
                encode: |message| encode_layered(message, encode::<A::Message>),
                decode: |bytes| decode_layered(bytes, decode::<A::Message>, A::Message::KINDS),
            },
        }
    }

    /// The same for a failure detector with rounds of this duration.
    pub(crate) const fn with_round(self, round: fn(&Setup) -> Span) -> Self {
        Self { round: Some(round), ..self }
    }

    /// The kinds of message of the process above a failure detector.
    pub(crate) const fn kinds_over_detector(&self) -> &'static [Kind] {
        self.over_detector.kinds
    }

    /// Factory of processes over a failure detector. They have the same type as those without one, so that a family has
    /// only one world. A message of the upper layer is therefore behind two pointers.
    pub(crate) fn factory_over<'d>(
        &self,
        below: DetectorBuilder,
        setup: Setup,
        driver: Option<&'d mut dyn Driver>,
    ) -> ProcessFactory<'d, Erased<C, O, E>> {
        let OverDetector { footprint, encode, decode, .. } = self.over_detector;
        let (build, kinds) = (self.alone.build, self.alone.kinds);
        let make = move |id| {
            let lower = BelowErased::new(below(&setup, id), kinds);
            Erased::new(Stack::new(build(&setup, id), lower))
        };
        ProcessFactory::simulated(make)
            .with_footprint(footprint)
            .driven(Wire { encode, decode }, driver)
    }
}

impl<C: Data, O: Data, E: Reason> ErasedProcess<C, O, E> {
    /// Erases the type of processes that are built like this.
    pub(crate) const fn of<P>(build: fn(&Setup, ProcessId) -> Erased<C, O, E>) -> Self
    where
        P: Process<Message: Sendable, Command = C, Output = O, Misuse = E> + 'static,
    {
        Self {
            build,
            kinds: P::Message::KINDS,
            footprint: MemoryFootprint::of::<P>(),
            encode: encode::<P::Message>,
            decode: decode::<P::Message>,
        }
    }

    /// Factory of these processes.
    pub(crate) fn factory<'d>(
        &self,
        setup: Setup,
        driver: Option<&'d mut dyn Driver>,
    ) -> ProcessFactory<'d, Erased<C, O, E>> {
        let Self { build, footprint, encode, decode, .. } = *self;
        ProcessFactory::simulated(move |id| build(&setup, id))
            .with_footprint(footprint)
            .driven(Wire { encode, decode }, driver)
    }
}

fn encode<M: Message + Sendable + 'static>(message: &ErasedMessage) -> Vec<u8> {
    message.downcast_ref::<M>().map_or_else(Vec::new, to_bytes)
}

fn decode<M: Message + Sendable + 'static>(bytes: &[u8]) -> Option<ErasedMessage> {
    postcard::from_bytes::<M>(bytes).ok().map(ErasedMessage::new)
}

/// Encodes and decodes messages of a known type.
#[cfg(feature = "fast")]
pub(crate) fn typed_wire<M: Sendable>() -> Wire<M> {
    Wire { encode: to_bytes, decode: |bytes| postcard::from_bytes(bytes).ok() }
}

fn to_bytes<M: Sendable>(message: &M) -> Vec<u8> {
    postcard::to_stdvec(message).expect("messages are plain data")
}

/// Encodes a message of a stack as if its type were known: the number of the layer, then the message.
fn encode_layered(message: &ErasedMessage, upper: fn(&ErasedMessage) -> Vec<u8>) -> Vec<u8> {
    let (layer, mut bytes) = match message.downcast_ref::<StackMessage>() {
        Some(Layered::Upper(message)) => (0, upper(message)),
        Some(Layered::Lower(message)) => (1, to_bytes(&message.message)),
        None => return Vec::new(),
    };
    bytes.insert(0, layer);
    bytes
}

fn decode_layered(
    bytes: &[u8],
    upper: fn(&[u8]) -> Option<ErasedMessage>,
    above: &[Kind],
) -> Option<ErasedMessage> {
    let message: StackMessage = match bytes.split_first()? {
        (0, bytes) => Layered::Upper(upper(bytes)?),
        (1, bytes) => {
            Layered::Lower(BelowErasedMessage::new(postcard::from_bytes(bytes).ok()?, above))
        }
        _ => return None,
    };
    Some(ErasedMessage::new(message))
}
