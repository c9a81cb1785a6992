//! Text files of the work tree, in a fixed order.

use std::fs;
use std::io;
use std::path::Path;

/// Text file: its path below the root, with `/` as separator, and its contents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Lines with their numbers, which start at 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// All UTF-8 files below `root` that are not ignored by git, sorted by path.
pub(crate) fn text_files(root: &Path) -> io::Result<Vec<TextFile>> {
    let ignored =
        IgnorePatterns::parse(&fs::read_to_string(root.join(".gitignore")).unwrap_or_default());
    let mut files = Vec::new();
    visit(root, "", &ignored, &mut files)?;
    files.sort();
    Ok(files)
}

fn visit(
    directory: &Path,
    prefix: &str,
    ignored: &IgnorePatterns,
    files: &mut Vec<TextFile>,
) -> io::Result<()> {
    // Cargo marks every build directory with this file, whatever its name.
    if directory.join("CACHEDIR.TAG").exists() {
        return Ok(());
    }
    for entry in fs::read_dir(directory).map_err(|error| cannot_read(directory, &error))? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if ignored.contains(&path) {
            continue;
        } else if kind.is_dir() {
            visit(&entry.path(), &format!("{path}/"), ignored, files)?;
        } else if kind.is_file() {
            let bytes =
                fs::read(entry.path()).map_err(|error| cannot_read(&entry.path(), &error))?;
            files.extend(String::from_utf8(bytes).ok().map(|text| TextFile { path, text }));
        }
    }
    Ok(())
}

/// Makes a copy of a file or folder equal to its original. Files that are equal already keep their times, so that cargo does not
/// compile them again. Links are followed, because some lead out of the folder.
pub(crate) fn synchronise(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return write_if_changed(to, &fs::read(from)?);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        synchronise(&entry.path(), &to.join(entry.file_name()))?;
    }
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        match entry.path().is_dir() {
            _ if from.join(entry.file_name()).exists() => {}
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

pub(crate) fn write_if_changed(path: &Path, contents: &[u8]) -> io::Result<()> {
    match fs::read(path) {
        Ok(old) if old == contents => Ok(()),
        _ => fs::write(path, contents),
    }
}

fn cannot_read(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot read `{}`: {error}", path.display()))
}

/// Paths that git ignores. It supports the patterns `/path`, `name` and `*.ending` of `.gitignore`. Any other pattern
/// ignores nothing, so that the checks see too much rather than too little.
struct IgnorePatterns {
    patterns: Vec<String>,
}

impl IgnorePatterns {
    fn parse(gitignore: &str) -> Self {
        let own = ["/.git", "/target"].into_iter();
        let written = gitignore
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self {
            patterns: own
                .chain(written)
                .map(|line| line.trim_end_matches('/').to_owned())
                .collect(),
        }
    }

    fn contains(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.patterns.iter().any(|pattern| {
            if let Some(anchored) = pattern.strip_prefix('/') {
                path == anchored
            } else if let Some(ending) = pattern.strip_prefix('*') {
                name.ends_with(ending)
            } else {
                name == pattern
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_ignores_is_ignored() {
        let ignored = IgnorePatterns::parse("# builds\n/fuzz/corpus\n*.snap.new\nscratch/\n\n");
        for path in [".git", "target", "fuzz/corpus", "crates/a/tests/b.snap.new", "docs/scratch"] {
            assert!(ignored.contains(path), "{path}");
        }
    }

    #[test]
    fn what_git_keeps_is_kept() {
        let ignored = IgnorePatterns::parse("/fuzz/corpus\n*.snap.new\nscratch/\n!x\n**/y\n");
        for path in
            [".gitignore", "crates/a/src/target", "corpus", "b.snap", "docs/scratch.md", "a/y"]
        {
            assert!(!ignored.contains(path), "{path}");
        }
    }

    #[test]
    fn the_walk_finds_this_file_and_is_sorted() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = text_files(package).expect("the package can be read");
        assert!(files.iter().any(|file| file.path == "src/tree.rs"));
        assert!(files.is_sorted());
    }
}
