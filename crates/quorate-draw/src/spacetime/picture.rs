//! A picture being drawn, from the back to the front: partitions, times, lines, stays, messages, signs, violations.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::Time;

use super::View;
use super::arrow::{Arrow, rules};
use super::labels::{Area, Room};
use super::legend::{self, Used};
use super::plot::Plot;
use super::sign::{Sign, Stay, StayKind};
use super::story::{Broken, Fate, Story};
use super::thin::{Thinned, thin};
use crate::svg::{Anchor, Svg};
use crate::text::{count, counted, shortened, width};

const LABEL: f64 = 11.0;
/// So many violations are told in words, and so many faults.
const TOLD_MOST: usize = 4;
const FAULTS_MOST: usize = 8;

const RULES: &str = "
text{font-size:12px}
.title{font-size:17px;font-weight:600}
.name{font-size:13px;font-weight:600}
.tick,.note{fill:$faint}
.small{font-size:11px}
.label{font-size:11px;stroke:$paper;stroke-width:3.5px;paint-order:stroke;stroke-linejoin:round}
.on-bar{font-size:10px;fill:$paper}
.wrong{fill:$bad;font-weight:600}
.grid{stroke:$grid;stroke-width:1}
.round{stroke:$line;stroke-width:1;stroke-dasharray:1 3}
.lane{stroke:$line;stroke-width:1.3}
.down{stroke:$bad;stroke-width:1.6;stroke-dasharray:2 5}
.stay{stroke-width:1}
.waits{fill:$wait;stroke:$wait}
.inside{fill:$inside;stroke:$inside}
.guilty{stroke:$bad;stroke-width:2.5}
.band{fill:$band}
.edge{stroke:$edge;stroke-width:1.5;stroke-dasharray:6 3;fill:none}
.way{stroke:$faint;stroke-width:1.4;fill:none}
.head{fill:$faint;stroke:$faint;stroke-width:0.5}
.cross{stroke:$bad;stroke-width:2.2;fill:none}
.open .way{opacity:0.65;stroke-dasharray:1 4}
.culprit .way{stroke-width:2.6}
.sign{stroke:$ink;stroke-width:1.4;fill:none;stroke-linejoin:round}
.solid{fill:$ink}
.hollow{fill:$paper}
.heavy{stroke-width:2.4}
.sign.bad{stroke:$bad}
.sign.good{stroke:$good}
.flag{fill:$edge;stroke:$edge;stroke-width:1.2}
.moment{stroke:$bad;stroke-width:2;stroke-dasharray:7 3;fill:none}
.ring{stroke:$bad;stroke-width:2.2;fill:none}
";

/// Everything that a picture is made of.
pub(super) struct Picture<'s> {
    title: &'s str,
    story: &'s Story,
    left_out: u64,
    view: &'s View,
    plot: Plot,
    room: Room,
    svg: Svg,
    used: Used,
    /// Labels are drawn last, above everything else: class, place, anchor and text.
    labels: Vec<(String, (f64, f64), Anchor, String)>,
    /// The events that led to a violation.
    culprits: BTreeSet<u64>,
}

impl<'s> Picture<'s> {
    pub(super) fn new(title: &'s str, story: &'s Story, left_out: u64, view: &'s View) -> Self {
        let mut plot = Plot::new(story, view);
        let mut top = 10.0;
        if view.legend {
            top += if title.is_empty() { 0.0 } else { 26.0 };
            top += 19.0 * story.broken.len().min(TOLD_MOST) as f64;
        }
        top += 20.0;
        if has_strip(story, &plot) {
            top += 18.0;
        }
        plot.top = top;
        let bounds = Area(plot.left, plot.top - 2.0, plot.right, plot.bottom() + 2.0);
        let culprits = story.broken.iter().flat_map(|broken| &broken.events);
        Self {
            title,
            story,
            left_out,
            view,
            room: Room::within(bounds),
            svg: Svg::default(),
            used: Used::default(),
            labels: Vec::new(),
            culprits: culprits.map(|event| event.event).collect(),
            plot,
        }
    }

    /// Where things are in it.
    pub(super) fn plot(&self) -> &Plot {
        &self.plot
    }

