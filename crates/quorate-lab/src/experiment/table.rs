//! A table of results, which is written as CSV and JSON.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A table in which each row has a value for each column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
}

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// There is no value.
    Missing,
    /// A yes or no.
    Flag(bool),
    /// A non-negative whole number.
    Count(u64),
    /// A measured or computed figure.
    Number(f64),
    /// Any text, such as a name.
    Text(String),
}

impl Table {
    /// Creates a table of these rows. Each row names its columns, and all rows name the same ones in the same order.
    pub fn new(rows: impl IntoIterator<Item = Vec<(&'static str, Value)>>) -> Self {
        let mut table = Self::default();
        for row in rows {
            let (columns, values): (Vec<_>, Vec<_>) = row.into_iter().unzip();
            assert!(
                table.rows.is_empty() || table.columns == columns,
                "all rows of a table have the same columns"
            );
            table.columns = columns;
            table.rows.push(values);
        }
        table
    }

    /// The rows, with the names of the columns.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|values| Row { columns: &self.columns, values })
    }

    /// Writes the table as comma-separated values, with the names of the columns first.
    pub fn write_csv(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "{}", csv_line(self.columns.iter().copied().map(Cow::from)))?;
        for row in &self.rows {
            writeln!(out, "{}", csv_line(row.iter().map(|value| value.plain().into())))?;
        }
        out.flush()
    }
}

/// A line of comma-separated values, quoted as in RFC 4180. A table has at least two columns.
fn csv_line<'v>(values: impl Iterator<Item = Cow<'v, str>>) -> String {
    let quoted = |value: Cow<'v, str>| match value.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")).into(),
        false => value,
    };
    values.map(quoted).collect::<Vec<_>>().join(",")
}

/// One row of a table; an object in JSON.
#[derive(Clone, Copy, Debug)]
pub struct Row<'t> {
    columns: &'t [&'static str],
    values: &'t [Value],
}

impl<'t> Row<'t> {
    /// The value in the column of that name.
    pub fn get(&self, column: &str) -> Option<&'t Value> {
        let place = self.columns.iter().position(|name| *name == column)?;
        self.values.get(place)
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.values.len()))?;
        for (column, value) in self.columns.iter().zip(self.values) {
            map.serialize_entry(column, value)?;
        }
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Missing => serializer.serialize_none(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl Value {
    /// Text for a file: the shortest digits that parse to the same number, and an empty string for a missing value.
    fn plain(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Flag(flag) => flag.to_string(),
            Self::Count(count) => count.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

/// A number that is not finite becomes a missing value, because JSON cannot represent it.
impl From<f64> for Value {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Missing }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers_and_commas_are_quoted() {
        let row = |name: &str, mean: Option<f64>| {
            vec![("name", name.into()), ("mean", mean.into()), ("runs", 3u64.into())]
        };
        let table =
            Table::new([row("a, b", Some(0.1)), row("\"c\"", None), row("d", Some(f64::NAN))]);
        let mut csv = Vec::new();
        table.write_csv(&mut csv).unwrap();
        let lines = ["name,mean,runs", "\"a, b\",0.1,3", "\"\"\"c\"\"\",,3", "d,,3", ""];
        assert_eq!(String::from_utf8(csv).unwrap(), lines.join("\n"));
        let json = serde_json::to_string(&table.rows().collect::<Vec<_>>()).unwrap();
        let first = r#"{"name":"a, b","mean":0.1,"runs":3}"#;
        assert!(json.starts_with(&format!("[{first},")), "{json}");
        assert!(json.contains(r#"{"name":"d","mean":null,"runs":3}"#), "{json}");
    }
}
