//! Crates that are compiled into the program, as `cargo metadata` reports them, and the files of a release that are made of
//! them: the licences and the bill of materials.

mod bill_of_materials;
mod licences;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cargo::Cargo;
use crate::json::Json;

pub(crate) use bill_of_materials::bill_of_materials;
pub(crate) use licences::{problems, third_party_notices};

/// The target is that of the packages, and so are the features. Dependencies of tests and of build scripts are not in the program.
const METADATA: Cargo<'_> = Cargo {
    environment: &[],
    arguments: "metadata --format-version 1 --locked --filter-platform x86_64-unknown-linux-gnu \
        --manifest-path crates/quorate/Cargo.toml",
};

/// A crate in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Licence as an SPDX expression.
    pub(crate) licence: String,
    /// Whether the crate is one of this workspace.
    pub(crate) is_own: bool,
    /// Checksum of the crate in Cargo.lock.
    pub(crate) checksum: Option<String>,
    /// Folder of the sources.
    folder: PathBuf,
    /// Positions of the dependencies in the list of all.
    pub(crate) needs: Vec<usize>,
}

/// All crates in the program, sorted by name and version.
pub(crate) fn of_program(root: &Path) -> io::Result<Vec<Dependency>> {
    let Some(text) = METADATA.output(root)? else {
        return Err(io::Error::other("cargo metadata failed"));
    };
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    from_metadata(&Json::parse(&text)?, &checksums(&lock))
}

fn from_metadata(
    metadata: &Json,
    checksums: &BTreeMap<(String, String), String>,
) -> io::Result<Vec<Dependency>> {
    let id = |json: &Json| json.at(&["id"]).text().unwrap_or_default().to_owned();
    let packages = metadata.at(&["packages"]).list();
    let packages: BTreeMap<String, &Json> = packages.iter().map(|json| (id(json), json)).collect();
    let nodes = metadata.at(&["resolve", "nodes"]).list();
    let needs: BTreeMap<String, Vec<String>> =
        nodes.iter().map(|node| (id(node), normal_dependencies(node))).collect();
    let field = |id: &str, name: &str| {
        packages.get(id).and_then(|json| json.at(&[name]).text()).unwrap_or_default().to_owned()
    };
    let program = packages.keys().find(|id| field(id, "name") == "quorate");
    let program = program.ok_or_else(|| io::Error::other("cargo metadata lists no quorate"))?;
    let mut reached = BTreeSet::new();
    let mut next = vec![program.clone()];
    while let Some(id) = next.pop() {
        if reached.insert(id.clone()) {
            next.extend(needs.get(&id).into_iter().flatten().cloned());
        }
    }
    let mut ids: Vec<&String> = reached.iter().collect();
    ids.sort_by_key(|id| (field(id, "name"), field(id, "version")));
    let all = ids.iter().map(|id| {
        let (name, version) = (field(id, "name"), field(id, "version"));
        let mut positions: Vec<usize> = (needs.get(*id).into_iter().flatten())
            .filter_map(|need| ids.iter().position(|id| *id == need))
            .collect();
        positions.sort_unstable();
        Dependency {
            checksum: checksums.get(&(name.clone(), version.clone())).cloned(),
            licence: field(id, "license"),
            is_own: field(id, "source").is_empty(),
            folder: PathBuf::from(field(id, "manifest_path")).with_file_name(""),
            needs: positions,
            name,
            version,
        }
    });
    Ok(all.collect())
}

/// Identifiers of the packages that a package is linked with.
fn normal_dependencies(node: &Json) -> Vec<String> {
    let is_normal = |dependency: &&Json| {
        // The kind of a normal dependency is `null`.
        dependency.at(&["dep_kinds"]).list().iter().any(|kind| kind.at(&["kind"]).text().is_none())
    };
    let dependencies = node.at(&["deps"]).list().iter().filter(is_normal);
    dependencies.filter_map(|dependency| Some(dependency.at(&["pkg"]).text()?.to_owned())).collect()
}

/// Checksums in a Cargo.lock, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let package = |block: &str| {
        let value = |key: &str| {
            let start = format!("{key} = \"");
            block.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'))
        };
        Some((
            (value("name")?.to_owned(), value("version")?.to_owned()),
            value("checksum")?.to_owned(),
        ))
    };
    lock.split("[[package]]").filter_map(package).collect()
}

#[cfg(test)]
pub(crate) fn example() -> Vec<Dependency> {
    let metadata = r#"{"packages": [
        {"id": "q", "name": "quorate", "version": "0.1.0", "license": "MIT", "source": null, "manifest_path": "/s/q/Cargo.toml"},
        {"id": "a", "name": "a", "version": "1.2.3", "license": "MIT/Apache-2.0", "source": "r", "manifest_path": "/s/a/Cargo.toml"},
        {"id": "b", "name": "b", "version": "0.1.0", "license": "GPL-3.0", "source": "r", "manifest_path": "/s/b/Cargo.toml"},
        {"id": "t", "name": "t", "version": "9.0.0", "license": "GPL-3.0", "source": "r", "manifest_path": "/s/t/Cargo.toml"}],
      "resolve": {"nodes": [
        {"id": "q", "deps": [{"pkg": "a", "dep_kinds": [{"kind": null}]}, {"pkg": "t", "dep_kinds": [{"kind": "dev"}]}]},
        {"id": "a", "deps": [{"pkg": "b", "dep_kinds": [{"kind": "build"}, {"kind": null}]}]},
        {"id": "b", "deps": []}, {"id": "t", "deps": []}]}}"#;
    let lock =
        "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\nsource = \"r\"\nchecksum = \"c0ffee\"\n";
    from_metadata(&Json::parse(metadata).expect("JSON"), &checksums(lock)).expect("metadata")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_the_program_are_listed_and_those_of_tests_are_not() {
        let all = example();
        let names: Vec<&str> = all.iter().map(|dependency| dependency.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "quorate"]);
        assert_eq!(all[0].checksum.as_deref(), Some("c0ffee"));
        assert_eq!((&all[0].needs, &all[2].needs), (&vec![1], &vec![0]));
        assert!(all[2].is_own && !all[0].is_own);
    }
}
