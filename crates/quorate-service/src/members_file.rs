//! The chain of configurations as a node remembers it, in its data folder. Unlike votes it has to survive a reboot of the
//! machine: a node that forgets a configuration or a promise could let a second one take its place.

use std::fs;
use std::io;
use std::path::Path;

use quorate_algorithms::mutex::leased_quorum::{ChainState, Configuration};
use quorate_protocol::Members;
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, DiskError, sum};

/// First line of the file.
const HEAD: &str = "quorate members 1";

/// Contents of the file.
#[derive(Serialize, Deserialize)]
struct Contents {
    cluster: String,
    node: u32,
    state: ChainState<Members>,
}

impl Disk {
    /// Reads the members that the node knew; `None` if it has never known any.
    pub fn read_members(
        &self,
        cluster: u128,
        node: u32,
    ) -> Result<Option<ChainState<Members>>, DiskError> {
        let path = self.members_path();
        let garbled = || DiskError::Garbled(path.display().to_string());
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) => return Err(garbled()),
        };
        let contents = parse(&text).ok_or_else(garbled)?;
        let same = contents.cluster == format!("{cluster:032x}") && contents.node == node;
        if !same {
            return Err(garbled());
        }
        Ok(Some(contents.state))
    }

    /// Writes the members that the node knows. They are durable when this returns.
    pub fn write_members(
        &self,
        cluster: u128,
        node: u32,
        state: &ChainState<Members>,
    ) -> Result<(), DiskError> {
        let cluster = format!("{cluster:032x}");
        let contents = Contents { cluster, node, state: state.clone() };
        let json = serde_json::to_string(&contents).expect("members are plain data");
        let text = format!("{HEAD}\n{json}\n");
        self.replace(&self.members_path(), &format!("{text}sum {}\n", sum(&text)))
    }

    fn members_path(&self) -> std::path::PathBuf {
        Path::new(self.folder()).join("members.state")
    }
}

fn parse(text: &str) -> Option<Contents> {
    let lines: Vec<&str> = text.strip_suffix('\n')?.split('\n').collect();
    let [HEAD, json, last] = lines[..] else { return None };
    let body = text.strip_suffix(&format!("{last}\n"))?;
    if last.strip_prefix("sum ")? != sum(body) {
        return None;
    }
    let contents: Contents = serde_json::from_str(json).ok()?;
    let Configuration { before, voters, next, .. } = &contents.state.present;
    let all = [before.as_ref(), Some(voters), next.as_ref()];
    let sound = all.into_iter().flatten().all(|members| members.validate().is_ok());
    sound.then_some(contents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_algorithms::mutex::leased_quorum::Lost;
    use quorate_core::ProcessId;

    #[test]
    fn members_are_remembered_and_a_damaged_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::open(folder.path()).expect("it is made");
        assert_eq!(disk.read_members(7, 1).expect("nothing is no error"), None);
        let members = Members::numbered(["a:1".to_owned(), "b:1".to_owned()], "majority");
        let mut state = ChainState::new(Configuration::first(members.clone()), true);
        state.promised = Some((3, ProcessId::new(1)));
        state.accepted = Some(((2, ProcessId::new(0)), members));
        state.lost = Some(Lost::default());
        disk.write_members(7, 1, &state).expect("a disk");
        assert_eq!(disk.read_members(7, 1).expect("it is there"), Some(state));
        assert!(disk.read_members(8, 1).is_err() && disk.read_members(7, 0).is_err());
        let path = folder.path().join("members.state");
        let whole = fs::read_to_string(&path).expect("it is there");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("a disk");
            assert!(disk.read_members(7, 1).is_err(), "{length} bytes are trusted");
        }
        fs::write(&path, whole.replace("a:1", "c:1")).expect("a disk");
        assert!(disk.read_members(7, 1).is_err());
    }

    /// The file has to be read by every later release, because nothing else names the members.
    #[test]
    fn the_file_of_release_0_1_0_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::open(folder.path()).expect("it is made");
        let file = concat!(
            "quorate members 1\n",
            r#"{"cluster":"00000000000000000000000000000007","node":1,"state":{"present":{"index":4,"#,
            r#""before":{"nodes":[{"node":0,"address":"a:1"}],"quorums":"majority","unused":1,"#,
            r#""terms":{"ttl_least_ms":100,"ttl_most_ms":60000,"drift_ppm":500,"shortest_ms":100,"longest_ms":60000}},"#,
            r#""voters":{"nodes":[{"node":0,"address":"a:1"},{"node":1,"address":"b:1"}],"quorums":"tree","unused":2,"#,
            r#""terms":{"ttl_least_ms":100,"ttl_most_ms":60000,"drift_ppm":500,"shortest_ms":100,"longest_ms":60000}},"#,
            r#""next":null},"settled":true,"promised":[3,1],"accepted":null,"volatile":false,"#,
            r#""lost":{"heard":[],"from":null}}}"#,
            "\n",
        );
        let sum = sum(file);
        assert_eq!(sum, "804bbdd523d49bc0", "of the file as it was written");
        fs::write(disk.members_path(), format!("{file}sum {sum}\n")).expect("a disk");
        let state = disk.read_members(7, 1).expect("it is read").expect("it is there");
        assert_eq!((state.present.index, state.promised), (4, Some((3, ProcessId::new(1)))));
        assert_eq!(state.lost, Some(Lost::default()));
        let of = |members: &Members| (members.nodes.len(), members.quorums.clone());
        let before = state.present.before.as_ref().map(of);
        assert_eq!(before, Some((1, "majority".to_owned())));
        assert_eq!(of(&state.present.voters), (2, "tree".to_owned()));
    }
}