    pub(super) fn draw(mut self) -> String {
        let thinned = thin(self.story, &self.plot, &self.culprits, self.view.most);
        self.bands();
        self.times();
        self.lanes();
        self.stays();
        self.flags();
        let signs = self.sign_labels();
        self.arrows(&thinned);
        self.signs(&signs);
        self.violations();
        self.written();
        let mut bottom = self.plot.bottom() + 8.0;
        if self.view.legend {
            self.heading();
            bottom = self.below(&thinned, bottom + 14.0);
        }
        let title = if self.title.is_empty() { "Space-time diagram" } else { self.title };
        let description = self.description(&thinned);
        let rules = format!("{RULES}{}", rules(self.story.kinds.len()));
        let size = (self.plot.width, bottom + 8.0);
        self.svg.finish(size, (title, &description), self.view.theme, &rules)
    }

    fn heading(&mut self) {
        let mut y = 10.0;
        if !self.title.is_empty() {
            y += 18.0;
            let most = (self.plot.width / 9.5) as usize;
            self.svg.text("title", (16.0, y), Anchor::Start, &shortened(self.title, most));
            y += 8.0;
        }
        for broken in self.story.broken.iter().take(TOLD_MOST) {
            y += 14.0;
            let most = (self.plot.width / 7.0) as usize;
            let told = shortened(&told(broken), most);
            self.svg.text("wrong", (16.0, y), Anchor::Start, &told);
            y += 5.0;
        }
    }

    fn bands(&mut self) {
        let (top, high) = (self.plot.top, self.plot.bottom() - self.plot.top);
        for band in &self.story.bands {
            let to = band.to.unwrap_or(self.plot.to);
            if !self.plot.meets(band.from, to) {
                continue;
            }
            self.used.bands = true;
            let left = self.plot.x(band.from).max(self.plot.left);
            let right = if band.to.is_some() {
                self.plot.x(to).min(self.plot.right)
            } else {
                self.plot.right
            };
            self.svg.open(format_args!("class=\"partition\""));
            let (groups, all) = groups(&band.groups, &self.plot.shown);
            let until = band.to.map_or("the end".to_owned(), |to| Time(to).to_string());
            self.svg.title(&format!("partition from {} until {until}: {all}", Time(band.from)));
            self.svg.rect("band", (left, top), (right - left, high));
            for (time, x) in [(Some(band.from), left), (band.to, right)] {
                if time.is_some_and(|time| self.plot.is_shown(time)) {
                    self.svg.line("edge", (x, top), (x, top + high));
                }
            }
            self.svg.close();
            let words = format!("partition {all}");
            let most = ((right - left).max(150.0) / 6.6) as usize;
            self.svg.text(
                "small",
                (left + 3.0, top - 6.0),
                Anchor::Start,
                &shortened(&words, most),
            );
            for (process, letter) in groups {
                if let Some(y) = self.plot.y(process) {
                    let place = (left + 10.0, y - self.plot.bar() / 2.0 - 6.0);
                    self.room.take(Area::of_text(&letter, place, LABEL));
                    let place = (place.0, place.1 + 4.0);
                    self.labels.push(("small label".to_owned(), place, Anchor::Middle, letter));
                }
            }
        }
    }

    fn times(&mut self) {
        let (top, bottom) = (self.plot.top, self.plot.bottom());
        let strip = if has_strip(self.story, &self.plot) { 18.0 } else { 0.0 };
        self.svg.open(format_args!("class=\"times\" aria-hidden=\"true\""));
        for (time, words) in self.plot.ticks() {
            let x = self.plot.x(time);
            self.svg.line("grid", (x, top), (x, bottom));
            self.svg.text("tick small", (x, top - 6.0 - strip), Anchor::Middle, &words);
        }
        let mut free_from = f64::NEG_INFINITY;
        for &(time, round) in self.story.rounds.keys() {
            if !self.plot.is_shown(time) {
                continue;
            }
            let x = self.plot.x(time);
            let words = format!("round {round} ends");
            let half = width(&words, LABEL) / 2.0;
            if x - half > free_from && !self.used.bands {
                self.svg.line("round", (x, top), (x, bottom));
                self.svg.text("tick small", (x, top - 6.0), Anchor::Middle, &words);
                free_from = x + half + 6.0;
            }
        }
        self.svg.close();
    }

