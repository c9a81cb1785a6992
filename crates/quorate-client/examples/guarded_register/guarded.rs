//! A value that a lock guards, and that does not trust its clients to know whether they still have the lock.
//!
//! It remembers the greatest token that it has seen, and refuses smaller ones. A client that was paused, cut off or slow
//! may believe that it has the lock long after somebody else got it: whoever got it has a greater token, and from when that
//! was first shown here, the late client changes nothing.

/// A value, and the greatest token that was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guarded {
    greatest: u64,
    value: u64,
}

/// The token is not the last: somebody has had the lock since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stale {
    /// The greatest that was shown.
    pub(crate) greatest: u64,
}

impl Guarded {
    /// The value, for whoever has the lock. Reading counts: what is read is the base of what will be written, so nobody
    /// with a smaller token may write in between.
    pub(crate) fn read(&mut self, token: u64) -> Result<u64, Stale> {
        self.admit(token)?;
        Ok(self.value)
    }

    /// Another value.
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
