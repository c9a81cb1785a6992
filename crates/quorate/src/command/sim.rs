//! `quorate sim`: builds a scenario from flags and runs it once.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use quorate_check::conformance::ConformanceReport;
use quorate_lab::CannotRun;
use quorate_lab::logical_time::{Computation, EventRecords};
use quorate_sim::accounting::Counting;
use quorate_sim::report::Verdict;
use quorate_sim::trace::{Format, Tee, TraceSink};
use quorate_sim::{Conditions, Outcome, RunError, Scenario};

use crate::CommandResult;
#[cfg(feature = "service")]
use crate::arguments::Over;
use crate::arguments::{Count, OutputFlags, SelfMessages, SimFlags, flag_of};
use crate::command_error::CommandError;
use crate::files::AtomicFile;
use crate::memory;
#[cfg(feature = "service")]
use crate::over_tcp;
use crate::picture::{self, PictureFile};
use crate::print;

pub(crate) fn sim(flags: SimFlags) -> CommandResult {
    let (scenario, output, save) = flags.into_scenario();
    scenario.validate().map_err(|invalid| {
        CommandError::new(format!("{}: {}", flag_of(invalid.key), invalid.problem))
    })?;
    let followed = output.conform.then(|| follow(&scenario)).transpose()?;
    let files = RunFiles::begin(&output, save.as_deref())?;
    let (outcome, stamps) = files.run(&scenario, &output, |_| scenario.clone())?;
    print::outcome(&scenario, &outcome, stamps.as_ref(), output.json, &this_command())?;
    let conforms = followed.map_or(Ok(true), print_conformance)?;
    Ok(if conforms { exit_code(&outcome) } else { ExitCode::FAILURE })
}

/// Compares every step of a run with the proved model of its algorithm. If there is none, nothing else has been printed yet.
pub(crate) fn follow(scenario: &Scenario) -> Result<ConformanceReport, CommandError> {
    let conditions = Conditions { events: EVENTS_MOST, ..Conditions::default() };
    let report = quorate_lab::conformance(scenario, conditions);
    report.map_err(|error| CommandError::new(format!("--conform: {error}")))
}

/// Prints the result of a comparison with a model, and returns whether the model allows all steps.
pub(crate) fn print_conformance(report: ConformanceReport) -> Result<bool, CommandError> {
    let mut err = anstream::stderr().lock();
    if let Some(divergence) = report.divergence {
        write!(err, "{divergence}")?;
        return Ok(false);
    }
    let actions: u64 = report.statistics.actions.values().sum();
    let inputs = report.statistics.inputs;
    writeln!(err, "conformance: {inputs} inputs of processes are {actions} actions of the model")?;
    Ok(true)
}

/// Output files of a run. All are opened before the run, and none becomes visible unless the run succeeds.
pub(crate) struct RunFiles {
    trace: Option<(AtomicFile, Format)>,
    save: Option<AtomicFile>,
    diagram: Option<PictureFile>,
    topology: Option<PictureFile>,
}

impl RunFiles {
    pub(crate) fn begin(output: &OutputFlags, save: Option<&Path>) -> Result<Self, CommandError> {
        let topology = output.topology.as_deref();
        let diagram = output.picture.file(topology.is_some())?;
        let named = [
            ("--trace", output.trace.as_deref()),
            ("--save", save),
            ("--diagram", diagram),
            ("--topology", topology),
        ];
        for (index, (flag, path)) in named.iter().enumerate() {
            for (other, second) in &named[index + 1..] {
                if let (Some(path), Some(second)) = (path, second)
                    && same_file(path, second)
                {
                    return Err(CommandError::new(format!(
                        "{flag} and {other} name the same file"
                    )));
                }
            }
        }
        let format = |path: &Path| Format::of_file(&path.to_string_lossy());
        let trace = output.trace.as_deref().map(|path| {
            AtomicFile::create(path)
                .map(|file| (file, output.trace_format.unwrap_or_else(|| format(path))))
        });
        Ok(Self {
            trace: trace.transpose()?,
            save: save.map(AtomicFile::create).transpose()?,
            diagram: diagram.map(PictureFile::begin).transpose()?,
            topology: topology.map(PictureFile::begin).transpose()?,
        })
    }

