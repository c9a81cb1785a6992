//! Lists in pages: nothing is left out without a word about where to go on.
//!
//! Every node tells the first of its requests after a place, in order, as many as fit, and whether there are more. Up to
//! the last request of the shortest part that was cut, the parts together are complete; the next page begins there.

use std::collections::BTreeMap;

use quorate_core::{ProcessId, Time};
use quorate_protocol::{About, Answer, Cursor, Name, Page};

use super::Keeper;
use crate::peer::Selection;
use crate::session::{Interest, Session};

/// Bytes of requests in one reply between nodes: half of what a message between nodes may have.
const REPLY_BYTES: usize = 512 << 10;

/// Bytes of requests in one page.
const PAGE_BYTES: usize = 4 << 20;

/// Maximum number of requests in one page.
pub(super) const PAGE_MOST: u32 = 10_000;

/// What has come so far for a page.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) most: usize,
    parts: BTreeMap<ProcessId, (Vec<About>, bool)>,
}

impl Parts {
    pub(super) fn new(most: u32) -> Self {
        Self { most: most.clamp(1, PAGE_MOST) as usize, parts: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, from: ProcessId, requests: Vec<About>, more: bool) {
        self.parts.insert(from, (requests, more));
    }

    /// The page. Nodes that have not answered are named in it.
    pub(super) fn page(self, silent: Vec<u32>) -> Answer {
        let key = |about: &About| (about.name.clone(), about.stamp, about.tie);
        let cut = self.parts.values().filter(|(_, more)| *more);
        let horizon = cut.filter_map(|(requests, _)| requests.iter().map(key).max()).min();
        let more = self.parts.values().any(|(_, more)| *more);
        let mut all: Vec<About> = self.parts.into_values().flat_map(|(part, _)| part).collect();
        all.sort_by_cached_key(key);
        let whole = all.len();
        if let Some(horizon) = horizon {
            all.retain(|about| key(about) <= horizon);
        }
        all.truncate(fitting(&all, self.most, PAGE_BYTES));
        let cut = more || all.len() < whole;
        let next = all.last().filter(|_| cut).map(Cursor::of);
        Answer::Page(Page { requests: all, next, silent })
    }
}

/// How many of these fit; one always does.
fn fitting(all: &[About], most: usize, bytes: usize) -> usize {
    let mut room = bytes;
    let fits = |about: &&About| {
        let texts = [about.name.text(), &about.who, &about.place, &about.why];
        let size = 64 + texts.iter().map(|text| text.len()).sum::<usize>();
        let fits = room >= size;
        room = room.saturating_sub(size);
        fits
    };
    all.iter().take(most).take_while(fits).count().max(1)
}

impl Keeper {
    /// The first requests through this node that are selected, and whether there are more.
    pub(super) fn page_here(
        &self,
        selection: &Selection,
        most: usize,
        now: Time,
    ) -> (Vec<About>, bool) {
        let mut chosen = self.selected(selection);
        let place = |chosen: &Chosen<'_>| (chosen.2.ticket.stamp, chosen.2.ticket.number);
        let by_place = |a: &Chosen<'_>, b: &Chosen<'_>| (a.1, place(a)).cmp(&(b.1, place(b)));
        let whole = chosen.len();
        if most < whole {
            chosen.select_nth_unstable_by(most, by_place);
            chosen.truncate(most);
        }
        chosen.sort_unstable_by(by_place);
        let list = chosen.into_iter();
        let mut list: Vec<About> = list
            .map(|(session, name, interest)| self.about(session, name, interest, now))
            .collect();
        if !list.is_empty() {
            list.truncate(fitting(&list, most, REPLY_BYTES));
        }
        let more = list.len() < whole;
        (list, more)
    }

    fn selected(&self, selection: &Selection) -> Vec<Chosen<'_>> {
        let node = self.settings.id.index() as u64;
        let after = |name: &Name, interest: &Interest| {
            let tie = interest.ticket.number << 8 | node;
            let at = (name, interest.ticket.stamp, tie);
            selection.after.as_ref().is_none_or(|it| at > (&it.name, it.stamp, it.tie))
        };
        let mut chosen = Vec::new();
        for session in self.sessions.values() {
            let fits =
                |(name, it): &(&Name, &Interest)| selection.names(name.text()) && after(name, it);
            let own = session.interests.iter().filter(fits);
            chosen.extend(own.map(|(name, it)| (session, name, it)));
        }
        chosen
    }
}

type Chosen<'a> = (&'a Session, &'a Name, &'a Interest);
