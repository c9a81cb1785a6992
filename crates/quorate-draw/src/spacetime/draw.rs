//! Drawing of a picture from back to front: partitions, times, lanes, activities, messages, markers, violations.

use super::arrow::rules;
use super::picture::Picture;
use super::selection::select_messages;
use crate::vocabulary::Phrase;

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

/// Added to the rules of a picture with stamps.
const STAMP_RULES: &str = ".stamp{font-size:10px;fill:$faint}\n";
/// Added to the rules of a picture with spread steps.
const SPREAD_RULES: &str = ".instant{fill:$grid;opacity:0.55}\n";

impl Picture<'_> {
    pub(super) fn draw(mut self) -> String {
        let selection = select_messages(
            self.timeline,
            &self.plot,
            &self.violation_events,
            self.view.max_arrows,
        );
        self.draw_partitions();
        self.draw_times();
        self.draw_lanes();
        self.draw_activities();
        self.draw_fault_flags();
        let markers = self.place_marker_labels();
        if self.view.stamps {
            self.draw_stamps();
        }
        self.draw_arrows(&selection, &markers);
        self.draw_markers(&markers);
        self.draw_violations();
        self.draw_labels();
        let mut bottom = self.plot.bottom() + 8.0;
        if self.view.legend {
            self.draw_heading();
            bottom = self.draw_footer(&selection, bottom + 14.0);
        }
        let description = self.description(&selection);
        let title = match self.title {
            "" => self.view.vocabulary.text(Phrase::Diagram),
            title => title,
        };
        let of_stamps = if self.view.stamps { STAMP_RULES } else { "" };
        let of_steps = if self.view.spread { SPREAD_RULES } else { "" };
        let rules = format!("{RULES}{of_stamps}{of_steps}{}", rules(self.timeline.kinds.len()));
        let size = (self.plot.width, bottom + 8.0);
        self.svg.finish(size, (title, &description), self.view.theme, &rules)
    }

    /// Draws the labels in front of everything else.
    fn draw_labels(&mut self) {
        for (class, position, anchor, text) in std::mem::take(&mut self.labels) {
            self.svg.text(&class, position, anchor, &text);
        }
    }
}