    fn lanes(&mut self) {
        let guilty: BTreeSet<u32> = self
            .story
            .broken
            .iter()
            .flat_map(|broken| &broken.events)
            .map(|event| event.process)
            .collect();
        for process in self.plot.shown.clone() {
            let Some(y) = self.plot.y(process) else { continue };
            let half = self.plot.bar() / 2.0;
            self.room.take(Area(self.plot.left, y - half, self.plot.right, y + half));
            self.svg.open(format_args!("class=\"process\" data-process=\"{process}\""));
            self.svg.line("lane", (self.plot.left, y), (self.plot.right, y));
            let name = (self.plot.left - 8.0, y + 4.5);
            match guilty.contains(&process) {
                true => self.svg.text("name wrong", name, Anchor::End, &format!("! p{process}")),
                false => self.svg.text("name", name, Anchor::End, &format!("p{process}")),
            }
            self.svg.close();
        }
    }

    fn stays(&mut self) {
        for process in self.plot.shown.clone() {
            let Some(y) = self.plot.y(process) else { continue };
            let mut last: Option<(StayKind, f64)> = None;
            for stay in &self.story.stays[process as usize] {
                let to = stay.to.unwrap_or(u64::MAX);
                if !self.plot.meets(stay.from, to) {
                    continue;
                }
                let left = self.plot.x(stay.from).max(self.plot.left);
                let right = match stay.to {
                    Some(to) => self.plot.x(to).min(self.plot.right),
                    None => self.plot.right,
                };
                // What is narrower than a pixel and like what is already there adds nothing.
                if right - left < 1.0
                    && last.is_some_and(|(kind, x)| kind == stay.kind && x + 1.0 > left)
                {
                    continue;
                }
                self.stay(process, stay, (left, right.max(left + 1.0)), y);
                last = Some((stay.kind, right));
            }
        }
    }

    fn stay(&mut self, process: u32, stay: &Stay, (left, right): (f64, f64), y: f64) {
        self.used.stays.insert(stay.kind);
        let until = stay.to.map_or("the end".to_owned(), |to| Time(to).to_string());
        let words = stay.kind.words();
        self.svg.open(format_args!("data-process=\"{process}\" data-event=\"{}\"", stay.event));
        self.svg.title(&format!("p{process}: {words} from {} until {until}", Time(stay.from)));
        if stay.kind == StayKind::Down {
            self.svg.rect("paper", (left, y - 1.5), (right - left, 3.0));
            self.svg.line("down", (left, y), (right, y));
        } else {
            let thick = stay.kind.thickness(self.plot.bar());
            let guilty = self.is_guilty(process, stay);
            let class =
                format!("stay {}{}", stay.kind.class(), if guilty { " guilty" } else { "" });
            self.svg.rect(&class, (left, y - thick / 2.0), (right - left, thick));
            let label = stay.kind.label();
            if thick >= 12.0 && right - left > width(label, 10.0) + 8.0 && !label.is_empty() {
                let class = "on-bar".to_owned();
                let place = ((left + right) / 2.0, y + 3.6);
                self.labels.push((class, place, Anchor::Middle, label.to_owned()));
            }
        }
        self.svg.close();
    }

    /// Whether a violation falls into a stay of one who led to it.
    fn is_guilty(&self, process: u32, stay: &Stay) -> bool {
        stay.kind == StayKind::Inside
            && self.story.broken.iter().any(|broken| {
                let during = stay.from <= broken.time && stay.to.is_none_or(|to| to >= broken.time);
                during && broken.events.iter().any(|event| event.process == process)
            })
    }

