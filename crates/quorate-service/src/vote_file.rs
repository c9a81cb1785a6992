//! The vote file: the state that the voter must keep over a restart of its process.
//!
//! Records are appended before any message that depends on them is sent, with one write per batch. They need not reach the
//! disk platter: the file protects against the death of a process, not of the machine. The file counts only if the machine
//! has not rebooted since, if it was written by the process that the durable mark names as the last one, and if every
//! record is intact. Otherwise the voter has forgotten its votes.
//!
//! ```text
//!   frame   length (4) | checksum (8) | postcard
//!   file    frame of the header, then one frame per record
//! ```

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use quorate_algorithms::mutex::leased_quorum::{Record, Voter};
use quorate_protocol::Name;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The file is rewritten when it is larger than this, and larger than four times its size after the last rewrite.
const GROWN: u64 = 1 << 20;

/// Maximum length of a record, in bytes.
const RECORD_MOST: usize = 64 << 10;

/// Number of bytes before the content of a frame.
const FRAME: usize = 12;

/// First frame of a vote file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of the file format.
    pub(crate) version: u32,
    pub(crate) cluster: u128,
    pub(crate) node: u32,
    /// Identifier of the machine's boot.
    pub(crate) boot: String,
    /// Number of the process that writes the file, as in the durable mark.
    pub(crate) node_incarnation: u64,
    /// Incarnation of the voter.
    pub(crate) incarnation: u64,
    /// Number of restarts with memory in this incarnation.
    pub(crate) restarts: u64,
}

const VERSION: u32 = 3;

/// The vote file of one process.
#[derive(Debug)]
pub(crate) struct VoteFile {
    path: PathBuf,
    header: Header,
    /// `None` until the voter votes: a voter that abstains has nothing to remember, and must not appear to remember.
    file: Option<File>,
    /// Number of bytes that are known to be written.
    length: u64,
    /// Length of the file after the last rewrite.
    compact: u64,
    /// Bytes that could not be written yet.
    pending: Vec<u8>,
}

impl VoteFile {
    /// Opens the vote file in a data folder, which the process has locked.
    pub(crate) fn open(folder: &Path, cluster: u128, node: u32, node_incarnation: u64) -> Self {
        let (version, boot) = (VERSION, boot_id());
        let (incarnation, restarts) = (0, 0);
        let header =
            Header { version, cluster, node, boot, node_incarnation, incarnation, restarts };
        let path = folder.join("votes");
        let (length, compact, pending) = (0, 0, Vec::new());
        Self { path, header, file: None, length, compact, pending }
    }

    /// Reads the records of the previous process, if they count: they belong to this cluster, node and boot, were written
    /// by the process that the durable mark names, and are intact.
    pub(crate) fn read(&self, node_incarnation: u64) -> Option<(Header, Vec<Record<Name>>)> {
        let bytes = fs::read(&self.path).ok()?;
        let (header, records) = parse(&bytes)?;
        let own = &self.header;
        let same = header.version == own.version
            && (header.cluster, header.node) == (own.cluster, own.node)
            && header.boot == own.boot
            && !own.boot.is_empty();
        (same && header.node_incarnation == node_incarnation).then_some((header, records))
    }

    /// Sets the incarnation of the voter, and its number of restarts with memory.
    pub(crate) fn set_incarnation(&mut self, incarnation: u64, restarts: u64) {
        (self.header.incarnation, self.header.restarts) = (incarnation, restarts);
    }

    /// Returns whether records are written to the file.
    pub(crate) fn is_active(&self) -> bool {
        self.file.is_some()
    }

    /// Returns whether the file should be rewritten.
    pub(crate) fn has_grown(&self) -> bool {
        self.length > GROWN.max(self.compact.saturating_mul(4))
    }

    /// Writes everything that the voter must remember into a new file.
    pub(crate) fn rewrite(&mut self, voter: &Voter<Name>) -> io::Result<()> {
        let mut bytes = Vec::new();
        put(&self.header, &mut bytes);
        voter.records().iter().for_each(|record| put(record, &mut bytes));
        let beside = self.path.with_extension("new");
        let file = File::create(&beside)?;
        file.write_all_at(&bytes, 0)?;
        fs::rename(&beside, &self.path)?;
        (self.length, self.compact) = (bytes.len() as u64, bytes.len() as u64);
        self.file = Some(file);
        self.pending.clear();
        Ok(())
    }

