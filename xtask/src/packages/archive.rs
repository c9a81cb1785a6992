//! The archive for systems without a package: binary, manual pages, completions, unit and configuration.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::contents::{Contents, DOCUMENTS, copy, empty_folder, write};
use super::{Release, output};

/// Builds the archive and returns its path.
pub(super) fn build(release: &Release<'_>, contents: &Contents) -> io::Result<PathBuf> {
    let (name, staging) = (release.name(), empty_folder(release, "tar")?);
    let folder = staging.join(&name);
    copy(&contents.binary, &folder, "bin/quorate", 0o755)?;
    for (page, text) in &contents.manual {
        write(&folder, &format!("share/man/man1/{page}.1"), text)?;
    }
    for (shell, text) in &contents.completions {
        write(&folder, &format!("completions/quorate.{shell}"), text)?;
    }
    for file in DOCUMENTS {
        copy(&release.root.join(file), &folder, file, 0o644)?;
    }
    for file in ["quorate.service", "node.toml"] {
        copy(&release.root.join("packaging").join(file), &folder, file, 0o644)?;
    }
    write(&folder, "THIRD-PARTY", &contents.third_party)?;
    let path = release.out.join(format!("{name}.tar.gz"));
    pack(release, &staging, &name, &path)?;
    fs::remove_dir_all(&staging)?;
    Ok(path)
}

/// Packs a folder so that only names, contents and execute permissions count.
fn pack(release: &Release<'_>, folder: &Path, name: &str, path: &Path) -> io::Result<()> {
    let plain = path.with_extension("");
    let mut tar = release.command("tar");
    tar.args(["--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=u+rw,go=rX"]).arg(format!("--mtime=@{}", release.time));
    output(tar.arg("-cf").arg(&plain).arg("-C").arg(folder).arg(name))?;
    let level = if release.quick { "-1" } else { "-9" };
    // Without name and time (-n).
    output(release.command("gzip").args([level, "-n", "-f"]).arg(&plain))?;
    Ok(())
}
