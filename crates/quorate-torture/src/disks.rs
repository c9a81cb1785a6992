//! Data folders on small file systems of their own, so that they can be filled. This needs root.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::hosts;

/// Prefix of mount names. The id of the process that has mounted the file system follows.
const PREFIX: &str = "quorate-torture-";

/// The file that fills a disk.
const BALLAST: &str = "ballast";

/// The file systems of a run. They are unmounted when this is dropped. Their files are copied to the folders, since they
/// are needed to analyse a failure, unless they were discarded.
#[derive(Debug, Default)]
pub(crate) struct Disks {
    folders: Vec<PathBuf>,
    discarded: bool,
}

impl Disks {
    /// Creates these folders and mounts a file system on each. Fails if one of them cannot be mounted.
    pub(crate) fn mount(folders: impl Iterator<Item = PathBuf>) -> io::Result<Self> {
        let mut disks = Self::default();
        for folder in folders {
            fs::create_dir_all(&folder)?;
            let name = format!("{PREFIX}{}", std::process::id());
            let mut mount = Command::new("mount");
            mount.args(["-t", "tmpfs", "-o", "size=8m,mode=0700", &name]).arg(&folder);
            let output = mount.stdin(Stdio::null()).output()?;
            if !output.status.success() {
                let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                return Err(io::Error::other(why));
            }
            disks.folders.push(folder);
        }
        Ok(disks)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// Marks the files on the disks as no longer needed.
    pub(crate) fn discard(&mut self) {
        self.discarded = true;
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for folder in &self.folders {
            let mut copy = folder.clone().into_os_string();
            copy.push(".copy");
            let copied = !self.discarded && copy_files(folder, Path::new(&copy)).is_ok();
            unmount(folder);
            if copied {
                let _ = fs::rename(copy, folder);
            }
        }
    }
}

/// Copies all files of a folder to another, except the file that fills it.
fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if entry.is_dir() {
            copy_files(&entry, &to.join(name))?;
        } else if name != BALLAST {
            fs::copy(&entry, to.join(name))?;
        }
    }
    Ok(())
}

fn unmount(folder: &Path) {
    let mut umount = Command::new("umount");
    let _ = umount.arg("-l").arg(folder).stderr(Stdio::null()).status();
}

/// Unmounts file systems of runs that were killed before they could unmount them.
pub(crate) fn unmount_stale() {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for line in mounts.lines() {
        let mut words = line.split(' ');
        if let (Some(name), Some(folder)) = (words.next(), words.next())
            && hosts::is_stale(name, PREFIX)
        {
            unmount(Path::new(folder));
        }
    }
}

/// Fills the disk of a folder.
pub(crate) fn fill(folder: &Path) -> io::Result<()> {
    let mut file = fs::File::create(folder.join(BALLAST))?;
    for block in [vec![0; 1 << 16], vec![0; 1]] {
        while file.write_all(&block).is_ok() {}
    }
    Ok(())
}

/// Frees space on the disk of a folder, if it was filled.
pub(crate) fn empty(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(BALLAST)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_a_disk_stays_unless_it_is_discarded() {
        for discarded in [false, true] {
            let folder = tempfile::tempdir().expect("a folder");
            let data = folder.path().join("data-0");
            let Ok(mut disks) = Disks::mount([data.clone()].into_iter()) else { return };
            fs::create_dir(data.join("old")).expect("there is room");
            fs::write(data.join("old/votes"), "1").expect("there is room");
            fill(&data).expect("it can be filled");
            if discarded {
                disks.discard();
            }
            drop(disks);
            let kept = fs::read_to_string(data.join("old/votes")).ok();
            assert_eq!(kept, (!discarded).then(|| "1".to_owned()));
            assert!(!data.join(BALLAST).exists() && !folder.path().join("data-0.copy").exists());
        }
    }

    #[test]
    fn a_disk_may_be_emptied_twice_and_before_it_exists() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(BALLAST), "full").expect("a file");
        empty(folder.path()).expect("there is a file");
        empty(folder.path()).expect("there is none");
        empty(&folder.path().join("later")).expect("there is no folder");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
