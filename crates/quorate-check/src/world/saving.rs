//! The numbers of nodes and messages, saved so that another run of the program continues a search.
//!
//! A state is made of these numbers, and so are the fingerprints of visited states. The values behind the numbers have no form
//! in which they could be written. But every value is the result of an input to a node, or a change of a message, that a memo
//! table knows. So the fingerprints of the values are saved with their numbers, and the inputs and changes. To restore, the
//! numbers are reserved for values with these fingerprints, and all inputs and changes are repeated, in any order in which
//! nodes and messages exist before they are needed.

use std::sync::atomic::Ordering;

use super::World;
use super::packing::{push_number, take_byte, take_number};
use super::transition::{Input, MessageChange};
use crate::Fingerprint;

/// An input to a node or a change of a message, by the memo key.
#[derive(Clone, Copy, Debug)]
struct Cause {
    is_message: bool,
    number: u32,
    key: u64,
}

impl World<'_> {
    pub(super) fn save(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.has_skipped().into());
        let prints = self.store.prints();
        for prints in &prints {
            push_number(bytes, prints.len() as u64);
            prints.iter().for_each(|print| bytes.extend(print.to_le_bytes()));
        }
        let [nodes, messages] = prints.map(|prints| 0..prints.len() as u32);
        for node in nodes {
            save_keys(self.store.summary(node).memo.entries(), bytes);
        }
        for message in messages {
            save_keys(self.store.message(message).memo.entries(), bytes);
        }
    }

    /// Restores what was saved; `None` if it belongs to another world.
    pub(super) fn restore(&self, mut bytes: &[u8]) -> Option<()> {
        bytes.first()?;
        let bytes = &mut bytes;
        let skipped = take_byte(bytes);
        self.skipped.store(skipped != 0, Ordering::Relaxed);
        let nodes = saved_prints(bytes)?;
        let messages = saved_prints(bytes)?;
        let mut pending = Vec::new();
        for (is_message, count) in [(false, nodes.len()), (true, messages.len())] {
            for number in 0..count as u32 {
                saved_keys(bytes, |key| pending.push(Cause { is_message, number, key }))?;
            }
        }
        self.store.reserve([&nodes, &messages]);
        self.initial_state();
        while !pending.is_empty() {
            let (mut later, before) = (Vec::new(), pending.len());
            for cause in pending {
                match self.is_ready(cause) {
                    true => self.repeat(cause)?,
                    false => later.push(cause),
                }
            }
            if later.len() == before {
                return None;
            }
            pending = later;
        }
        let are_all_there = (0..nodes.len() as u32).all(|node| self.store.has_node(node))
            && (0..messages.len() as u32).all(|message| self.store.has_message(message));
        let [nodes_now, messages_now] = self.store.prints().map(|prints| prints.len());
        (are_all_there && (nodes_now, messages_now) == (nodes.len(), messages.len())).then_some(())
    }

    /// Whether the node or message and what is given to it exist.
    fn is_ready(&self, cause: Cause) -> bool {
        if cause.is_message {
            return self.store.has_message(cause.number);
        }
        let has_message = match Input::of_key(cause.key) {
            Some((Input::Message { message, .. } | Input::Incoming { message, .. }, _)) => {
                self.store.has_message(message)
            }
            _ => true,
        };
        has_message && self.store.has_node(cause.number)
    }

    fn repeat(&self, Cause { is_message, number, key }: Cause) -> Option<()> {
        // To find its symmetries, the world has also tried renamings that are none.
        let renaming_of =
            |number| self.renamings().iter().find(|renaming| renaming.number() == number);
        if is_message {
            match MessageChange::of_key(key)? {
                MessageChange::Renamed(renaming) => {
                    if let Some(renaming) = renaming_of(renaming) {
                        self.renamed_message(number, renaming)?;
                    }
                }
                change => drop(self.changed_message(number, change)),
            }
            return Some(());
        }
        let id = self.store.summary(number).id;
        match Input::of_key(key)? {
            (Input::Renamed(renaming), _) => {
                if let Some(renaming) = renaming_of(renaming) {
                    self.renamed_node(id, number, renaming)?;
                }
            }
            (Input::Incoming { from, message }, _) => {
                self.received_form(number, from, message);
            }
            (input, crash_after) => drop(self.transition(id, number, input, crash_after)),
        }
        Some(())
    }
}

fn save_keys(entries: Vec<(u64, u32)>, bytes: &mut Vec<u8>) {
    push_number(bytes, entries.len() as u64);
    entries.iter().for_each(|(key, _)| bytes.extend(key.to_le_bytes()));
}

fn saved_keys(bytes: &mut &[u8], mut on_key: impl FnMut(u64)) -> Option<()> {
    for _ in 0..take_number(bytes) {
        let (key, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        on_key(u64::from_le_bytes(*key));
    }
    Some(())
}

fn saved_prints(bytes: &mut &[u8]) -> Option<Vec<Fingerprint>> {
    let mut prints = Vec::new();
    for _ in 0..take_number(bytes) {
        let (print, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        prints.push(Fingerprint::from_le_bytes(*print));
    }
    Some(prints)
}
