//! Links between documents: every target exists, and the table of contents of the manual lists every page.

use std::collections::BTreeSet;

use super::Problem;
use crate::tree::TextFile;

/// Table of contents of the manual, which mdBook reads.
const SUMMARY: &str = "docs/SUMMARY.md";

/// All violations of all documents. Pages of crates link to documentation that is elsewhere.
pub(super) fn problems(files: &[TextFile]) -> Vec<Problem> {
    let documents = files.iter().filter(|file| is_document(&file.path));
    let mut problems: Vec<Problem> = documents.flat_map(|file| broken_links(file, files)).collect();
    problems.extend(missing_pages(files));
    problems
}

fn is_document(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    path.ends_with(".md") && ["", "docs", "proofs"].contains(&folder)
}

fn broken_links(file: &TextFile, files: &[TextFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (line, target) in links(file) {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let path =
            if path.is_empty() { Some(file.path.clone()) } else { resolved(&file.path, path) };
        let found = path.as_deref().and_then(|path| find(files, path));
        match found {
            None => problems.push(Problem::at(file, line, format!("a link to nothing: {target}"))),
            Some(Some(page)) if !anchor.is_empty() && !anchors(page).contains(anchor) => {
                problems.push(Problem::at(
                    file,
                    line,
                    format!("no heading has this anchor: {target}"),
                ));
            }
            Some(_) => {}
        }
    }
    problems
}

/// Line and target of each link of a page. Code contains none.
fn links(file: &TextFile) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (number, line) in prose(file) {
        // Every second part is code.
        for part in line.split('`').step_by(2) {
            for rest in part.split("](").skip(1) {
                links.extend(rest.split_once(')').map(|(target, _)| (number, target)));
            }
        }
    }
    // The text of a link may be code.
    for (number, line) in prose(file).filter(|(_, line)| line.contains("`](")) {
        let targets = line.split("`](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (target, _) in targets {
            if !links.contains(&(number, target)) {
                links.push((number, target));
            }
        }
    }
    links
}

/// Lines outside blocks of code.
fn prose(file: &TextFile) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    file.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !fence && !in_code
    })
}

/// The path below the root that a relative link leads to; `None` if it leaves the tree.
fn resolved(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The file or folder at a path. The inner value is the file, if it is one.
fn find<'a>(files: &'a [TextFile], path: &str) -> Option<Option<&'a TextFile>> {
    let file = files.iter().find(|file| file.path == path);
    let folder = format!("{path}/");
    let exists = file.is_some() || files.iter().any(|file| file.path.starts_with(&folder));
    exists.then_some(file)
}

/// Anchors of the headings of a page, as GitHub and mdBook make them.
fn anchors(page: &TextFile) -> BTreeSet<String> {
    let heading = |line: &str| {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
        text.chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    prose(page).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| heading(line)).collect()
}

/// Pages that the table of contents does not list exactly once.
fn missing_pages(files: &[TextFile]) -> Vec<Problem> {
    let Some(summary) = files.iter().find(|file| file.path == SUMMARY) else { return Vec::new() };
    let listed: Vec<&str> = links(summary).into_iter().map(|(_, target)| target).collect();
    let pages = files.iter().filter_map(|file| file.path.strip_prefix("docs/"));
    let pages = pages.filter(|path| path.ends_with(".md") && !["SUMMARY.md"].contains(path));
    pages
        .filter_map(|page| match listed.iter().filter(|listed| **listed == page).count() {
            1 => None,
            times => {
                Some(Problem::of_file(SUMMARY, format!("lists {page} {times} times, not once")))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(pages: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        let files: Vec<TextFile> = pages.iter().map(file).collect();
        problems(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere_are_let_through() {
        let page = "# A\n\n[b](b.md#two-words), [`code`](../x/y.toml), [folder](../x), [here](#a),\n[web](https://a.b/c)\n\n\
                    ```\n[no](link.md)\n```\n`[no](link.md)`\n";
        let other = "# B\n\n## Two `words`\n";
        let summary = "- [A](a.md)\n- [B](b.md)\n";
        let pages = [
            ("docs/a.md", page),
            ("docs/b.md", other),
            ("docs/SUMMARY.md", summary),
            ("x/y.toml", ""),
        ];
        assert_eq!(broken(&pages), Vec::<String>::new());
    }

    #[test]
    fn links_to_nothing_and_pages_without_a_link_are_found() {
        let page = "# A\n[b](b.md) [c](c.md#other) [d](../../d.md) [`e`](e.md)\n";
        let pages =
            [("docs/a.md", page), ("docs/c.md", "# C\n"), ("docs/SUMMARY.md", "[A](a.md)\n")];
        let found = broken(&pages);
        assert_eq!(found.len(), 5, "{found:#?}");
        for part in ["b.md", "c.md#other", "d.md", "e.md", "lists c.md 0 times"] {
            assert!(found.iter().any(|problem| problem.contains(part)), "{part}: {found:#?}");
        }
    }
}
