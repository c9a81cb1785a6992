//! A picture being drawn, from the back to the front: partitions, times, lines, stays, messages, signs, violations.

use std::collections::BTreeSet;

use super::View;
use super::arrow::rules;
use super::ground::has_strip;
use super::labels::{Area, Room};
use super::legend::Used;
use super::plot::Plot;
use super::story::Story;
use super::thin::thin;
use super::words::headings;
use crate::svg::{Anchor, Svg};
use crate::vocabulary::Phrase;

pub(super) const LABEL: f64 = 11.0;
/// From one line of a heading to the next.
pub(super) const LINE: f64 = 19.0;
/// So many violations are told in words, and so many faults.
pub(super) const TOLD_MOST: usize = 4;
pub(super) const FAULTS_MOST: usize = 8;

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
.fine{stroke:$faint;stroke-width:1.1}
.sign.bad{stroke:$bad}
.sign.good{stroke:$good}
.flag{fill:$edge;stroke:$edge;stroke-width:1.2}
.moment{stroke:$bad;stroke-width:2;stroke-dasharray:7 3;fill:none}
.ring{stroke:$bad;stroke-width:2.2;fill:none}
";

/// Everything that a picture is made of.
pub(super) struct Picture<'s> {
    pub(super) title: &'s str,
    pub(super) story: &'s Story,
    pub(super) left_out: u64,
    pub(super) view: &'s View,
    pub(super) plot: Plot,
    pub(super) room: Room,
    pub(super) svg: Svg,
    pub(super) used: Used,
    /// Labels are drawn last, above everything else: class, place, anchor and text.
    pub(super) labels: Vec<(String, (f64, f64), Anchor, String)>,
    /// The events that led to a violation.
    pub(super) culprits: BTreeSet<u64>,
}

impl<'s> Picture<'s> {
    pub(super) fn new(title: &'s str, story: &'s Story, left_out: u64, view: &'s View) -> Self {
        let mut plot = Plot::new(story, view);
        let mut top = 10.0;
        if view.legend {
            top += if title.is_empty() { 0.0 } else { 26.0 };
            top +=
                LINE * headings(story, view, &plot).map(|lines| lines.len()).sum::<usize>() as f64;
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
        self.arrows(&thinned, &signs);
        self.signs(&signs);
        self.violations();
        self.written();
        let mut bottom = self.plot.bottom() + 8.0;
        if self.view.legend {
            self.heading();
            bottom = self.below(&thinned, bottom + 14.0);
        }
        let description = self.description(&thinned);
        let title = match self.title {
            "" => self.view.words.say(Phrase::Diagram),
            title => title,
        };
        let rules = format!("{RULES}{}", rules(self.story.kinds.len()));
        let size = (self.plot.width, bottom + 8.0);
        self.svg.finish(size, (title, &description), self.view.theme, &rules)
    }

    /// The labels, on top of all else.
    fn written(&mut self) {
        for (class, place, anchor, words) in std::mem::take(&mut self.labels) {
            self.svg.text(&class, place, anchor, &words);
        }
    }
}
