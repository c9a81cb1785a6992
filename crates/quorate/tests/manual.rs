//! Transcripts of the manual that need a running cluster: a page is a session of a shell.
//!
//! `trycmd` runs the blocks ` ```console`, one process each. Blocks ` ```shellsession` of a page run one after the other in one
//! folder and one shell, so that clusters, nodes and variables remain. A page has a network of its own, in which the default
//! ports are free. Blocks with `file=NAME` after the language become files before the page runs. In an output, `[..]` stands for any
//! text within a line, and a line `...` for any number of lines. A command that ends with `&` runs in the background, and the next
//! one waits until its output has as many lines as expected.
//!
//! A command whose program is not installed is skipped with a message, or fails with `QUORATE_PEERS=required`. Namespaces need root or user
//! namespaces; without them the pages are not run, which is also reported.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Maximum time for one page, and for the output of a background command.
const PAGE_SECONDS: u32 = 150;
const BACKGROUND_SECONDS: u32 = 30;

/// Maximum number of lines of an unexpected output that a failure shows.
const SHOWN_LINES: usize = 40;

/// Programs that a page may use and that a machine may lack. Those of the second group are not in CI.
const TOOLS: [&str; 3] = ["curl", "python3", "node"];
const RARE_TOOLS: [&str; 4] = ["go", "java", "promtool", "openssl"];

/// A command of a page, and the output that the page shows.
struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

struct Page {
    name: String,
    files: Vec<(String, String)>,
    steps: Vec<Step>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Page {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("the page can be read");
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let mut page = Self { name, files: Vec::new(), steps: Vec::new() };
        let mut lines = text.lines().enumerate();
        while let Some((_, line)) = lines.next() {
            let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else {
                continue;
            };
            let block = lines.by_ref().take_while(|(_, line)| *line != "```");
            let block: Vec<(usize, &str)> = block.map(|(index, line)| (index + 1, line)).collect();
            if info == "shellsession" {
                page.read_session(&block);
            } else if let Some((_, file)) = info.split_once(" file=") {
                let content =
                    block.iter().fold(String::new(), |text, (_, line)| text + line + "\n");
                page.files.push((file.to_owned(), content));
            }
        }
        page
    }

    fn read_session(&mut self, block: &[(usize, &str)]) {
        for (number, line) in block {
            if let Some(command) = line.strip_prefix("$ ") {
                let (command, expected) = (command.to_owned(), Vec::new());
                self.steps.push(Step { line: *number, command, expected });
            } else if let Some(step) = self.steps.last_mut() {
                match line.strip_prefix("> ") {
                    Some(more) if step.expected.is_empty() => {
                        step.command.push('\n');
                        step.command.push_str(more);
                    }
                    _ => step.expected.push((*line).to_owned()),
                }
            }
        }
    }

    /// Runs the page, and returns what differs.
    fn problems(&self) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content) in &self.files {
            fs::write(folder.path().join(name), content).expect("a disk");
        }
        let outputs = tempfile::tempdir().expect("a folder");
        let mut script = String::from("ip link set lo up\nstatus=0\n");
        for (index, step) in self.steps.iter().enumerate() {
            step.write_into(&mut script, &outputs.path().join(index.to_string()));
        }
        let binary = Path::new(env!("CARGO_BIN_EXE_quorate")).parent().expect("a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        // Everything that the page has started ends with its shell.
        let mut shell = in_own_network("bash");
        shell.args(["-c", &script]);
        shell.current_dir(folder.path()).env("PATH", format!("{}:{path}", binary.display()));
        for variable in ["QUORATE_ENDPOINT", "QUORATE_BACKEND", "QUORATE_CA", "COLUMNS"] {
            shell.env_remove(variable);
        }
        shell.env("NO_COLOR", "1").env("QUORATE_REPOSITORY", root()).stdin(Stdio::null());
        let run = shell.output().expect("a shell");
        let problem = |(index, step): (usize, &Step)| {
            let output = fs::read_to_string(outputs.path().join(index.to_string()));
            let output = output.unwrap_or_else(|_| "(did not run)".to_owned());
            let found: Vec<&str> = output.lines().map(str::trim_end).collect();
            (!step.is_skipped() && !lines_match(&step.expected, &found)).then(|| {
                let expected = step.expected.join("\n");
                let output = found
                    .iter()
                    .take(SHOWN_LINES)
                    .fold(String::new(), |text, line| text + line + "\n");
                format!(
                    "{}:{}: $ {}\nexpected:\n{expected}\nfound:\n{output}",
                    self.name, step.line, step.command
                )
            })
        };
        let mut problems: Vec<String> = self.steps.iter().enumerate().filter_map(problem).collect();
        if !run.stderr.is_empty() {
            problems.push(format!("{}: {}", self.name, String::from_utf8_lossy(&run.stderr)));
        }
        problems
    }
}

