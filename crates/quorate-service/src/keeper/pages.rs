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

/// Replies that have arrived for a page.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) most: usize,
    selection: Selection,
    parts: BTreeMap<ProcessId, (Vec<About>, bool)>,
}

impl Parts {
    pub(super) fn new(selection: Selection, most: u32) -> Self {
        let most = most.clamp(1, PAGE_MOST) as usize;
        Self { most, selection, parts: BTreeMap::new() }
    }

    /// Takes a node's reply. Requests that were not asked for would keep the pages from ending.
    pub(super) fn add(&mut self, from: ProcessId, mut requests: Vec<About>, more: bool) {
        requests.retain(|about| self.selection.has(about));
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

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_protocol::Standing;

    fn about(name: &str, stamp: u64) -> About {
        About {
            name: Name::lock(name).expect("a name"),
            stamp,
            tie: 1,
            node: 0,
            who: String::new(),
            place: String::new(),
            why: String::new(),
            lease: 0,
            revision: 0,
            for_ms: 0,
            standing: Standing::Waiting,
        }
    }

    fn page(after: Option<Cursor>, parts: &[(&[About], bool)]) -> (Vec<String>, Option<Cursor>) {
        let mut all = Parts::new(Selection { prefix: String::new(), exact: false, after }, 100);
        for (node, (part, more)) in (0..).zip(parts) {
            all.add(ProcessId::new(node), part.to_vec(), *more);
        }
        let Answer::Page(page) = all.page(Vec::new()) else { panic!("not a page") };
        let names = page.requests.iter().map(|about| about.name.text().to_owned()).collect();
        (names, page.next)
    }

    #[test]
    fn a_page_ends_where_the_shortest_part_ends() {
        let (one, two) = ([about("a", 1), about("c", 1)], [about("b", 1), about("d", 1)]);
        let (names, next) = page(None, &[(&one, true), (&two, false)]);
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(next, Some(Cursor::of(&one[1])));
        let (names, next) = page(next, &[(&[about("c", 2)], false), (&two[1..], false)]);
        assert_eq!((names, next), (vec!["c".to_owned(), "d".to_owned()], None));
    }

    #[test]
    fn a_part_that_was_not_asked_for_does_not_keep_pages_from_ending() {
        let after = Some(Cursor::of(&about("m", 1)));
        let (names, next) = page(after, &[(&[about("a", 1)], true)]);
        assert_eq!((names, next), (Vec::new(), None));
    }
}
