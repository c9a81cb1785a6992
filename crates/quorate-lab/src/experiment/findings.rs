//! What an experiment has found, for people and for programs.

use std::io::{self, Write};

use quorate_draw::chart::Chart;

use super::Table;

/// What an experiment has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Everything, for programs.
    pub table: Table,
    /// What a person reads.
    pub blocks: Vec<Block>,
    /// What has to be known to read it.
    pub notes: Vec<String>,
    /// The figures.
    pub charts: Vec<Chart>,
}

/// A table as a person reads it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// What it shows.
    pub title: String,
    /// The columns; one whose heading begins with a blank has its figures at the right.
    pub head: Vec<&'static str>,
    /// A cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// The width that blocks keep to, and notes are broken at.
const WIDTH: usize = 100;

impl Findings {
    /// Writes the table as JSON: `{"name":..,"rows":[{..}]}`.
    pub fn write_json(&self, name: &str, mut out: impl Write) -> io::Result<()> {
        #[derive(serde::Serialize)]
        struct Json<'a> {
            name: &'a str,
            rows: Vec<super::table::Row<'a>>,
        }
        serde_json::to_writer(&mut out, &Json { name, rows: self.table.rows().collect() })?;
        writeln!(out)
    }

    /// Writes a page in Markdown: what it is, the command that makes it again, the tables, and what has to be known.
    pub fn write_markdown(
        &self,
        summary: &str,
        command: &str,
        mut out: impl Write,
    ) -> io::Result<()> {
        let mut title = summary.chars();
        let first = title.next().map(|first| first.to_uppercase().to_string());
        writeln!(out, "# {}{}\n", first.unwrap_or_default(), title.as_str())?;
        writeln!(out, "This page is made by `{command}`.\n")?;
        for block in &self.blocks {
            block.write_markdown(&mut out)?;
        }
        writeln!(out, "## How to read it\n")?;
        for (place, note) in self.notes.iter().enumerate() {
            let end = if place + 1 == self.notes.len() { "" } else { "\n" };
            writeln!(out, "{}{end}", note.split_whitespace().collect::<Vec<_>>().join(" "))?;
        }
        Ok(())
    }

    /// Writes what a person reads.
    pub fn write_text(&self, mut out: impl Write) -> io::Result<()> {
        for block in &self.blocks {
            block.write(&mut out)?;
            writeln!(out)?;
        }
        self.notes.iter().try_for_each(|note| write_note(&mut out, note))
    }
}

impl Block {
    fn write_markdown(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "## {}\n", self.title)?;
        let head: Vec<&str> = self.head.iter().map(|head| head.trim()).collect();
        writeln!(out, "| {} |", head.join(" | "))?;
        let rule = |head: &&str| if head.starts_with(' ') { "---:" } else { "---" };
        writeln!(out, "| {} |", self.head.iter().map(rule).collect::<Vec<_>>().join(" | "))?;
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
        writeln!(out)
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}\n", self.title)?;
        let head: Vec<String> = self.head.iter().map(|head| head.trim().to_owned()).collect();
        let lines = || std::iter::once(&head).chain(&self.rows);
        let width = |column: usize| {
            lines().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..head.len()).filter_map(width).collect();
        for row in lines() {
            let mut line = String::from(" ");
            for ((cell, width), head) in row.iter().zip(&widths).zip(&self.head) {
                line.push(' ');
                match head.starts_with(' ') {
                    true => line.push_str(&format!("{cell:>width$}")),
                    false => line.push_str(&format!("{cell:<width$}")),
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Two digits are enough, and fewer where there are many before them.
pub(super) fn figure(value: f64) -> String {
    if value.abs() >= 1_000.0 { format!("{value:.1}") } else { format!("{value:.2}") }
}

/// A note as a paragraph: its first word begins the line, the rest is indented below.
fn write_note(out: &mut impl Write, note: &str) -> io::Result<()> {
    let mut line = String::new();
    for word in note.split_whitespace() {
        if line.chars().count() + word.chars().count() >= WIDTH {
            writeln!(out, "{line}")?;
            line = "  ".to_owned();
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_below_each_other() {
        let rows = [["a", "1.00", "x"], ["longer", "10.00", ""]];
        let rows = rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
        let block = Block { title: "Title".to_owned(), head: vec!["name", " n", "note"], rows };
        let findings = Findings {
            blocks: vec![block],
            notes: vec![format!("a  {}", "word ".repeat(25))],
            ..Findings::default()
        };
        let mut text = Vec::new();
        findings.write_text(&mut text).unwrap();
        insta::assert_snapshot!(String::from_utf8(text).unwrap());
    }
}