    fn flags(&mut self) {
        for (place, trouble) in self.story.troubles.iter().enumerate() {
            let Some(y) = self.plot.y(trouble.process).filter(|_| self.plot.is_shown(trouble.time))
            else {
                continue;
            };
            self.used.flags = true;
            let x = self.plot.x(trouble.time);
            let number = if place < FAULTS_MOST { (place + 1).to_string() } else { String::new() };
            self.svg.open(format_args!("data-process=\"{}\"", trouble.process));
            self.svg.title(&format!("{}: {}", Time(trouble.time), shortened(&trouble.what, 200)));
            legend::flag(&mut self.svg, (x, y - self.plot.bar() / 2.0), &number);
            self.svg.close();
            let top = y - self.plot.bar() / 2.0 - 14.0;
            self.room.take(Area(x, top, x + 18.0, top + 14.0));
        }
    }

    /// The signs that are drawn: of several at one place and of one kind, one.
    fn sign_labels(&mut self) -> Vec<&'s Sign> {
        let mut seen = BTreeSet::new();
        let mut drawn = Vec::new();
        for sign in &self.story.signs {
            let Some(y) = self.plot.y(sign.process).filter(|_| self.plot.is_shown(sign.time))
            else {
                continue;
            };
            let x = self.plot.x(sign.time);
            if !seen.insert((sign.process, sign.kind, (x * 0.5).round() as i64, &sign.says)) {
                continue;
            }
            drawn.push((x, y, sign));
        }
        // The most telling come first, and of those that are left out nothing is lost but small print.
        drawn.sort_by_key(|(.., sign)| sign.kind);
        drawn.truncate(self.view.most.saturating_mul(4));
        for (x, y, sign) in &drawn {
            self.used.signs.insert(sign.kind);
            if self.view.labels && !sign.says.is_empty() && self.plot.lane >= 19.0 {
                self.sign_label((*x, *y), sign);
            }
        }
        // In the front what matters most.
        drawn.into_iter().rev().map(|(.., sign)| sign).collect()
    }

    fn sign_label(&mut self, (x, y): (f64, f64), sign: &Sign) {
        let words = shortened(&sign.says, 18);
        let off = self.plot.bar().max(2.0 * self.plot.sign()) / 2.0 + 8.0;
        let half = width(&words, LABEL) / 2.0;
        let beside = half + self.plot.sign() + 2.0;
        let places = [(x, y - off), (x, y + off), (x + beside, y - off), (x + beside, y + off)];
        let areas = places.map(|place| Area::of_text(&words, place, LABEL));
        if let Some(area) = self.room.place(areas.into_iter(), 1.0) {
            let place = ((area.0 + area.2) / 2.0, area.3 - 2.2);
            self.labels.push(("small label".to_owned(), place, Anchor::Middle, words));
        }
    }

    fn signs(&mut self, signs: &[&Sign]) {
        for sign in signs {
            let Some(y) = self.plot.y(sign.process) else { continue };
            let says = if sign.says.is_empty() { String::new() } else { format!(" {}", sign.says) };
            let words =
                format!("p{} {}{says} at {}", sign.process, sign.kind.words(), Time(sign.time));
            self.svg.open(format_args!(
                "data-process=\"{}\" data-event=\"{}\"",
                sign.process, sign.event
            ));
            self.svg.title(&shortened(&words, 200));
            sign.kind.draw(&mut self.svg, (self.plot.x(sign.time), y), self.plot.sign());
            self.svg.close();
        }
    }

    fn arrows(&mut self, thinned: &Thinned<'s>) {
        let new = |message: &&'s _| Arrow::new(message, self.story, &self.plot);
        let arrows: Vec<Arrow<'s>> = thinned.drawn.iter().filter_map(new).collect();
        for arrow in &arrows {
            let message = arrow.message;
            self.used.kinds.insert(message.kind);
            self.used.lost |= matches!(message.fate, Fate::Lost { .. });
            self.used.open |= message.fate == Fate::UnderWay;
            let guilty = match &message.fate {
                Fate::Arrives(at) => self.culprits.contains(&at.event),
                _ => false,
            };
            arrow.draw(&mut self.svg, &self.story.kinds, guilty);
        }
        if self.view.labels {
            self.arrow_labels(&arrows);
        }
    }

    /// A label for each multicast first, and for each other arrow where there is room left.
    fn arrow_labels(&mut self, arrows: &[Arrow<'s>]) {
        let mut groups: BTreeMap<(u64, usize), Vec<usize>> = BTreeMap::new();
        for (place, arrow) in arrows.iter().enumerate() {
            groups.entry((arrow.message.sent.event, arrow.message.kind)).or_default().push(place);
        }
        let mut rest: Vec<usize> = Vec::new();
        for members in groups.values() {
            let labelled = members.iter().position(|place| self.arrow_label(&arrows[*place], 2.0));
            rest.extend(members.iter().skip(labelled.map_or(members.len(), |place| place + 1)));
        }
        // Where arrows are few, each has its label; where they are many, those would hide more than they tell.
        if arrows.len() <= 60 {
            for place in rest {
                self.arrow_label(&arrows[place], 9.0);
            }
        }
    }

    fn arrow_label(&mut self, arrow: &Arrow<'s>, gap: f64) -> bool {
        let kind = arrow.message.kind;
        let words = shortened(&self.story.kinds[kind].name, 14);
        let places = arrow.label_places(&self.plot);
        let areas = places.into_iter().map(|place| Area::of_text(&words, place, LABEL));
        let Some(area) = self.room.place(areas, gap) else { return false };
        let place = ((area.0 + area.2) / 2.0, area.3 - 2.2);
        self.labels.push((format!("label t{kind}"), place, Anchor::Middle, words));
        true
    }

    fn violations(&mut self) {
        let (top, bottom) = (self.plot.top, self.plot.bottom());
        for broken in &self.story.broken {
            if self.plot.is_shown(broken.time) {
                self.used.broken = true;
                let x = self.plot.x(broken.time);
                self.svg.open(format_args!("class=\"violation\""));
                self.svg.title(&told(broken));
                self.svg.line("moment", (x, top), (x, bottom + 4.0));
                let half = width(&broken.property, LABEL) / 2.0 + 2.0;
                let x = x.clamp(self.plot.left + half, self.plot.right - half);
                let property = shortened(&broken.property, 24);
                self.svg.text("small wrong", (x, bottom + 15.0), Anchor::Middle, &property);
                self.svg.close();
            }
            for event in broken.events.iter().filter(|event| self.plot.is_shown(event.time)) {
                let Some(y) = self.plot.y(event.process) else { continue };
                self.used.broken = true;
                let (process, number) = (event.process, event.event);
                self.svg.open(format_args!("data-process=\"{process}\" data-event=\"{number}\""));
                let words = format!("p{process} {} at {}", event.what, Time(event.time));
                self.svg.title(&shortened(&words, 200));
                self.svg.circle("ring", (self.plot.x(event.time), y), self.plot.sign() + 4.0);
                self.svg.close();
            }
        }
    }

    /// The labels, on top of all else.
    fn written(&mut self) {
        for (class, place, anchor, words) in std::mem::take(&mut self.labels) {
            self.svg.text(&class, place, anchor, &words);
        }
    }

    /// The legend, the faults that have no sign of their own, and what was left out.
    fn below(&mut self, thinned: &Thinned<'_>, top: f64) -> f64 {
        let mut y = legend::draw(&mut self.svg, &self.used, &self.story.kinds, &self.plot, top);
        let most = (self.plot.width / 6.6) as usize;
        let mut note = |svg: &mut Svg, class: &str, words: &str| {
            y += 17.0;
            svg.text(class, (16.0, y), Anchor::Start, &shortened(words, most));
        };
        if self.used.flags {
            for (place, trouble) in self.story.troubles.iter().take(FAULTS_MOST).enumerate() {
                let words = format!("{}  {}: {}", place + 1, Time(trouble.time), trouble.what);
                note(&mut self.svg, "small", &words);
            }
            let more = self.story.troubles.len().saturating_sub(FAULTS_MOST);
            if more > 0 {
                note(&mut self.svg, "small", &format!("and {}", counted(more, "more fault")));
            }
        }
        for words in self.notes(thinned) {
            note(&mut self.svg, "note small", &words);
        }
        y
    }

    /// What is not in the picture.
    fn notes(&self, thinned: &Thinned<'_>) -> Vec<String> {
        let mut notes = Vec::new();
        let story = self.story;
        if self.plot.from > 0 || self.plot.to < story.end {
            let (from, to, end) = (Time(self.plot.from), Time(self.plot.to), Time(story.end));
            notes.push(format!("The window from {from} to {to} of a run that ends at {end}."));
        }
        if thinned.drawn.len() < thinned.all {
            notes.push(format!(
                "{} of {} messages are drawn: all that were lost or led to a violation as far as there is room, and an \
                 even choice of the others; a shorter window shows more.",
                count(thinned.drawn.len()),
                count(thinned.all)
            ));
        }
        if self.plot.shown.len() < story.processes {
            notes.push(format!(
                "{} of {} processes are drawn; {} to or from the others {} not.",
                count(self.plot.shown.len()),
                count(story.processes),
                counted(thinned.hidden, "message"),
                if thinned.hidden == 1 { "is" } else { "are" }
            ));
        }
        if thinned.to_self > 0 {
            let messages = counted(thinned.to_self, "message");
            notes.push(format!("{messages} to oneself, which take no time, are not drawn."));
        }
        if story.unsent > 0 {
            let messages = counted(story.unsent, "message");
            notes.push(format!(
                "{messages} arrived that the trace does not know to have been sent."
            ));
        }
        if self.left_out > 0 {
            let records = counted(self.left_out as usize, "later record");
            notes.push(format!("The run goes on: {records} of its trace are not in the picture."));
        }
        notes
    }

    /// The picture in words, for whoever cannot see it.
    fn description(&self, thinned: &Thinned<'_>) -> String {
        let story = self.story;
        let mut words = vec![format!(
            "{} and {} from {} to {}, time from left to right.",
            counted(story.processes, "process").replace("processs", "processes"),
            counted(story.messages.len(), "message"),
            Time(self.plot.from),
            Time(self.plot.to)
        )];
        let mut signs: BTreeMap<&str, usize> = BTreeMap::new();
        for sign in &story.signs {
            *signs.entry(sign.kind.words()).or_default() += 1;
        }
        let entries =
            story.stays.iter().flatten().filter(|stay| stay.kind == StayKind::Inside).count();
        if entries > 0 {
            words.push(format!(
                "{} into the critical section.",
                counted(entries, "entry").replace("entrys", "entries")
            ));
        }
        if !signs.is_empty() {
            let signs: Vec<String> =
                signs.iter().map(|(what, times)| format!("{what} ×{}", count(*times))).collect();
            words.push(format!("Processes: {}.", signs.join(", ")));
        }
        words.extend(story.bands.iter().take(TOLD_MOST).map(|band| {
            format!("At {} a partition into {}.", Time(band.from), groups(&band.groups, &[]).1)
        }));
        words.extend(story.broken.iter().map(|broken| format!("{}.", told(broken))));
        words.extend(self.notes(thinned));
        shortened(&words.join(" "), 2_000)
    }
}