    /// Appends records, after the pending bytes of earlier failed writes.
    pub(crate) fn append(&mut self, records: &[Record<Name>]) -> io::Result<()> {
        records.iter().for_each(|record| put(record, &mut self.pending));
        if self.pending.is_empty() {
            return Ok(());
        }
        let Some(file) = &self.file else {
            return Err(io::Error::other("the vote file is not open"));
        };
        // After an error, the next attempt starts at the same offset and writes at least the same bytes.
        if let Err(error) = file.write_all_at(&self.pending, self.length) {
            // A partial write may be left, which would invalidate the file.
            let _ = file.set_len(self.length);
            return Err(error);
        }
        self.length += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

/// Returns the identifier of the machine's boot; empty if there is none, so that no file counts.
fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    let (sum, _) = hash.split_at(8);
    sum.try_into().expect("eight bytes")
}

fn put<T: Serialize>(value: &T, out: &mut Vec<u8>) {
    let bytes = postcard::to_stdvec(value).expect("records are plain data");
    out.extend((bytes.len() as u32).to_be_bytes());
    out.extend(checksum(&bytes));
    out.extend(bytes);
}

/// Returns the content of the first frame, and the rest; `None` if the frame is damaged.
fn take(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (frame, rest) = bytes.split_at_checked(FRAME)?;
    let (length, sum) = frame.split_at(4);
    let length = u32::from_be_bytes(length.try_into().ok()?) as usize;
    if length > RECORD_MOST {
        return None;
    }
    let (content, rest) = rest.split_at_checked(length)?;
    (checksum(content) == sum).then_some((content, rest))
}

fn parse(bytes: &[u8]) -> Option<(Header, Vec<Record<Name>>)> {
    let (header, mut rest) = take(bytes)?;
    let header = postcard::from_bytes(header).ok()?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let (record, behind) = take(rest)?;
        records.push(postcard::from_bytes(record).ok()?);
        rest = behind;
    }
    Some((header, records))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::formats::{lines, see, tracer};
    use quorate_algorithms::mutex::leased_quorum::{Electorate, Terms};
    use quorate_core::quorum::AnyCoterie;
    use quorate_core::{Drift, ProcessId, Span};
    use quorate_protocol::Kind;

    fn voter() -> Voter<Name> {
        let electorate = Electorate::new(AnyCoterie::by_name("majority", 1).expect("a coterie"));
        let terms = Terms::fixed(Span::from_millis(1_000), Drift::NONE);
        Voter::new(ProcessId::new(0), electorate, terms)
    }

    /// A change of the format needs a new version. The file of another version does not count: the voter abstains once.
    #[test]
    fn records_keep_their_format_within_a_version() {
        let mut tracer = tracer();
        see::<Header>(&mut tracer);
        see::<Record<Name>>(&mut tracer);
        see::<Kind>(&mut tracer);
        insta::assert_snapshot!(format!("vote_file_of_version_{VERSION}"), lines(tracer));
    }

    fn file(folder: &Path, node_incarnation: u64) -> VoteFile {
        VoteFile::open(folder, 7, 0, node_incarnation)
    }

