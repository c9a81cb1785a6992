//! The list of files that a new algorithm changes, in CONTRIBUTING.md, is complete and has no file too many.
//!
//! The list is shown for one algorithm. Every file that names it has to be in the list, and every entry of the list has
//! to lead to such a file.

use super::Problem;
use crate::tree::TextFile;

const GUIDE: &str = "CONTRIBUTING.md";
/// Line that introduces the table.
const INTRODUCTION: &str =
    "These files change when a mutual exclusion algorithm is added, shown for";

/// Compares the table of the guide with the files that name the algorithm.
pub(super) fn problems(files: &[TextFile]) -> Vec<Problem> {
    let Some(guide) = files.iter().find(|file| file.path == GUIDE) else { return Vec::new() };
    let Some((name, rows)) = listed(&guide.text) else {
        let rule = "the section about adding an algorithm has no table of files";
        return vec![Problem::of_file(GUIDE, rule)];
    };
    let naming: Vec<&TextFile> = files
        .iter()
        .filter(|file| file.path != GUIDE && !file.path.starts_with("xtask/"))
        .filter(|file| file.text.to_lowercase().contains(name))
        .collect();
    let unlisted = naming.iter().filter(|file| !rows.iter().any(|row| matches(row, &file.path)));
    let unlisted = unlisted.map(|file| {
        Problem::of_file(
            &file.path,
            format!("names `{name}`, but {GUIDE} does not list it among the files that change"),
        )
    });
    let stale = rows.iter().filter(|row| !naming.iter().any(|file| matches(row, &file.path)));
    let stale = stale
        .map(|row| Problem::of_file(GUIDE, format!("lists `{row}`, where nothing names `{name}`")));
    unlisted.chain(stale).collect()
}

/// The algorithm of the example, and the first column of the table below it.
fn listed(guide: &str) -> Option<(&str, Vec<&str>)> {
    let mut lines = guide.lines().skip_while(|line| !line.starts_with(INTRODUCTION));
    let name = lines.next()?.split('`').nth(1)?;
    let table =
        lines.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let rows: Vec<&str> = table.filter_map(|line| line.split('`').nth(1)).collect();
    (!rows.is_empty()).then_some((name, rows))
}

/// Whether a path belongs to an entry: the same path, a folder that ends in `/`, or a pattern with one `*`.
fn matches(row: &str, path: &str) -> bool {
    match row.split_once('*') {
        Some((before, after)) => path.starts_with(before) && path.ends_with(after),
        None => path == row || (row.ends_with('/') && path.starts_with(row)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    fn tree(more: &[TextFile]) -> Vec<TextFile> {
        let guide = format!(
            "# Guide\n\n{INTRODUCTION} `singhal`:\n\n| file | change |\n|---|---|\n| `src/singhal.rs` | new |\n\
             | `scenarios/*.toml` | new |\n\nMore.\n\n| `other.rs` | not of this table |\n"
        );
        let files = [
            file(GUIDE, &guide),
            file("src/singhal.rs", "struct Singhal;"),
            file("scenarios/one.toml", "algorithm = \"singhal\""),
        ];
        files.into_iter().chain(more.iter().cloned()).collect()
    }

    #[test]
    fn a_complete_list_has_no_problem() {
        assert_eq!(problems(&tree(&[file("src/raymond.rs", "struct Raymond;")])), []);
    }

    #[test]
    fn a_file_that_is_not_listed_is_a_problem() {
        let found = problems(&tree(&[file("src/lists.rs", "\"singhal\"")]));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with("src/lists.rs: names `singhal`"), "{}", found[0]);
    }

    #[test]
    fn an_entry_without_a_file_is_a_problem() {
        let files: Vec<TextFile> =
            tree(&[]).into_iter().filter(|file| !file.path.ends_with(".toml")).collect();
        let found = problems(&files);
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("lists `scenarios/*.toml`"), "{}", found[0]);
    }

    #[test]
    fn a_guide_without_the_table_is_a_problem() {
        assert_eq!(problems(&[file(GUIDE, "# Guide")]).len(), 1);
    }
}
