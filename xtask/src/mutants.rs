//! `cargo xtask mutants`: removes one rule of leased-quorum at a time and looks whether the tests notice.
//!
//! A mutant is a replacement of text in a copy of the module. The copy is a package of its own under the target directory,
//! so that only the module and its storm are compiled. A mutant that survives is a rule that nothing tests.

mod rules;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use rules::RULES;

/// A rule, and how to break it.
struct Rule {
    /// A short name.
    name: &'static str,
    /// The file under `leased_quorum/`.
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// Storms per configuration, unless `--storms` says otherwise.
const STORMS: &str = "1500";

pub(crate) fn run(root: &Path, words: &[&str]) -> io::Result<ExitCode> {
    let (mut storms, mut names) = (STORMS, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--storms" => storms = words.next().copied().unwrap_or(STORMS),
            name => names.push(name),
        }
    }
    let unknown = names.iter().find(|name| RULES.iter().all(|rule| rule.name != **name));
    if let Some(unknown) = unknown {
        let known: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
        let text = format!("there is no rule `{unknown}`; rules: {}", known.join(", "));
        return Err(io::Error::other(text));
    }
    let copy = Package::create(root)?;
    let whole = copy.test(storms)?;
    println!("without a mutation: {}", whole.text());
    if !matches!(whole, Outcome::Passed) {
        return Ok(ExitCode::FAILURE);
    }
    let mut survivors = Vec::new();
    for rule in RULES.iter().filter(|rule| names.is_empty() || names.contains(&rule.name)) {
        copy.mutate(rule)?;
        let outcome = copy.test(storms)?;
        println!("{:<36} {}", rule.name, outcome.text());
        if !matches!(outcome, Outcome::Caught(_)) {
            survivors.push(rule.name);
        }
        copy.restore(rule)?;
    }
    if survivors.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("not caught: {}", survivors.join(", "));
    Ok(ExitCode::FAILURE)
}

enum Outcome {
    Passed,
    /// The first complaint.
    Caught(String),
    DoesNotCompile(String),
}

impl Outcome {
    fn text(&self) -> String {
        match self {
            Self::Passed => "passes".to_owned(),
            Self::Caught(how) => format!("caught: {how}"),
            Self::DoesNotCompile(error) => format!("does not compile: {error}"),
        }
    }
}

/// The copy of the module.
struct Package {
    original: PathBuf,
    folder: PathBuf,
}

impl Package {
    fn create(root: &Path) -> io::Result<Self> {
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let folder = target.join("mutants");
        let algorithms = root.join("crates/quorate-algorithms");
        let (original, copy) = (algorithms.join("src/mutex"), folder.join("src/mutex"));
        if folder.join("src").exists() {
            fs::remove_dir_all(folder.join("src"))?;
        }
        copy_all(&original.join("leased_quorum"), &copy.join("leased_quorum"))?;
        // The process of the catalogue needs the rest of the crate, and the storm does not need it.
        let module = fs::read_to_string(original.join("leased_quorum.rs"))?;
        let needed = |line: &&str| !line.contains(" process") && !line.contains(" wire");
        let module: Vec<&str> = module.lines().filter(needed).collect();
        fs::write(copy.join("leased_quorum.rs"), module.join("\n"))?;
        copy_all(
            &algorithms.join("tests/leased_quorum_storm"),
            &folder.join("tests/leased_quorum_storm"),
        )?;
        let rules = "tests/leased_quorum_rules.rs";
        fs::copy(algorithms.join(rules), folder.join(rules))?;
        let core = root.join("crates/quorate-core");
        let manifest = format!(
            "[package]\nname = \"quorate-algorithms\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [features]\nserde = []\n\n[dependencies]\nquorate-core = {{ path = {core:?} }}\n\n\
             [workspace]\n\n[profile.release]\ndebug-assertions = true\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        let library = "#![no_std]\nextern crate alloc;\n#[cfg(test)]\nextern crate std;\n\
                       pub mod mutex {\n    pub mod leased_quorum;\n}\n";
        fs::write(folder.join("src/lib.rs"), library)?;
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
        Ok(Self { original: original.join("leased_quorum"), folder })
    }

    fn mutate(&self, rule: &Rule) -> io::Result<()> {
        let text = fs::read_to_string(self.original.join(rule.file))?;
        if text.matches(rule.from).count() != 1 {
            let why = format!("{}: its text is not in {} exactly once", rule.name, rule.file);
            return Err(io::Error::other(why));
        }
        let path = self.folder.join("src/mutex/leased_quorum").join(rule.file);
        fs::write(path, text.replacen(rule.from, rule.to, 1))
    }

    fn restore(&self, rule: &Rule) -> io::Result<()> {
        let path = self.folder.join("src/mutex/leased_quorum").join(rule.file);
        fs::copy(self.original.join(rule.file), path).map(drop)
    }

    fn test(&self, storms: &str) -> io::Result<Outcome> {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", self.folder.join("target"));
        cargo.env("QUORATE_STORMS", storms).env("RUST_BACKTRACE", "0").env_remove("RUSTFLAGS");
        cargo.args(["test", "--release", "--quiet", "--lib", "--test", "leased_quorum_*"]);
        let output = cargo.output()?;
        if output.status.success() {
            return Ok(Outcome::Passed);
        }
        let texts =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        let text = texts.concat();
        if let Some(error) =
            text.lines().find(|line| line.starts_with("error[") || line.starts_with("error: could"))
        {
            return Ok(Outcome::DoesNotCompile(error.to_owned()));
        }
        let mut lines = text.lines().skip_while(|line| !line.contains("panicked at"));
        Ok(Outcome::Caught(lines.nth(1).unwrap_or("no message").to_owned()))
    }
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_all(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
