//! Lossless encoding of measured values in shard files: every bit of a number is restored, also if it is NaN or infinite.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Encodes a floating-point number.
pub(super) mod figure {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        figure: &f64,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        figure.to_bits().serialize(to)
    }

    pub(in super::super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

/// Encodes an optional floating-point number.
pub(super) mod optional_figure {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        figure: &Option<f64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        figure.map(f64::to_bits).serialize(to)
    }

    pub(in super::super) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<Option<f64>, D::Error> {
        Option::<u64>::deserialize(from).map(|bits| bits.map(f64::from_bits))
    }
}

/// Encodes a count and a mean.
pub(super) mod mean {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        (count, mean): &(u64, f64),
        to: S,
    ) -> Result<S::Ok, S::Error> {
        (count, mean.to_bits()).serialize(to)
    }

    pub(in super::super) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<(u64, f64), D::Error> {
        <(u64, u64)>::deserialize(from).map(|(count, bits)| (count, f64::from_bits(bits)))
    }
}

/// Encodes an ordered list of processes.
pub(super) mod processes {
    use super::*;
    use quorate_core::ProcessId;

    pub(in super::super) fn serialize<S: Serializer>(
        processes: &[ProcessId],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(processes.iter().map(|process| process.number()))
    }

    pub(in super::super) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<Vec<ProcessId>, D::Error> {
        let numbers = Vec::<u32>::deserialize(from)?;
        Ok(numbers.into_iter().map(ProcessId::new).collect())
    }
}

/// Encodes a length of time.
pub(super) mod span {
    use super::*;
    use quorate_core::Span;

    pub(in super::super) fn serialize<S: Serializer>(
        span: &Span,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        span.0.serialize(to)
    }

    pub(in super::super) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<Span, D::Error> {
        u64::deserialize(from).map(Span)
    }
}
