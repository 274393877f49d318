//! How answers look: for people, or as JSON for scripts.

use clap::Args;
use serde_json::Value;
use std::io::Write;

/// How answers look.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(super) struct Format {
    /// Print JSON, for scripts.
    #[arg(long)]
    pub(super) json: bool,
}

/// Prints to standard output. Whoever has stopped reading, such as `head`, has enough.
pub(super) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

impl Format {
    /// Prints a value: as it is, or in words.
    pub(super) fn print(self, value: &Value, words: impl FnOnce(&Value) -> String) {
        if self.json {
            print(&format!("{value:#}\n"));
        } else {
            print(&words(value));
        }
    }
}

/// Any value as lines: names, then values, deeper ones further right. Long lists of plain values stay on one line.
pub(super) fn lines(value: &Value) -> String {
    let mut out = String::new();
    put(&mut out, value, 0);
    out
}

fn put(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) => {
            let width = fields.keys().map(|name| name.chars().count()).max().unwrap_or(0);
            for (name, field) in fields {
                if is_plain(field) {
                    out.push_str(&format!("{indent}{name:<width$}  {}\n", plain(field)));
                } else {
                    out.push_str(&format!("{indent}{name}\n"));
                    put(out, field, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if is_plain(item) {
                    out.push_str(&format!("{indent}{}\n", plain(item)));
                } else {
                    out.push_str(&format!("{indent}#{index}\n"));
                    put(out, item, depth + 1);
                }
            }
        }
        other => out.push_str(&format!("{indent}{}\n", plain(other))),
    }
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        Value::Object(_) | Value::Array(_) => "none".to_owned(),
        other => other.to_string(),
    }
}

/// Rows under a heading, each column as wide as it must be.
pub(super) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = heading.map(|name| name.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; N]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut out = line(heading);
    rows.iter().for_each(|row| out.push_str(&line(row.each_ref().map(String::as_str))));
    out
}

/// Milliseconds as people say them.
pub(super) fn seconds(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1000, ms % 1000 / 100) }
}

/// A number that stands in hexadecimal.
pub(super) fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

/// A block: its number, and the beginning of its hash.
pub(super) fn block(value: &Value) -> String {
    let hash = value["hash"].as_str().unwrap_or("-");
    number(&value["number"]).map_or_else(|| "-".to_owned(), |number| format!("{number} {hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_become_lines() {
        let value = json!({ "a": 1, "long": "x", "deep": { "b": null, "list": [1, 2] }, "none": [] });
        assert_eq!(lines(&value), "a     1\ndeep\n  b     -\n  list\n    1\n    2\nlong  x\nnone  none\n");
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [["B-1".to_owned(), "Queued".to_owned()], ["B-22".to_owned(), "x".to_owned()]];
        assert_eq!(table(["name", "state"], &rows), "name  state\nB-1   Queued\nB-22  x\n");
    }

    #[test]
    fn times_are_short() {
        assert_eq!((seconds(40), seconds(2_340)), ("40 ms".to_owned(), "2.3 s".to_owned()));
    }
}
