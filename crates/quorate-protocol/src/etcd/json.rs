//! JSON encoding of etcd's messages: 64-bit numbers as strings, bytes in base64.

/// Numbers that are written as strings, and read from strings or numbers.
pub mod number {
    use std::fmt;
    use std::marker::PhantomData;
    use std::str::FromStr;

    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    /// Writes a number as a string.
    pub fn serialize<T: fmt::Display, S: Serializer>(
        number: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    /// Reads a number from a string or from a number.
    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr + TryFrom<i64> + TryFrom<u64>,
        D: Deserializer<'de>,
    {
        deserializer.deserialize_any(Read(PhantomData))
    }

    struct Read<T>(PhantomData<T>);

    impl<T: FromStr + TryFrom<i64> + TryFrom<u64>> Visitor<'_> for Read<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an integer, or an integer as a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(|_| E::custom("this string is not an integer"))
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
            T::try_from(number).map_err(|_| E::custom("this number is out of range"))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            T::try_from(number).map_err(|_| E::custom("this number is out of range"))
        }
    }

    /// Returns whether a value equals its default, so that it is omitted.
    pub fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
        *number == T::default()
    }
}

/// Bytes that are encoded in base64.
pub mod bytes {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes bytes in base64.
    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    /// Reads bytes from base64, in the standard or the URL-safe alphabet.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let read = STANDARD.decode(&*text).or_else(|_| URL_SAFE.decode(&*text));
        read.map_err(|error| D::Error::custom(format!("this is not base64: {error}")))
    }
}

/// Lists of byte strings that are encoded in base64.
pub mod keys {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes each byte string in base64.
    pub fn serialize<S: Serializer>(keys: &[Vec<u8>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(keys.iter().map(|key| STANDARD.encode(key)))
    }

    /// Reads each byte string from base64.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Vec<u8>>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let read = texts.iter().map(|text| STANDARD.decode(text).map_err(D::Error::custom));
        read.collect()
    }
}
