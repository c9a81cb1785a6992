//! Picture files. The extension selects SVG or PNG.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use quorate_core::Time;
use quorate_draw::Theme;
use quorate_draw::spacetime::{Diagram, DiagramBounds, DiagramBuilder, DiagramView};

use crate::command_error::CommandError;
use crate::files::AtomicFile;

/// Maximum number of messages and markers of a run that are drawn; they take about half a gigabyte.
const PARTS_MOST: usize = 5_000_000;
/// Maximum number of messages kept with their bodies. A reader looks at few of them.
const BODIES_MOST: usize = 500_000;

/// Fails if this program cannot write PNG. The subject is the flag or file that asks for it, and the remedy its SVG.
pub(crate) fn check_png(subject: impl Display, remedy: &str) -> Result<(), CommandError> {
    if cfg!(feature = "png") {
        return Ok(());
    }
    Err(CommandError::new(format!(
        "{subject}: this program was built without PNG; {remedy}, or build it with `--features png`"
    )))
}

/// Renders an SVG as a PNG. Callers have checked that this program can.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>, CommandError> {
    #[cfg(feature = "png")]
    return quorate_draw::png(svg).map_err(CommandError::new);
    #[cfg(not(feature = "png"))]
    {
        let _ = svg;
        Err(CommandError::new("this program was built without PNG"))
    }
}

/// Picture being made. It becomes visible only after it is drawn.
pub(crate) struct PictureFile {
    file: AtomicFile,
    format: PictureFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PictureFormat {
    Svg,
    Png,
}

impl PictureFile {
    /// Opens a picture file. Fails if the extension is not known, or is one that this program cannot write.
    pub(crate) fn begin(path: &Path) -> Result<Self, CommandError> {
        let extension =
            path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let format = match extension.as_deref() {
            Some("svg") => PictureFormat::Svg,
            Some("png") => PictureFormat::Png,
            _ => {
                let problem = format!("{}: a picture is written as .svg or .png", path.display());
                return Err(CommandError::new(problem));
            }
        };
        if format == PictureFormat::Png {
            check_png(path.display(), "write .svg instead")?;
        }
        Ok(Self { file: AtomicFile::create(path)?, format })
    }

    /// Draws the picture with this theme and commits the file.
    pub(crate) fn draw(
        mut self,
        theme: Theme,
        svg: impl FnOnce(Theme) -> String,
    ) -> Result<(), CommandError> {
        match self.format {
            PictureFormat::Svg => self.file.write_all(svg(theme).as_bytes())?,
            PictureFormat::Png => {
                // A PNG cannot follow the reader's preference.
                let theme = if theme == Theme::Auto { Theme::Light } else { theme };
                let image = png(&svg(theme))?;
                self.file.write_all(&image)?;
            }
        }
        self.file.commit()
    }

    /// Draws the part of a run that the view selects.
    pub(crate) fn draw_run(
        self,
        diagram: &Diagram,
        view: &DiagramView,
    ) -> Result<(), CommandError> {
        let end = diagram.end();
        if view.from > end {
            let problem =
                format!("--window: the run ends at {}, before the window begins", Time(end));
            return Err(CommandError::new(problem));
        }
        let n = diagram.processes();
        if let Some(unknown) = view.processes.iter().find(|process| **process as usize >= n) {
            let problem =
                format!("--lanes: there is no process {unknown}; the processes are 0 to {}", n - 1);
            return Err(CommandError::new(problem));
        }
        self.draw(view.theme, |theme| diagram.svg(&DiagramView { theme, ..view.clone() }))
    }
}

/// Trace sink that builds a diagram of a run.
pub(crate) fn diagram_builder(processes: usize) -> DiagramBuilder {
    DiagramBuilder::new(processes, DiagramBounds { items: PARTS_MOST, bodies: BODIES_MOST })
}