    /// Runs a scenario, writes its trace, and saves the scenario that `saved` derives from the outcome. Returns the
    /// stamps of all events if the flags ask for them.
    pub(crate) fn run(
        mut self,
        scenario: &Scenario,
        output: &OutputFlags,
        saved: impl FnOnce(&Outcome) -> Scenario,
    ) -> Result<(Outcome, Option<Computation>), CommandError> {
        let conditions = Conditions {
            counting: Counting {
                with_self: output.self_messages == SelfMessages::Include,
                multicast_once: output.count == Count::Multicast,
            },
            memory: output.memory.unwrap_or_else(memory::available).0,
            events: EVENTS_MOST,
        };
        let mut builder = picture::diagram_builder(scenario.processes);
        let mut writer =
            self.trace.as_mut().map(|(file, format)| format.writer(scenario.processes, file));
        let run = |sink: Option<&mut dyn TraceSink>| {
            #[cfg(feature = "service")]
            if output.over == Some(Over::Tcp) {
                if output.count == Count::Multicast {
                    let problem = "--count multicast: over sockets a multicast is one message for \
                                   each receiver; leave out --over or --count";
                    return Err(CommandError::new(problem));
                }
                return over_tcp::run(scenario, output.stretch, conditions, sink, explain);
            }
            quorate_lab::run(scenario, conditions, sink).map_err(explain)
        };
        let mut events = EventRecords::default();
        let mut sinks = Tee::default();
        if let Some(writer) = &mut writer {
            sinks.0.push(&mut **writer);
        }
        if self.diagram.is_some() {
            sinks.0.push(&mut builder);
        }
        if output.picture.view.stamps {
            sinks.0.push(&mut events);
        }
        let outcome = run(if sinks.0.is_empty() { None } else { Some(&mut sinks) })?;
        drop(writer);
        let stamps = match output.picture.view.stamps {
            true => Some(events.computation(scenario.processes)),
            false => None,
        };
        let stamps = stamps.transpose();
        let stamps = stamps.map_err(|why| CommandError::new(format!("--stamps: {why}")))?;
        if let Some(file) = &mut self.save {
            let text = toml::to_string(&saved(&outcome)).map_err(|error| {
                CommandError::new(format!("the scenario cannot be written: {error}"))
            })?;
            write!(file, "# {}\n{text}", print::title(scenario))?;
        }
        if let Some(picture) = self.diagram {
            let diagram = builder.build().titled(print::title(scenario));
            picture.draw_run(&diagram, &output.picture.view.view())?;
        }
        if let Some(picture) = self.topology {
            let topology = quorate_lab::topology(scenario).map_err(CommandError::new)?;
            picture.draw(output.picture.view.view().theme, |theme| topology.svg(theme))?;
        }
        let mut files = self.trace.map(|(file, _)| file).into_iter().chain(self.save);
        files.try_for_each(AtomicFile::commit)?;
        Ok((outcome, stamps))
    }
}

/// Whether two paths refer to the same file, which need not exist yet.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    let resolve = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        path.canonicalize()
            .or_else(|_| folder.map(|folder| folder.join(path.file_name().unwrap_or_default())))
    };
    a == b || matches!((resolve(a), resolve(b)), (Ok(a), Ok(b)) if a == b)
}

/// Returns 1 if a property was violated, otherwise 0.
pub(crate) fn exit_code(outcome: &Outcome) -> ExitCode {
    if outcome.report.verdict == Verdict::Violated { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Maximum number of events. It stops an endless run after some minutes.
const EVENTS_MOST: u64 = 2_000_000_000;

fn explain(error: CannotRun) -> CommandError {
    match &error {
        CannotRun::Run(RunError::TooManyProcesses { .. } | RunError::TooManyMessages { .. }) => {
            CommandError::new(format!(
                "{error}; use fewer processes or requesters, or raise --memory"
            ))
        }
        _ => CommandError::new(error),
    }
}

/// Command line of this process, quoted for a shell.
fn this_command() -> String {
    let arguments = std::env::args_os().skip(1);
    let quoted = arguments.map(|argument| quoted(&argument.to_string_lossy()));
    std::iter::once("quorate".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

/// Quotes an argument for a shell.
pub(crate) fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}
