//! The Debian package, assembled with `dpkg-deb`.
//!
//! `cargo-deb` would compile two hundred crates first, and the files of the package are needed for the archive too.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::contents::{Contents, copy, empty_folder, normalize, write};
use super::{Release, output};

/// Revision of the packaging of one version.
const REVISION: u32 = 1;

/// Parts of lintian's opinion that do not hold here.
const OVERRIDES: &str = "\
# One file that runs on every release of Debian is the purpose of this package.
quorate: statically-linked-binary [usr/bin/quorate]
# A static program that can be loaded at any address looks like a library without dependencies.
quorate: shared-library-lacks-prerequisites [usr/bin/quorate]
# The operator enables the service, and only a removal disables it.
quorate: maintainer-script-calls-systemctl
# The package is not uploaded to Debian.
quorate: initial-upload-closes-no-bugs
";

const DESCRIPTION: &str = "\
locks, leader elections and their algorithms
 A node of a cluster that grants locks and elects leaders by the votes of a
 majority, with fencing tokens, for the command line, Rust, HTTP and clients
 of etcd. The same program simulates, checks and draws distributed algorithms.
";

/// Builds the package and returns its path.
pub(super) fn build(release: &Release<'_>, contents: &Contents) -> io::Result<PathBuf> {
    let folder = empty_folder(release, "deb")?;
    files(release, contents, &folder)?;
    control(release, &folder)?;
    normalize(&folder)?;
    let version = &release.version;
    let path = release.out.join(format!("quorate_{version}-{REVISION}_amd64.deb"));
    let mut build = release.command("dpkg-deb");
    build.arg("--root-owner-group");
    build.args(if release.quick { ["-Zgzip", "-z1"] } else { ["-Zxz", "-z9"] });
    output(build.arg("--build").arg(&folder).arg(&path))?;
    fs::remove_dir_all(&folder)?;
    Ok(path)
}

fn files(release: &Release<'_>, contents: &Contents, folder: &Path) -> io::Result<()> {
    let packaging = release.root.join("packaging");
    copy(&contents.binary, folder, "usr/bin/quorate", 0o755)?;
    let unit = "lib/systemd/system/quorate.service";
    copy(&packaging.join("quorate.service"), folder, unit, 0o644)?;
    copy(&packaging.join("node.toml"), folder, "etc/quorate/node.toml", 0o644)?;
    for (page, text) in &contents.manual {
        compressed(release, folder, &format!("usr/share/man/man1/{page}.1.gz"), text)?;
    }
    for (shell, path) in [
        ("bash", "usr/share/bash-completion/completions/quorate"),
        ("zsh", "usr/share/zsh/vendor-completions/_quorate"),
        ("fish", "usr/share/fish/vendor_completions.d/quorate.fish"),
    ] {
        write(folder, path, contents.completion(shell))?;
    }
    let documents = "usr/share/doc/quorate";
    copy(&packaging.join("debian/copyright"), folder, &format!("{documents}/copyright"), 0o644)?;
    copy(&release.root.join("README.md"), folder, &format!("{documents}/README.md"), 0o644)?;
    let changes = fs::read_to_string(release.root.join("CHANGELOG.md"))?;
    compressed(release, folder, &format!("{documents}/changelog.gz"), &changes)?;
    let of_package = changelog(release)?;
    compressed(release, folder, &format!("{documents}/changelog.Debian.gz"), &of_package)?;
    compressed(release, folder, &format!("{documents}/THIRD-PARTY.gz"), &contents.third_party)?;
    for entry in fs::read_dir(release.root.join("docs"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            copy(&path, folder, &format!("{documents}/manual/{name}"), 0o644)?;
        }
    }
    write(folder, "usr/share/lintian/overrides/quorate", OVERRIDES)?;
    Ok(())
}

/// The files that dpkg reads.
fn control(release: &Release<'_>, folder: &Path) -> io::Result<()> {
    let size = size_of(folder)?.div_ceil(1024);
    let needs = if release.quick { "adduser, libc6" } else { "adduser" };
    let (version, repository) = (&release.version, "https://github.com/quorate/quorate");
    let text = format!(
        "Package: quorate\nVersion: {version}-{REVISION}\nArchitecture: amd64\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {size}\nDepends: {needs}\nSection: net\nPriority: optional\nHomepage: {repository}\n\
         Description: {DESCRIPTION}"
    );
    let sums = checksums(release, folder)?;
    write(folder, "DEBIAN/control", text)?;
    write(folder, "DEBIAN/conffiles", "/etc/quorate/node.toml\n")?;
    write(folder, "DEBIAN/md5sums", sums)?;
    for script in ["postinst", "prerm", "postrm"] {
        let path = release.root.join("packaging/debian").join(script);
        copy(&path, folder, &format!("DEBIAN/{script}"), 0o755)?;
    }
    Ok(())
}

const MAINTAINER: &str = "quorate developers <packages@quorate.invalid>";

/// The changelog of the package, in Debian's format.
fn changelog(release: &Release<'_>) -> io::Result<String> {
    let time = format!("@{}", release.time);
    let date = output(release.command("date").args(["-u", "-R", "-d", &time]))?;
    Ok(format!(
        "quorate ({}-{REVISION}) stable; urgency=medium\n\n  * Packaged from the sources; changelog.gz lists what changed.\n\n \
         -- {MAINTAINER}  {date}",
        release.version
    ))
}

/// Checksums of all files but the configuration.
fn checksums(release: &Release<'_>, folder: &Path) -> io::Result<String> {
    let mut sums = String::new();
    for path in files_below(folder)? {
        let relative = path.strip_prefix(folder).unwrap_or(&path);
        if !relative.starts_with("etc") {
            sums += &output(release.command("md5sum").arg(relative).current_dir(folder))?;
        }
    }
    Ok(sums)
}

fn size_of(folder: &Path) -> io::Result<u64> {
    files_below(folder)?.iter().try_fold(0, |sum, path| Ok(sum + fs::metadata(path)?.len()))
}

/// All files below a folder, sorted.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

/// Writes a compressed file without a name and a time in it.
fn compressed(release: &Release<'_>, folder: &Path, path: &str, text: &str) -> io::Result<()> {
    let mut gzip = release.command("gzip");
    gzip.args(["-9", "-n"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let bytes = filtered(&mut gzip, text.as_bytes())?;
    write(folder, path, bytes)?;
    Ok(())
}

/// Output of a program that reads `input`. A thread writes it, because both pipes may be full.
fn filtered(command: &mut Command, input: &[u8]) -> io::Result<Vec<u8>> {
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().expect("it is piped");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output()
    })?;
    if !output.status.success() {
        return Err(io::Error::other(format!("a filter failed ({})", output.status)));
    }
    Ok(output.stdout)
}