impl Step {
    /// The first program of the command that is not installed.
    fn missing_tool(&self) -> Option<&'static str> {
        let programs: Vec<&str> =
            self.command.split(['|', ';', '&', '(', '\n']).filter_map(program).collect();
        let is_used = |tool: &&&str| programs.contains(*tool);
        TOOLS.iter().chain(&RARE_TOOLS).filter(is_used).find(|tool| !is_installed(tool)).copied()
    }

    fn is_skipped(&self) -> bool {
        let required = std::env::var("QUORATE_PEERS").is_ok_and(|value| value == "required");
        self.missing_tool().is_some_and(|tool| !required || RARE_TOOLS.contains(&tool))
    }

    /// Appends the command to a script. The exit code is that of the previous command for `$?`.
    fn write_into(&self, script: &mut String, output: &Path) {
        let output = output.display();
        if self.is_skipped() {
            let _ = writeln!(script, "true");
        } else if let Some(command) = self.command.strip_suffix('&') {
            let _ = writeln!(script, ": > {output}; {{ {command}\n}} > {output} 2>&1 &");
            let (lines, tries) = (self.expected.len(), BACKGROUND_SECONDS * 20);
            let _ = writeln!(
                script,
                "for try in $(seq {tries}); do [ $(wc -l < {output}) -ge {lines} ] && break; sleep 0.05; done"
            );
            // Later output belongs to later commands.
            let _ = writeln!(script, "cp {output} {output}.now; mv {output}.now {output}");
        } else {
            let _ = writeln!(
                script,
                "(exit $status); {{ {}\n}} > {output} 2>&1; status=$?",
                self.command
            );
        }
    }
}

/// The program of a simple command, after keywords and assignments.
fn program(command: &str) -> Option<&str> {
    let skipped = |word: &&str| {
        ["until", "while", "do", "if", "then", "!", "{"].contains(word) || word.contains('=')
    };
    command.split_whitespace().find(|word| !skipped(word))
}

fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// A command that runs with a network and processes of its own. It is the first of its processes, and must be a shell: other
/// programs do not wait for processes whose parents have ended.
fn in_own_network(shell: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args([&PAGE_SECONDS.to_string(), "unshare", "--map-root-user", "--net", "--pid"]);
    command.args(["--fork", "--kill-child", shell]);
    command
}

/// Whether the lines have the expected form.
fn lines_match(expected: &[String], found: &[&str]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=found.len()).any(|skipped| lines_match(rest, &found[skipped..]))
        }
        Some((first, rest)) => found
            .split_first()
            .is_some_and(|(line, found)| line_matches(first, line) && lines_match(rest, found)),
    }
}

