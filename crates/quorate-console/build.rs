//! Compresses the files of the page and of the scenarios, for `src/assets.rs` to embed: they are a third as large. The form is
//! that of gzip, which browsers read themselves.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use miniz_oxide::deflate::compress_to_vec;

/// Compression level: as small as possible.
const BEST: u8 = 10;

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for directory in ["page", "scenarios"] {
        // In the repository this is a link, and cargo watches its target.
        let directory_path = fs::canonicalize(root.join(directory))?;
        println!("cargo::rerun-if-changed={}", directory_path.display());
        let mut files = Vec::new();
        collect(&directory_path, "", &mut files)?;
        files.sort();
        let mut list = String::from("&[\n");
        for (number, (name, path)) in files.into_iter().enumerate() {
            let compressed = gzip(&fs::read(path)?);
            let path = out.join(format!("{directory}-{number}"));
            fs::write(&path, compressed)?;
            let _ = writeln!(list, "    ({name:?}, include_bytes!({path:?})),");
        }
        list.push_str("]\n");
        fs::write(out.join(format!("{directory}.rs")), list)?;
    }
    Ok(())
}

/// Returns a gzip file (RFC 1952) without a name and a time, so that equal contents make equal files.
fn gzip(content: &[u8]) -> Vec<u8> {
    const DEFLATE: u8 = 8;
    const UNKNOWN_SYSTEM: u8 = 255;
    let mut file = vec![0x1f, 0x8b, DEFLATE, 0, 0, 0, 0, 0, 0, UNKNOWN_SYSTEM];
    file.extend(compress_to_vec(content, BEST));
    file.extend(crc32fast::hash(content).to_le_bytes());
    file.extend((content.len() as u32).to_le_bytes());
    file
}

/// Adds the files below a directory, with their names relative to it.
fn collect(directory: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are plain text");
        let name = format!("{prefix}{name}");
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files)?;
        } else {
            files.push((name, path));
        }
    }
    Ok(())
}
