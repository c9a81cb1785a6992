//! `cargo xtask verify console`: type-checks the page's scripts, and tests the page in a real browser.
//!
//! Both need programs that are not part of a Rust toolchain: node, npm and Chromium. If one is missing, the step
//! reports it and checks what it can. With `QUORATE_BROWSER_TESTS=required`, as in CI, that is a failure. npm installs
//! into the target directory.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::{self, find_program, is_installed, succeeds};

/// Directory of the browser tests.
const TESTS: &str = "crates/quorate-console/browser";

const CHROMIUMS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Runs the checks that the installed programs allow. Returns whether the step passed.
pub(crate) fn check(root: &Path) -> io::Result<bool> {
    let required = env::var("QUORATE_BROWSER_TESTS").is_ok_and(|value| value == "required");
    let missing = ["node", "npm"].into_iter().find(|program| !is_installed(program));
    if let Some(program) = missing {
        return Ok(report_missing(
            program,
            "neither types nor browser tests were checked",
            required,
        ));
    }
    let tools = root.join("target/browser");
    if !install(root, &tools)? {
        return Ok(report_missing(
            "what npm installs",
            "neither types nor browser tests were checked",
            required,
        ));
    }
    let tsc = tools.join("node_modules/typescript/bin/tsc");
    eprintln!("    the types of the scripts");
    if !succeeds(Command::new("node").arg(tsc).args(["-p", TESTS]).current_dir(root))? {
        return Ok(false);
    }
    let Some(chromium) = CHROMIUMS.into_iter().find(|program| is_installed(program)) else {
        return Ok(report_missing("chromium", "the browser tests were not run", required));
    };
    let Some(binary) = programs::quorate(root)? else { return Ok(false) };
    eprintln!("    the page in {chromium}; its pictures go to target/browser/screens");
    let tests = ["console", "lessons"].map(|name| format!("{TESTS}/{name}.test.mjs"));
    let mut node = Command::new("node");
    node.args(["--test", "--test-force-exit", "--test-reporter=spec"]);
    // One file after the other, because each starts a browser of its own.
    node.arg("--test-concurrency=1").args(tests).current_dir(root);
    node.env("QUORATE_BIN", binary).env("QUORATE_BROWSER_MODULES", &tools);
    node.env("QUORATE_CHROMIUM", find_program(chromium))
        .env("QUORATE_SCREENS", tools.join("screens"));
    succeeds(&mut node)
}

/// Reports a missing program. Returns whether the step passes without it.
fn report_missing(what: &str, consequence: &str, required: bool) -> bool {
    let hint = "install node 20 or newer, npm and chromium to check it here too";
    eprintln!("    {what} is missing: {consequence}; {hint}");
    !required
}

/// Installs the tools in the versions of the lock file, unless they are installed already.
fn install(root: &Path, tools: &Path) -> io::Result<bool> {
    fs::create_dir_all(tools)?;
    let read = |path: PathBuf| fs::read(path).unwrap_or_default();
    let files = ["package.json", "package-lock.json"];
    let current = files.iter().all(|file| {
        let wanted = read(root.join(TESTS).join(file));
        wanted == read(tools.join(file))
    });
    if current && tools.join("node_modules/.package-lock.json").exists() {
        return Ok(true);
    }
    for file in files {
        fs::copy(root.join(TESTS).join(file), tools.join(file))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]);
    succeeds(npm.current_dir(tools))
}
