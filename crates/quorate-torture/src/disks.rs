//! Data folders that are small file systems of their own, so that they can be filled. They need root.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::hosts;

/// What is mounted is named so; the number of the process that has mounted it follows.
const PREFIX: &str = "quorate-torture-";

/// The file that fills a disk.
const BALLAST: &str = "ballast";

/// The file systems of a run. They are unmounted when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Disks(Vec<PathBuf>);

impl Disks {
    /// Makes these folders, each a file system of its own. Fails if one of them cannot be mounted.
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
            disks.0.push(folder);
        }
        Ok(disks)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        self.0.iter().for_each(|folder| unmount(folder));
    }
}

fn unmount(folder: &Path) {
    let mut umount = Command::new("umount");
    let _ = umount.arg("-l").arg(folder).stderr(Stdio::null()).status();
}

/// Unmounts file systems of runs that were killed before they could do so.
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

/// Makes room on the disk of a folder, if it was filled.
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
    fn a_disk_may_be_emptied_twice_and_before_it_exists() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(BALLAST), "full").expect("a file");
        empty(folder.path()).expect("there is a file");
        empty(folder.path()).expect("there is none");
        empty(&folder.path().join("later")).expect("there is no folder");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
