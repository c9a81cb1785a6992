//! `cargo xtask verify packages`: the packages are installed and used.
//!
//! The step packs the program of the tests, installs the package in a throw-away root and takes a lock from a node that the unit's
//! ExecStart line has started. The root is a copy-on-write view of this machine's, which costs seconds. The step `clean-root`
//! does the same in a fresh Debian, and with the static program of `cargo xtask dist` if there is one; it has to be downloaded.
//! systemd itself does not run here. Its tool judges the unit, and the readiness notification is received here.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::time::Duration;

use super::{Release, binary, build, output};
use crate::cargo::target_directory;
use crate::programs::{self, is_installed};

/// Runs the step `packages`. Without root it is skipped, unless `QUORATE_PACKAGES=required`.
pub(crate) fn check(root: &Path) -> io::Result<bool> {
    if let Some(missing) = missing_rights() {
        eprintln!("    {missing}: the package was not installed");
        return Ok(!env::var("QUORATE_PACKAGES").is_ok_and(|value| value == "required"));
    }
    let Some(program) = programs::quorate(root)? else { return Ok(false) };
    let out = target_directory(root).join("packages");
    let release = Release::new(root, out.clone(), true)?;
    let files = build(&release, &program, |kind| kind != "image")?;
    // Built once more, it has to be the same file.
    let again = Release::new(root, out.join("again"), true)?;
    let second = build(&again, &program, |kind| kind != "image")?;
    for (first, second) in files.iter().zip(&second) {
        if fs::read(first)? != fs::read(second)? {
            eprintln!("error: {} differs from build to build", first.display());
            return Ok(false);
        }
    }
    fs::remove_dir_all(out.join("again"))?;
    Ok(judge_unit(root)? && judge_package(&files)? && install(root, &files, None)?)
}

/// Runs the step `clean-root`, which needs mmdebstrap and Debian's archive the first time.
pub(crate) fn check_clean_root(root: &Path) -> io::Result<bool> {
    if let Some(missing) = missing_rights() {
        eprintln!("    {missing}: the package was not installed");
        return Ok(false);
    }
    let out = target_directory(root).join("packages");
    fs::create_dir_all(&out)?;
    let archive = out.join("root.tar");
    if !archive.exists() {
        let mut create = Command::new("mmdebstrap");
        create.args(["--variant=essential", "--include=adduser", "bookworm"]).arg(&archive);
        output(&mut create)?;
    }
    let built = binary::path(root);
    let program = if built.exists() { Some(built) } else { programs::quorate(root)? };
    let Some(program) = program else { return Ok(false) };
    eprintln!("    the program is {}", program.display());
    let quick = program != binary::path(root);
    let release = Release::new(root, out, quick)?;
    let files = build(&release, &program, |kind| kind != "tar")?;
    let image = files.iter().find(|file| file.to_string_lossy().ends_with("-image.tar"));
    // A program that needs libraries cannot run in the image.
    let image = image.filter(|_| !quick);
    Ok(judge_package(&files)?
        && install(root, &files, Some(&archive))?
        && image.is_none_or(|image| try_image(root, image).unwrap_or(false)))
}

/// Takes a lock in the container image, as `packaging/try-image.sh` describes.
fn try_image(root: &Path, image: &Path) -> io::Result<bool> {
    let mut script = Command::new("unshare");
    script.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "sh"]);
    programs::succeeds(script.arg(root.join("packaging/try-image.sh")).arg(image))
}

/// Mounting needs root, and so does dpkg.
fn missing_rights() -> Option<&'static str> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--fork", "true"]);
    let allowed = unshare.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !allowed {
        return Some("mount namespaces are not allowed");
    }
    (!is_installed("dpkg-deb")).then_some("dpkg-deb is missing")
}

/// The exposure that systemd's own tool computes, at most 1.5 of 10. Network access is most of it.
fn judge_unit(root: &Path) -> io::Result<bool> {
    if !is_installed("systemd-analyze") {
        eprintln!("    systemd-analyze is missing: the unit was not judged");
        return Ok(true);
    }
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=yes", "--threshold=15", "--no-pager"]);
    analyze.arg(root.join("packaging/quorate.service")).stderr(Stdio::null());
    let output = analyze.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    eprintln!("    {}", text.lines().last().unwrap_or_default());
    Ok(output.status.success())
}

/// The opinion of lintian, if it is installed.
fn judge_package(files: &[PathBuf]) -> io::Result<bool> {
    if !is_installed("lintian") {
        eprintln!("    lintian is missing: the package was not judged");
        return Ok(true);
    }
    let mut lintian = Command::new("lintian");
    lintian
        .args(["--fail-on", "error,warning", "--allow-root"])
        .args(files.iter().filter(|file| is_deb(file)));
    programs::succeeds(&mut lintian)
}

fn is_deb(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "deb")
}

/// Installs the Debian package, runs a node and takes locks, as `packaging/try-package.sh` describes.
fn install(root: &Path, files: &[PathBuf], archive: Option<&Path>) -> io::Result<bool> {
    let package = files.iter().find(|file| is_deb(file));
    let package = package.ok_or_else(|| io::Error::other("there is no package"))?;
    let id = process::id();
    // The socket on which systemd would listen, in a folder that the throw-away root shares.
    let notify = PathBuf::from(format!("/dev/shm/quorate-packages-{id}"));
    let socket = UnixDatagram::bind(&notify)?;
    fs::set_permissions(&notify, fs::Permissions::from_mode(0o666))?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    // On an address of their own, ports are free.
    let [_, _, high, low] = id.to_be_bytes();
    let address = format!("127.99.{high}.{}", low.clamp(1, 254));
    let mut script = Command::new("unshare");
    script.args(["--mount", "--pid", "--fork", "--kill-child", "sh"]);
    script.arg(root.join("packaging/try-package.sh")).arg(package).arg(address).args(archive);
    let output = script.env("NOTIFY_SOCKET", &notify).output();
    fs::remove_file(&notify)?;
    let output = output?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    if !output.status.success() {
        eprintln!("{text}");
        return Ok(false);
    }
    for line in text.lines().filter(|line| line.starts_with("==>")) {
        eprintln!("    {}", line.trim_start_matches("==> "));
    }
    // Each of both starts has to report that it is ready.
    let ready = notifications(&socket).iter().filter(|text| text.contains("READY=1")).count();
    if ready != 2 {
        eprintln!("error: the node has told systemd {ready} times that it is ready, not twice");
    }
    Ok(ready == 2)
}

/// All messages that have arrived on a socket.
fn notifications(socket: &UnixDatagram) -> Vec<String> {
    let mut buffer = [0; 4096];
    let mut received = Vec::new();
    while let Ok(length) = socket.recv(&mut buffer) {
        received.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
    }
    received
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// A node that cannot read the boot's identifier does not know whether its votes are of this boot. It would abstain after
    /// every restart.
    #[test]
    fn the_unit_does_not_hide_the_boot_from_the_node() {
        let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/quorate.service");
        let unit = fs::read_to_string(unit).expect("the unit");
        assert!(unit.lines().any(|line| line == "ProtectSystem=strict"), "it is the right file");
        assert!(!unit.lines().any(|line| line.starts_with("ProcSubset=pid")));
    }
}
