//! Programs for the other engines: written to a temporary directory, built there, and run.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;

use super::{Engine, EngineWorkload};
use crate::error::BenchError;
use crate::peers::{Absent, program};

/// Maximum time to build a program.
const BUILD_TIMEOUT: Duration = Duration::from_secs(300);

/// A program that has been built.
pub(super) struct Program {
    engine: Engine,
    program: PathBuf,
    /// First argument, for an interpreter.
    script: Option<PathBuf>,
    _folder: TempDir,
}

/// Source files of a program: name and contents.
pub(super) fn sources(engine: Engine) -> Vec<(&'static str, &'static str)> {
    match engine {
        Engine::Stateright => vec![
            ("Cargo.toml", include_str!("../../peers/stateright/manifest.toml")),
            ("main.rs", include_str!("../../peers/stateright/main.rs")),
            ("stand_in.rs", include_str!("../../peers/stateright/stand_in.rs")),
            ("lamport.rs", include_str!("../../peers/stateright/lamport.rs")),
            ("in_stateright.rs", include_str!("../../peers/stateright/in_stateright.rs")),
        ],
        Engine::Madsim => vec![
            ("Cargo.toml", include_str!("../../peers/madsim/manifest.toml")),
            ("main.rs", include_str!("../../peers/madsim/main.rs")),
        ],
        Engine::Simpy => {
            vec![("deliveries.py", include_str!("../../peers/simpy/deliveries.py"))]
        }
    }
}

impl Program {
    pub(super) async fn build(engine: Engine) -> Result<Self, Absent> {
        let tool = program(if engine == Engine::Simpy { "python3" } else { "cargo" })?;
        let folder = tempfile::tempdir().map_err(BenchError::new)?;
        for (name, text) in sources(engine) {
            std::fs::write(folder.path().join(name), text).map_err(BenchError::new)?;
        }
        let (program, script) = match engine {
            Engine::Stateright => (cargo(&tool, folder.path(), "explores", None).await?, None),
            Engine::Madsim => {
                (cargo(&tool, folder.path(), "delivers", Some("--cfg madsim")).await?, None)
            }
            Engine::Simpy => {
                let script = folder.path().join("deliveries.py");
                (python(&tool, folder.path()).await?, Some(script))
            }
        };
        Ok(Self { engine, program, script, _folder: folder })
    }

    /// Deliveries or states per second for each mode of the engine.
    pub(super) async fn rates(
        &self,
        work: EngineWorkload,
        time: Duration,
    ) -> Result<Vec<(&'static str, f64)>, BenchError> {
        let seconds = time.as_secs().max(1).to_string();
        let mut command = Command::new(&self.program);
        command.args(self.script.iter());
        match work {
            EngineWorkload::Ring { hops } => command.args(["ring", &hops.to_string(), &seconds]),
            EngineWorkload::RicartAgrawala(n) => {
                command.args(["ricart-agrawala", &n.to_string(), &seconds])
            }
            EngineWorkload::Lamport { clock_most } => command.arg(clock_most.to_string()),
        };
        let printed = output(&mut command, 20 * time + Duration::from_secs(60)).await?;
        let figures: Option<Vec<f64>> =
            printed.split_whitespace().map(|word| word.parse().ok()).collect();
        let Some([amount, second, third]) = figures.as_deref().and_then(|all| all.first_chunk())
        else {
            return Err(BenchError(format!("unexpected output: `{}`", printed.trim())));
        };
        if *amount != work.amount() as f64 {
            return Err(BenchError(format!(
                "{}: different amount of work: {amount}",
                work.title()
            )));
        }
        Ok(match self.engine {
            Engine::Stateright => {
                vec![("breadth first", amount / second), ("depth first", amount / third)]
            }
            Engine::Madsim | Engine::Simpy => vec![("", amount * second / third)],
        })
    }
}

/// Builds the program in a directory and returns its path.
async fn cargo(
    tool: &Path,
    folder: &Path,
    name: &str,
    flags: Option<&str>,
) -> Result<PathBuf, BenchError> {
    let target = folder.join("target");
    let mut command = Command::new(tool);
    command.current_dir(folder).args(["build", "--release", "--quiet", "--target-dir"]);
    command.arg(&target);
    // Our own compiler flags must not apply to it.
    command.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTFLAGS");
    command.envs(flags.map(|flags| ("RUSTFLAGS", flags)));
    output(&mut command, BUILD_TIMEOUT).await?;
    Ok(target.join("release").join(name))
}

/// Creates a virtual environment with SimPy and returns its Python.
async fn python(tool: &Path, folder: &Path) -> Result<PathBuf, BenchError> {
    let environment = folder.join("venv");
    output(Command::new(tool).args(["-m", "venv"]).arg(&environment), BUILD_TIMEOUT).await?;
    let python = environment.join("bin").join("python");
    let wanted = format!("simpy=={}", Engine::Simpy.version());
    let mut command = Command::new(&python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", &wanted]);
    output(&mut command, BUILD_TIMEOUT).await?;
    Ok(python)
}

/// Returns the output of a command. Fails with the most informative line of its error output.
async fn output(command: &mut Command, limit: Duration) -> Result<String, BenchError> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let late = |_| BenchError(format!("not done within {} s", limit.as_secs()));
    let done = tokio::time::timeout(limit, command.output()).await.map_err(late)?;
    let done = done.map_err(BenchError::new)?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    // For cargo the first line that starts with `error` is the cause, for Python it is the last line.
    let error = stderr.lines().find(|line| line.starts_with("error"));
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    Err(BenchError(error.or(last).unwrap_or("it failed without an error message").to_owned()))
}
