//! Text styles. They never carry information that the text lacks.

use anstyle::{AnsiColor, Style};

pub(crate) const GOOD: Style =
    Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green))).bold();
pub(crate) const BAD: Style =
    Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red))).bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
