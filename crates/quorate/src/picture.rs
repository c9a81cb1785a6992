//! Pictures that are written beside what is printed: as SVG or PNG, as the file's ending says.

use std::io::Write;
use std::path::Path;

use quorate_core::Time;
use quorate_draw::Theme;
use quorate_draw::spacetime::{Diagram, Draft, DraftBounds, View};

use crate::failure::Failure;
use crate::files::NewFile;

/// How many messages and signs of a run are drawn: half a gigabyte of them. Whoever reads what a message says looks at few.
const PARTS_MOST: usize = 5_000_000;
const BODIES_MOST: usize = 500_000;

/// A picture being made. Until it is drawn, nothing is seen of it.
pub(crate) struct Picture {
    file: NewFile,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Svg,
    Png,
}

impl Picture {
    /// Begins a picture at this path, and fails if its ending says nothing.
    pub(crate) fn begin(path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let format = match ending.as_deref() {
            Some("svg") => Format::Svg,
            Some("png") => Format::Png,
            _ => {
                let problem = format!("{}: a picture is written as .svg or .png", path.display());
                return Err(Failure::new(problem));
            }
        };
        Ok(Self { file: NewFile::begin(path)?, format })
    }

    /// Draws it on this ground, and puts it in its place.
    pub(crate) fn draw(
        mut self,
        theme: Theme,
        svg: impl FnOnce(Theme) -> String,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Svg => self.file.write_all(svg(theme).as_bytes())?,
            Format::Png => {
                // Nothing in it could follow the reader.
                let theme = if theme == Theme::Auto { Theme::Light } else { theme };
                let image = quorate_draw::png(&svg(theme)).map_err(Failure::new)?;
                self.file.write_all(&image)?;
            }
        }
        self.file.keep()
    }

    /// Draws a run as the view asks for.
    pub(crate) fn run(self, diagram: &Diagram, view: &View) -> Result<(), Failure> {
        let end = diagram.end();
        if view.from > end {
            let problem =
                format!("--window: the run ends at {}, before the window begins", Time(end));
            return Err(Failure::new(problem));
        }
        let n = diagram.processes();
        if let Some(stranger) = view.processes.iter().find(|process| **process as usize >= n) {
            let problem = format!(
                "--lanes: there is no process {stranger}; the processes are 0 to {}",
                n - 1
            );
            return Err(Failure::new(problem));
        }
        self.draw(view.theme, |theme| diagram.svg(&View { theme, ..view.clone() }))
    }
}

/// What hears a run in order to draw it.
pub(crate) fn draft(processes: usize) -> Draft {
    Draft::new(processes, DraftBounds { parts: PARTS_MOST, bodies: BODIES_MOST })
}
