//! A value guarded by a lock, which does not trust its clients to know whether they still hold the lock.
//!
//! It stores the greatest token that it has seen, and refuses smaller ones. A client that was paused, partitioned or slow
//! may believe that it holds the lock long after another client has acquired it. The new holder has a greater token. Once
//! the register has seen that token, the late client changes nothing.

/// A value, and the greatest token seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guarded {
    greatest: u64,
    value: u64,
}

/// Error for a token that is not the newest: the lock has had another holder since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stale {
    /// The greatest token seen so far.
    pub(crate) greatest: u64,
}

impl Guarded {
    /// Reads the value as the holder of the lock. A read records the token too. The value read is the base of a later
    /// write, so no client with a smaller token may write in between.
    pub(crate) fn read(&mut self, token: u64) -> Result<u64, Stale> {
        self.admit(token)?;
        Ok(self.value)
    }

    /// Replaces the value as the holder of the lock.
    pub(crate) fn write(&mut self, token: u64, value: u64) -> Result<(), Stale> {
        self.admit(token)?;
        self.value = value;
        Ok(())
    }

    fn admit(&mut self, token: u64) -> Result<(), Stale> {
        if token < self.greatest {
            return Err(Stale { greatest: self.greatest });
        }
        self.greatest = token;
        Ok(())
    }
}
