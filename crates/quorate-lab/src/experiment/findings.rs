//! Findings of an experiment, for readers and for programs.

use std::io::{self, Write};

use quorate_draw::chart::Chart;

use super::Table;

/// Findings of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// All results in machine-readable form.
    pub table: Table,
    /// Tables for human readers.
    pub blocks: Vec<Block>,
    /// Notes that are needed to read the tables.
    pub notes: Vec<String>,
    /// Charts of the results.
    pub charts: Vec<Chart>,
}

/// A table for human readers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Title of the table.
    pub title: String,
    /// Headings of the columns. A column whose heading starts with a blank is right-aligned.
    pub head: Vec<&'static str>,
    /// Rows with one cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// Width at which notes are wrapped and which blocks should not exceed.
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

    /// Writes a page in Markdown: the title, the command that generates the page, the tables, and the notes.
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

    /// Writes the text for human readers.
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

/// Formats a figure with two decimals, or with one if it is large.
pub(super) fn figure(value: f64) -> String {
    if value.abs() >= 1_000.0 { format!("{value:.1}") } else { format!("{value:.2}") }
}

/// Writes a note as a paragraph. Lines after the first one are indented.
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