fn line_matches(expected: &str, found: &str) -> bool {
    let mut parts = expected.trim_end().split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = found.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn patterns_match_what_they_describe() {
    assert!(line_matches("a [..] c", "a b c") && line_matches("[..]", ""));
    assert!(line_matches("a[..]b[..]c", "a1b2c") && !line_matches("a[..]b[..]c", "a1c"));
    assert!(!line_matches("a", "ab") && !line_matches("a [..]", "b a x"));
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    assert!(lines_match(&lines(&["a", "...", "b"]), &["a", "x", "y", "b"]));
    assert!(!lines_match(&lines(&["a", "...", "b"]), &["a", "x"]));
    assert!(!lines_match(&lines(&["a"]), &["a", "b"]) && !lines_match(&[], &["a"]));
    assert_eq!(program(" until curl -s a"), Some("curl"));
    assert_eq!(program("A=b go run x"), Some("go"));
    assert_eq!(program("quorate node --config x"), Some("quorate"));
}

/// Metrics that a node registers, without the suffixes that Prometheus's format adds.
fn metrics() -> Vec<String> {
    let source = include_str!("../../quorate-service/src/metrics.rs");
    let source: String = source.split_whitespace().collect();
    let mut names = Vec::new();
    for call in ["registry.register(\"", "time(\"", "now(\""] {
        let found = source.split(call).skip(1).filter_map(|rest| rest.split('"').next());
        names.extend(found.map(|name| format!("quorate_{name}")));
    }
    names
}

/// Names of metrics in a text.
fn mentioned(text: &str) -> Vec<&str> {
    let part = |c: char| c.is_ascii_lowercase() || c == '_';
    let found = text.match_indices("quorate_").filter(|(at, _)| !text[..*at].ends_with(part));
    let names = found.map(|(at, _)| text[at..].split(|c| !part(c)).next().unwrap_or_default());
    // Modules of the program begin in the same way, in log lines.
    names.filter(|name| !["quorate_service"].contains(name)).collect()
}

#[test]
fn alerts_and_the_dashboard_use_metrics_that_exist_and_the_runbook_explains_all() {
    let metrics = metrics();
    assert!(metrics.len() > 25 && metrics.contains(&"quorate_ready".to_owned()), "{metrics:?}");
    let read = |path: &str| fs::read_to_string(root().join("docs").join(path)).expect("a file");
    let runbook = read("operations.md");
    let suffixes = ["", "_total", "_seconds", "_seconds_bucket", "_info"];
    let exists = |name: &str| {
        let is =
            |metric: &String| suffixes.iter().any(|suffix| name == format!("{metric}{suffix}"));
        metrics.iter().any(is)
    };
    let files = ["monitoring/quorate.rules.yml", "monitoring/quorate.dashboard.json"];
    for text in files.map(read).iter().chain([&runbook]) {
        for name in mentioned(text) {
            assert!(exists(name), "no node has the metric {name}");
        }
    }
    let explained = mentioned(&runbook);
    for metric in &metrics {
        let is_its =
            |name: &&&str| suffixes.iter().any(|suffix| **name == format!("{metric}{suffix}"));
        assert!(explained.iter().any(|name| is_its(&name)), "docs/operations.md lacks {metric}");
    }
    let alerts = read("monitoring/quorate.rules.yml");
    for alert in alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(runbook.contains(&format!("`{alert}`")), "docs/operations.md lacks {alert}");
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a person wants to know what was not run")]
fn sessions_of_the_manual_show_what_the_commands_print() {
    let probe = in_own_network("sh").args(["-c", "ip link set lo up"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        let required = std::env::var("QUORATE_PEERS").is_ok_and(|value| value == "required");
        assert!(!required, "QUORATE_PEERS=required, and there are no network namespaces");
        return eprintln!("no network namespaces: the sessions of the manual were not run");
    }
    let mut pages: Vec<PathBuf> = fs::read_dir(root().join("docs"))
        .expect("the manual")
        .map(|entry| entry.expect("the manual").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    let only = std::env::var("QUORATE_PAGE").ok();
    let pages = pages.iter().map(|path| Page::read(path));
    let pages = pages.filter(|page| only.as_ref().is_none_or(|only| page.name.contains(only)));
    let pages: Vec<Page> = pages.filter(|page| !page.steps.is_empty()).collect();
    assert!(only.is_some() || pages.len() >= 5, "{} pages have sessions", pages.len());
    for page in &pages {
        for step in page.steps.iter().filter(|step| step.is_skipped()) {
            eprintln!("{}:{}: skipped: {}", page.name, step.line, step.command);
        }
    }
    let run = |page: &Page| page.problems();
    let problems: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = pages.iter().map(|page| scope.spawn(move || run(page))).collect();
        runs.into_iter().flat_map(|run| run.join().expect("a page does not panic")).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
