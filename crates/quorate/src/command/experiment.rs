//! `quorate experiment`: runs an experiment and writes its table and charts.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use quorate_draw::{Theme, chart};
use quorate_lab::experiment::{EXPERIMENTS, Experiment, ExperimentProgress, Findings, Options};
use quorate_lab::shard_file::{ShardFile, ShardResult};
use serde_json::json;

use crate::CommandResult;
use crate::arguments;
use crate::command::sim::same_file;
use crate::command_error::CommandError;
use crate::files::AtomicFile;
use crate::picture;

pub(crate) fn experiment(flags: &arguments::ExperimentFlags) -> CommandResult {
    let Some(name) = &flags.name else { return list(flags.json) };
    let experiment = Experiment::by_name(name).map_err(CommandError::new)?;
    check_draws_charts(experiment, flags.svg.as_deref(), flags.png.as_deref())?;
    if let Some(shard) = flags.shard {
        let part = experiment.run_shard(&flags.options(), shard, &TerminalProgress::new());
        let part = ShardFile::new(shard, ShardResult::Experiment(part.map_err(CommandError::new)?));
        let mut out = crate::output::stdout();
        out.write_all(part.write().map_err(CommandError::new)?.as_bytes())?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    // Check that the files can be written before the long experiment starts.
    let files = ExperimentFiles::begin(Paths {
        csv: flags.csv.as_deref(),
        svg: flags.svg.as_deref(),
        png: flags.png.as_deref(),
        markdown: flags.markdown.as_deref(),
    })?
    .with_options(&flags.options());
    let findings =
        experiment.run(&flags.options(), &TerminalProgress::new()).map_err(CommandError::new)?;
    write_results(experiment, &findings, files, flags.json)
}

/// Fails if charts are requested of an experiment that has none.
pub(super) fn check_draws_charts(
    experiment: &Experiment,
    svg: Option<&Path>,
    png: Option<&Path>,
) -> Result<(), CommandError> {
    let requested = [("--svg", svg), ("--png", png)].into_iter().find(|(_, path)| path.is_some());
    match requested.filter(|_| !experiment.draws) {
        None => Ok(()),
        Some((flag, _)) => {
            Err(CommandError::new(format!("{} draws no charts; leave {flag} out", experiment.name)))
        }
    }
}

/// Fails if this program cannot write charts as PNG.
pub(super) fn check_png_charts() -> Result<(), CommandError> {
    picture::check_png("--png", "use --svg instead")
}

/// Writes the requested files and prints the findings.
pub(super) fn write_results(
    experiment: &Experiment,
    findings: &Findings,
    files: ExperimentFiles,
    json: bool,
) -> CommandResult {
    let name = experiment.name;
    files.write(experiment, findings)?;
    let mut out = crate::output::stdout();
    if json {
        findings.write_json(name, &mut out)?;
    } else {
        findings.write_text(&mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn list(json: bool) -> CommandResult {
    let mut out = crate::output::stdout();
    if json {
        let all = EXPERIMENTS.iter().map(|experiment| {
            json!({ "name": experiment.name, "summary": experiment.summary, "seeds": experiment.seeds })
        });
        writeln!(out, "{}", serde_json::Value::from_iter(all))?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = EXPERIMENTS.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0);
    for Experiment { name, summary, .. } in EXPERIMENTS {
        writeln!(out, "{name:<width$}  {summary}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Paths of the requested files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paths<'p> {
    pub(super) csv: Option<&'p Path>,
    pub(super) svg: Option<&'p Path>,
    pub(super) png: Option<&'p Path>,
    pub(super) markdown: Option<&'p Path>,
}

/// Requested files, opened before the experiment starts.
pub(super) struct ExperimentFiles {
    csv: Option<AtomicFile>,
    charts: Vec<(ImageFormat, Charts)>,
    markdown: Option<(AtomicFile, PathBuf)>,
    /// Options of the experiment, for the command line that the page shows.
    options_text: String,
}

/// File format of charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageFormat {
    Svg,
    Png,
}

enum Charts {
    One(AtomicFile),
    Each(PathBuf),
}

impl ExperimentFiles {
    pub(super) fn begin(paths: Paths<'_>) -> Result<Self, CommandError> {
        let Paths { csv, svg, png, markdown } = paths;
        let named = [("--csv", csv), ("--svg", svg), ("--png", png), ("--markdown", markdown)];
        for (index, (flag, file)) in named.iter().enumerate() {
            for (other_flag, other) in &named[..index] {
                // Charts in both formats may be in the same directory.
                if let (Some(file), Some(other)) = (file, other)
                    && same_file(file, other)
                    && !is_folder(file)
                {
                    let problem = format!("{other_flag} and {flag} name the same file");
                    return Err(CommandError::new(problem));
                }
            }
        }
        if png.is_some() {
            check_png_charts()?;
        }
        let csv = csv.map(AtomicFile::create).transpose()?;
        let mut charts = Vec::new();
        for (image_format, path) in [(ImageFormat::Svg, svg), (ImageFormat::Png, png)] {
            if let Some(path) = path {
                charts.push((image_format, Charts::begin(path, image_format)?));
            }
        }
        let page =
            |path: &Path| Ok::<_, CommandError>((AtomicFile::create(path)?, path.to_owned()));
        let markdown = markdown.map(page).transpose()?;
        Ok(Self { csv, charts, markdown, options_text: String::new() })
    }

    /// Sets the options that the page shows.
    fn with_options(self, options: &Options) -> Self {
        let number = |flag: &str, value: Option<u64>| {
            value.map(|value| format!(" {flag} {value}")).unwrap_or_default()
        };
        let sizes = [("--up-to", options.up_to), ("--ours-up-to", options.ours_up_to)];
        let mut options_text = number("--seeds", options.seeds);
        for (flag, size) in sizes {
            options_text += &number(flag, size.map(|size| size as u64));
        }
        Self { options_text, ..self }
    }

    fn write(self, experiment: &Experiment, findings: &Findings) -> Result<(), CommandError> {
        let name = experiment.name;
        let mut files = Vec::new();
        if let Some((mut file, path)) = self.markdown {
            let (options_text, path) = (&self.options_text, path.display());
            let command = format!("quorate experiment {name}{options_text} --markdown {path}");
            findings.write_markdown(experiment.summary, &command, &mut file)?;
            files.push(file);
        }
        if let Some(mut file) = self.csv {
            findings.table.write_csv(&mut file)?;
            files.push(file);
        }
        for (image_format, charts) in self.charts {
            match charts {
                Charts::One(mut file) => {
                    let page = chart::page(name, &findings.charts, image_format.theme());
                    file.write_all(&image_format.encode(page)?)?;
                    files.push(file);
                }
                Charts::Each(folder) => {
                    std::fs::create_dir_all(&folder).map_err(|error| {
                        CommandError::new(format!(
                            "{} cannot be created: {error}",
                            folder.display()
                        ))
                    })?;
                    for chart in &findings.charts {
                        let extension = image_format.extension();
                        let path = folder.join(format!("{name}-{}.{extension}", chart.name));
                        let mut file = AtomicFile::create(&path)?;
                        file.write_all(
                            &image_format.encode(chart.svg_with_theme(image_format.theme()))?,
                        )?;
                        files.push(file);
                    }
                }
            }
        }
        files.into_iter().try_for_each(AtomicFile::commit)
    }
}

impl ImageFormat {
    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }

    /// Theme of the format. A PNG cannot follow the reader's preference.
    fn theme(self) -> Theme {
        match self {
            Self::Svg => Theme::Auto,
            Self::Png => Theme::Light,
        }
    }

    fn encode(self, svg: String) -> Result<Vec<u8>, CommandError> {
        match self {
            Self::Svg => Ok(svg.into_bytes()),
            Self::Png => picture::png(&svg),
        }
    }
}

/// Whether the path is an existing directory, or ends in a separator and will be created as one.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(std::path::is_separator)
}

impl Charts {
    fn begin(path: &Path, image_format: ImageFormat) -> Result<Self, CommandError> {
        if path.is_dir() {
            // Check now that files can be created there, not at the end.
            AtomicFile::create(&path.join(format!("charts.{}", image_format.extension())))?;
        } else if !is_folder(path) {
            return AtomicFile::create(path).map(Self::One);
        } else if path
            .parent()
            .is_some_and(|above| !above.as_os_str().is_empty() && !above.is_dir())
        {
            return Err(CommandError::new(format!(
                "{} cannot be created: its parent directory does not exist",
                path.display()
            )));
        }
        Ok(Self::Each(path.to_owned()))
    }
}

/// Progress bar on stderr, hidden unless stderr is a terminal.
struct TerminalProgress(ProgressBar);

impl TerminalProgress {
    fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {eta} left")
        {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl ExperimentProgress for TerminalProgress {
    fn begin(&self, cells: usize) {
        self.0.set_length(cells as u64);
    }

    fn step(&self) {
        self.0.inc(1);
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}
