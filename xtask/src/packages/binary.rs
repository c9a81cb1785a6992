//! The static binary of the packages.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::mebibytes;
use crate::cargo::{Cargo, target_directory};

/// A target that is named explicitly keeps the flags away from build scripts and procedural macros, which cannot be static.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The C library, the allocator and all crates are linked in, so that one file runs on every Linux of this architecture. Equal
/// functions are folded. Packed relocations take one megabyte less.
const LINK: &str = "-C target-feature=+crt-static -C link-arg=-Wl,--icf=all -C link-arg=-Wl,--pack-dyn-relocs=relr";

/// Maximum size of the stripped binary. Three quarters are code: the algorithms with their simulator, monitors and checker, the service
/// with TLS, gRPC, HTTP and JSON, the command line, the standard library. An eighth are tables for unwinding, because a panic must
/// not end the other tasks of a node, and a tenth are the lab's page with its course, and texts. With the feature `fast`, which
/// compiles the simulator for each algorithm, it had 29 MB.
const SIZE_MAX: u64 = 20_000_000;

/// Compiles the binary with the profile `dist` and returns its path.
pub(super) fn build(root: &Path) -> io::Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let home = home.unwrap_or_default();
    // Messages of panics contain paths of sources. They must not depend on the machine that builds.
    let folders = [(root, "/quorate"), (home.as_path(), "/cargo")];
    let remap = |flag: &str| {
        let all = folders.iter().map(|(from, to)| format!("{flag}{}={to}", from.display()));
        all.collect::<Vec<_>>().join(" ")
    };
    let (rust, c) =
        (format!("{LINK} {}", remap("--remap-path-prefix=")), remap("-ffile-prefix-map="));
    let arguments = format!("build --locked --profile dist -p quorate --target {TARGET}");
    let cargo =
        Cargo { environment: &[("RUSTFLAGS", &rust), ("CFLAGS", &c)], arguments: &arguments };
    eprintln!("==> {cargo}");
    if !cargo.succeeds(root)? {
        return Err(io::Error::other("the program does not compile"));
    }
    let binary = path(root);
    super::output(
        Command::new("strip").arg("-o").arg(&binary).arg(binary.with_file_name("quorate")),
    )?;
    check(&binary)?;
    Ok(binary)
}

/// Path of the binary, once it is compiled.
pub(super) fn path(root: &Path) -> PathBuf {
    target_directory(root).join(TARGET).join("dist/quorate-stripped")
}

/// Checks the promises of the packages: the size, and that nothing else is needed to run it.
fn check(binary: &Path) -> io::Result<()> {
    let size = fs::metadata(binary)?.len();
    eprintln!("    the program has {}", mebibytes(size));
    if size > SIZE_MAX {
        return Err(io::Error::other(format!(
            "the program has {size} bytes, more than {SIZE_MAX}"
        )));
    }
    let needed = super::output(Command::new("readelf").arg("--dynamic").arg(binary))?;
    match needed.lines().find(|line| line.contains("(NEEDED)")) {
        Some(line) => Err(io::Error::other(format!("the program is not static: {}", line.trim()))),
        None => Ok(()),
    }
}
