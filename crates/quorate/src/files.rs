//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::command_error::CommandError;

/// A file being written. Until it is kept, nothing is seen of it.
pub(crate) struct AtomicFile {
    path: PathBuf,
    out: Out,
}

enum Out {
    /// Beside its place, to be moved there.
    Temporary(BufWriter<NamedTempFile>),
    /// A device or a pipe, which cannot be replaced.
    Direct(BufWriter<File>),
}

impl AtomicFile {
    /// Begins a file at this path, and fails if it could not be put there in the end.
    pub(crate) fn create(path: &Path) -> Result<Self, CommandError> {
        let failure = |why: &dyn std::fmt::Display| {
            CommandError::new(format!("{} cannot be written: {why}", path.display()))
        };
        let folder =
            path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if path.is_dir() {
            return Err(failure(&"it is a directory"));
        }
        if !folder.is_dir() {
            return Err(failure(&format_args!("there is no directory {}", folder.display())));
        }
        let special = fs::metadata(path).is_ok_and(|found| !found.is_file());
        let out = if special {
            let device = File::options().write(true).open(path).map_err(|error| failure(&error))?;
            Out::Direct(BufWriter::new(device))
        } else {
            // The error itself would name the temporary file, of which nobody needs to know.
            let temporary = NamedTempFile::new_in(folder)
                .map_err(|error| failure(&io::Error::from(error.kind())))?;
            Out::Temporary(BufWriter::new(temporary))
        };
        Ok(Self { path: path.to_owned(), out })
    }

    /// Puts it in its place.
    pub(crate) fn commit(self) -> Result<(), CommandError> {
        let failure = |error: io::Error| {
            CommandError::new(format!("{} cannot be written: {error}", self.path.display()))
        };
        match self.out {
            Out::Temporary(writer) => {
                let file = writer.into_inner().map_err(|error| failure(error.into_error()))?;
                make_readable(file.as_file()).map_err(failure)?;
                file.persist(&self.path).map_err(|error| failure(error.error))?;
            }
            Out::Direct(mut writer) => writer.flush().map_err(failure)?,
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::Temporary(writer) => writer.write(bytes),
            Out::Direct(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Temporary(writer) => writer.flush(),
            Out::Direct(writer) => writer.flush(),
        }
    }
}

/// Temporary files are private; a result is as readable as any other file.
#[cfg(unix)]
fn make_readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_: &File) -> io::Result<()> {
    Ok(())
}
