//! Minimal SVG writer. Its output has no script, no external reference, and no identifier that could clash with
//! those of a page.

use std::fmt::{self, Display, Write};

use crate::text::escaped;
use crate::theme::{FONT, Theme, style_sheet};

/// Body of an SVG file.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    body: String,
}

/// Horizontal alignment of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Coordinate, formatted with one decimal place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Px(pub(crate) f64);

impl Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = (self.0 * 10.0).round() / 10.0;
        write!(f, "{}", if rounded == 0.0 { 0.0 } else { rounded })
    }
}

impl Svg {
    /// Appends a line without escaping.
    pub(crate) fn raw(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(text);
        self.body.push('\n');
    }

    /// Opens a group with these attributes.
    pub(crate) fn open(&mut self, attributes: fmt::Arguments<'_>) {
        self.raw(format_args!("<g {attributes}>"));
    }

    /// Closes the innermost open group.
    pub(crate) fn close(&mut self) {
        self.raw(format_args!("</g>"));
    }

    /// Adds a title to the open group, for screen readers and as a tooltip.
    pub(crate) fn title(&mut self, title: &str) {
        self.raw(format_args!("<title>{}</title>", escaped(title)));
    }

    pub(crate) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let (x1, y1, x2, y2) = (Px(x1), Px(y1), Px(x2), Px(y2));
        self.raw(format_args!(
            "<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\" fill=\"none\"/>"
        ));
    }

    pub(crate) fn rect(&mut self, class: &str, (x, y): (f64, f64), (wide, high): (f64, f64)) {
        let (x, y, wide, high) = (Px(x), Px(y), Px(wide.max(0.0)), Px(high.max(0.0)));
        self.raw(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\"/>"
        ));
    }

    pub(crate) fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let (x, y, radius) = (Px(x), Px(y), Px(radius));
        self.raw(format_args!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"));
    }

    pub(crate) fn path(&mut self, class: &str, d: &str) {
        self.raw(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
    }

    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let text_anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (Px(x), Px(y), escaped(text));
        self.raw(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{text_anchor}>{text}</text>"
        ));
    }

    /// Returns the whole SVG file with its size, title, description and style rules.
    pub(crate) fn finish(
        self,
        (width, height): (f64, f64),
        (title, description): (&str, &str),
        theme: Theme,
        rules: &str,
    ) -> String {
        let (wide, high) = (width.ceil(), height.ceil());
        let (title, description) = (escaped(title), escaped(description));
        let rules = format!("text{{font-family:{FONT};fill:$ink}}\n.paper{{fill:$paper}}\n{rules}");
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"quorate-draw\" width=\"{wide}\" height=\"{high}\" \
             viewBox=\"0 0 {wide} {high}\" role=\"img\">\n<title>{title}</title>\n<desc>{description}</desc>\n\
             <style>\n{}</style>\n<rect class=\"paper\" width=\"{wide}\" height=\"{high}\"/>\n{}</svg>\n",
            style_sheet(theme, &rules),
            self.body
        )
    }
}