fn told(broken: &Broken) -> String {
    format!("{} violated at {}: {}", broken.property, Time(broken.time), broken.detail)
}

/// Whether there is something to be written between the times and the first line.
fn has_strip(story: &Story, plot: &Plot) -> bool {
    story.bands.iter().any(|band| plot.meets(band.from, band.to.unwrap_or(u64::MAX)))
        || story.rounds.keys().any(|(time, _)| plot.is_shown(*time))
}

/// The letter of the group of each process that is drawn, and all groups in words. Whoever is in none of them is with
/// the others left out.
fn groups(groups: &[Vec<u32>], shown: &[u32]) -> (Vec<(u32, String)>, String) {
    let letter = |place: usize| char::from(b'A' + (place % 26) as u8).to_string();
    let group_of = |process: &u32| groups.iter().position(|group| group.contains(process));
    let letters =
        shown.iter().map(|process| (*process, letter(group_of(process).unwrap_or(groups.len()))));
    let words: Vec<String> = groups
        .iter()
        .enumerate()
        .map(|(place, group)| {
            let names: Vec<String> =
                group.iter().take(8).map(|process| format!("p{process}")).collect();
            let more = if group.len() > 8 { " .." } else { "" };
            format!("{} = {}{more}", letter(place), names.join(" "))
        })
        .collect();
    (letters.collect(), shortened(&words.join(", "), 200))
}
