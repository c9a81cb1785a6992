//! The scenario files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use quorate_sim::Scenario;

/// All scenario files, each with its name, sorted by folder and name.
pub(crate) fn scenarios() -> Vec<(String, Scenario)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = sorted(&root).into_iter().filter(|path| path.is_dir());
    let files = files.flat_map(|folder| sorted(&folder));
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let named = |path: PathBuf| {
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        (name, quorate_sim::load(&path).unwrap_or_else(|error| panic!("{error}")))
    };
    files.map(named).collect()
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths
}
