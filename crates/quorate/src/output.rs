//! Standard output of commands whose exit code is a verdict. The code is the same whether or not the reader stops early,
//! as `head` does: what cannot be written any more is discarded.

use std::io::{self, StdoutLock, Write};

use anstream::AutoStream;

/// Standard output that discards everything after a broken pipe.
#[derive(Debug)]
pub(crate) struct Output {
    stream: AutoStream<StdoutLock<'static>>,
    is_closed: bool,
}

/// Locks the standard output.
pub(crate) fn stdout() -> Output {
    Output { stream: anstream::stdout().lock(), is_closed: false }
}

impl Output {
    fn unless_closed<T>(
        &mut self,
        otherwise: T,
        write: impl FnOnce(&mut AutoStream<StdoutLock<'static>>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.is_closed {
            return Ok(otherwise);
        }
        match write(&mut self.stream) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(otherwise)
            }
            result => result,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(bytes.len(), |stream| stream.write(bytes))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.unless_closed((), |stream| stream.write_all(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed((), AutoStream::flush)
    }
}