    #[test]
    fn a_file_counts_for_the_next_process_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = file(folder.path(), 1);
        let counters = |floor| Record::Counters { floor, epochs: 0 };
        assert!(first.append(&[counters(3)]).is_err(), "it does not remember yet");
        first.rewrite(&voter()).expect("a disk");
        first.append(&[counters(5), Record::Ended { session: 9 }]).expect("a disk");
        drop(first);
        let next = file(folder.path(), 2);
        let (header, records) = next.read(1).expect("it is intact");
        assert_eq!(header.node_incarnation, 1);
        assert_eq!(records[records.len() - 2..], [counters(5), Record::Ended { session: 9 }]);
        assert!(next.read(0).is_none() && next.read(2).is_none(), "of another process");
        drop(next);
        let stranger = VoteFile::open(folder.path(), 8, 0, 2);
        assert!(stranger.read(1).is_none(), "of another cluster");
        let mut earlier = file(folder.path(), 1);
        earlier.header.boot = "before the machine rebooted".to_owned();
        earlier.rewrite(&voter()).expect("a disk");
        assert!(file(folder.path(), 2).read(1).is_none(), "of another boot");
    }

    #[test]
    fn what_could_not_be_written_is_written_later() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = file(folder.path(), 1);
        first.rewrite(&voter()).expect("a disk");
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let real = first.file.replace(full);
        let ended = |session| Record::Ended { session };
        assert!(first.append(&[ended(1)]).is_err());
        assert!(first.append(&[]).is_err(), "it is tried again");
        first.file = real;
        first.append(&[ended(2)]).expect("a disk");
        let (_, records) = first.read(1).expect("it is intact");
        assert_eq!(records[records.len() - 2..], [ended(1), ended(2)]);
    }

    #[test]
    fn a_file_with_any_damage_does_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = file(folder.path(), 1);
        first.rewrite(&voter()).expect("a disk");
        first.append(&[Record::Counters { floor: 5, epochs: 1 }]).expect("a disk");
        let path = folder.path().join("votes");
        let whole = fs::read(&path).expect("it is there");
        assert!(first.read(1).is_some());
        for index in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 1;
            fs::write(&path, &damaged).expect("a disk");
            assert!(first.read(1).is_none(), "byte {index}");
        }
        fs::write(&path, &whole[..whole.len() - 1]).expect("a disk");
        assert!(first.read(1).is_none(), "torn");
    }

    #[test]
    fn a_file_counts_for_its_own_version_node_and_machine() {
        let folder = tempfile::tempdir().expect("a folder");
        let written_with = |change: fn(&mut Header)| {
            let mut file = file(folder.path(), 1);
            change(&mut file.header);
            file.rewrite(&voter()).expect("a disk");
            self::file(folder.path(), 2)
        };
        assert!(written_with(|_| {}).read(1).is_some());
        assert!(written_with(|header| header.version += 1).read(1).is_none());
        assert!(written_with(|header| header.node += 1).read(1).is_none());
        let mut nowhere = written_with(|header| header.boot.clear());
        nowhere.header.boot.clear();
        assert!(nowhere.read(1).is_none(), "a machine without an identifier");
        assert!(!boot_id().is_empty() && boot_id().trim() == boot_id());
    }

    #[test]
    fn a_file_names_the_incarnation_of_its_voter() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = file(folder.path(), 1);
        assert!(!first.is_active());
        first.set_incarnation(4, 2);
        first.rewrite(&voter()).expect("a disk");
        assert!(first.is_active());
        let (header, _) = first.read(1).expect("it is intact");
        assert_eq!((header.incarnation, header.restarts), (4, 2));
    }

    #[test]
    fn a_file_is_rewritten_when_it_is_large_and_has_grown() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = file(folder.path(), 1);
        let mut has_grown = |length, compact| {
            (first.length, first.compact) = (length, compact);
            first.has_grown()
        };
        assert!(!has_grown(GROWN, 10) && has_grown(GROWN + 1, 10));
        assert!(!has_grown(4 * GROWN, GROWN) && has_grown(4 * GROWN + 1, GROWN));
    }

    #[test]
    fn appended_bytes_follow_one_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = file(folder.path(), 1);
        first.rewrite(&voter()).expect("a disk");
        first.append(&[]).expect("nothing to write");
        for session in 0..3 {
            first.append(&[Record::Ended { session }]).expect("a disk");
            let length = fs::metadata(folder.path().join("votes")).expect("it is there").len();
            assert_eq!(first.length, length);
        }
        let (_, records) = first.read(1).expect("it is intact");
        assert_eq!(records.last(), Some(&Record::Ended { session: 2 }));
    }

    #[test]
    fn a_record_has_a_maximum_length() {
        let mut bytes = Vec::new();
        let text = "x".repeat(RECORD_MOST - 3);
        put(&text, &mut bytes);
        assert_eq!(bytes.len(), FRAME + RECORD_MOST);
        assert!(
            take(&bytes)
                .is_some_and(|(content, rest)| content.len() == RECORD_MOST && rest.is_empty())
        );
        bytes.clear();
        put(&(text + "x"), &mut bytes);
        assert!(take(&bytes).is_none());
    }
}
