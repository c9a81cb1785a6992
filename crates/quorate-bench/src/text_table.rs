//! Tables for a terminal and for Markdown.

/// Table whose rows have as many cells as there are headings.
pub(crate) struct TextTable {
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self {
            headings: headings.iter().map(|text| (*text).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Renders the table in columns. The first `left` columns are left-aligned, the others right-aligned.
    pub(crate) fn text(&self, left: usize) -> String {
        let all = || std::iter::once(&self.headings).chain(&self.rows);
        let width = |column: usize| {
            all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> =
            (0..self.headings.len()).map(|column| width(column).unwrap_or(0)).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if column < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            format!("{}\n", line.trim_end())
        };
        all().map(line).collect()
    }

    pub(crate) fn markdown(&self, left: usize) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: Vec<String> = (0..self.headings.len())
            .map(|column| if column < left { "---" } else { "---:" }.to_owned())
            .collect();
        let rows = self.rows.iter().map(|row| line(row));
        format!("{}{}{}", line(&self.headings), line(&rule), rows.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table = TextTable::new(&["service", "locks/s"]);
        table.rows.push(vec!["etcd".to_owned(), "1,850".to_owned()]);
        table
    }

    #[test]
    fn figures_stand_below_each_other() {
        assert_eq!(table().text(1), "service  locks/s\netcd       1,850\n");
        assert_eq!(
            table().markdown(1),
            "| service | locks/s |\n| --- | ---: |\n| etcd | 1,850 |\n"
        );
    }
}
