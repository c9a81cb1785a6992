//! Flags for diagrams, shared by all commands that draw a run.

use std::path::{Path, PathBuf};

use clap::Args;
use quorate_draw::Theme;
use quorate_draw::spacetime::DiagramView;
use quorate_sim::notation::{NotationError, SetText, When, Window};

use crate::command_error::CommandError;

/// Flags for a diagram of the run, in addition to the printed result.
#[derive(Debug, Args)]
#[command(next_help_heading = "Diagram")]
pub(crate) struct DiagramFlags {
    /// Draw the run as a space-time diagram; the extension .svg or .png selects the
    /// format (.png only if built with `--features png`)
    #[arg(long, value_name = "FILE")]
    pub(crate) diagram: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ViewFlags,
}

/// Flags that select the contents and the style of a diagram.
#[derive(Debug, Args)]
#[command(next_help_heading = "Diagram")]
pub(crate) struct ViewFlags {
    /// Part of the run to draw [default: all]
    #[arg(long, value_name = "LOW..HIGH", value_parser = parse_window)]
    window: Option<(u64, Option<u64>)>,
    /// Processes to draw [default: all, or the most active ones if there are many]
    #[arg(long, value_name = "P,P,..")]
    lanes: Option<SetText>,
    /// Maximum number of messages to draw; of more, an even selection is drawn [default: 400]
    #[arg(long, value_name = "K")]
    arrows: Option<usize>,
    /// Width of the picture in pixels [default: 1280]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(360..=20_000))]
    width: Option<u32>,
    /// Give each step a column of its own, so that steps at one time can be told apart. Messages of
    /// a process to itself are drawn then, also if they take no time
    #[arg(long)]
    by_step: bool,
    /// Colours: auto (the reader's preference; light in a PNG), light or dark [default: auto]
    #[arg(long, value_name = "THEME")]
    theme: Option<Theme>,
    /// Show the Lamport time and the vector time of each event, such as 3 (1,0,2), in the
    /// diagram and in the printed result
    #[arg(long)]
    pub(crate) stamps: bool,
}

impl DiagramFlags {
    /// File of the diagram, if requested. With `another` picture, `--theme` does not need a diagram.
    pub(crate) fn file(&self, another: bool) -> Result<Option<&Path>, CommandError> {
        match &self.diagram {
            Some(path) => Ok(Some(path)),
            None => match self.view.first().filter(|flag| !another || *flag != "--theme") {
                None => Ok(None),
                Some(flag) => Err(CommandError::new(format!("{flag} needs --diagram FILE"))),
            },
        }
    }
}

impl ViewFlags {
    /// View that the flags describe.
    pub(crate) fn view(&self) -> DiagramView {
        let defaults = DiagramView::default();
        let (from, to) = self.window.unwrap_or((0, None));
        let lanes = self.lanes.iter().flat_map(|SetText(lanes)| lanes.iter());
        DiagramView {
            from,
            to,
            width: self.width.unwrap_or(defaults.width),
            theme: self.theme.unwrap_or_default(),
            processes: lanes.map(|process| process.number()).collect(),
            max_arrows: self.arrows.unwrap_or(defaults.max_arrows),
            stamps: self.stamps,
            spread: self.by_step,
            ..defaults
        }
    }

    /// First of these flags that was given.
    fn first(&self) -> Option<&'static str> {
        let given = [
            ("--window", self.window.is_some()),
            ("--lanes", self.lanes.is_some()),
            ("--arrows", self.arrows.is_some()),
            ("--width", self.width.is_some()),
            ("--theme", self.theme.is_some()),
            ("--by-step", self.by_step),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }
}

fn parse_window(text: &str) -> Result<(u64, Option<u64>), NotationError> {
    let window: Window = text.parse()?;
    match (window.from, window.until) {
        (When::At(from), None) => Ok((from.0, None)),
        (When::At(from), Some(When::At(until))) => Ok((from.0, Some(until.0))),
        _ => Err(NotationError::new("a window such as 2ms..9ms", text)),
    }
}
