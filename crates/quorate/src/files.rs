//! Output files that are written atomically.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::command_error::CommandError;

/// File being written. It becomes visible only when it is committed.
pub(crate) struct AtomicFile {
    path: PathBuf,
    out: Out,
}

enum Out {
    /// Temporary file in the same directory, renamed on commit.
    Temporary(BufWriter<NamedTempFile>),
    /// A device or a pipe, which cannot be replaced.
    Direct(BufWriter<File>),
}

impl AtomicFile {
    /// Opens a file for this path. Fails early if the path cannot be written.
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
            // The original error would name the temporary file, which means nothing to the user.
            let temporary = NamedTempFile::new_in(folder)
                .map_err(|error| failure(&io::Error::from(error.kind())))?;
            Out::Temporary(BufWriter::new(temporary))
        };
        Ok(Self { path: path.to_owned(), out })
    }

    /// Moves the file to its path.
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

/// Makes the result readable like any other file. Temporary files are private.
#[cfg(unix)]
fn make_readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_: &File) -> io::Result<()> {
    Ok(())
}
