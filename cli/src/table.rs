//! Tables that fit the terminal, and numbers that fit tables.

use std::io::IsTerminal;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};

/// The width where there is no terminal to ask.
const DEFAULT_WIDTH: u16 = 120;

/// Columns that there is room for.
fn width() -> u16 {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
    let terminal = || {
        let stdout = std::io::stdout();
        stdout.is_terminal().then(|| console::Term::stdout().size_checked()).flatten().map(|(_, columns)| columns)
    };
    asked.or_else(terminal).unwrap_or(DEFAULT_WIDTH)
}

/// A column of a table.
#[derive(Clone, Copy)]
pub struct Column {
    name: &'static str,
    kind: Kind,
    /// Where the terminal is narrow the columns with the highest of these go first. 0 stays.
    expendable: u8,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Words that stay as they are.
    Word,
    /// Words that may be broken behind this character.
    Long(char),
    Number,
}

impl Column {
    pub const fn word(name: &'static str) -> Column {
        Column { name, kind: Kind::Word, expendable: 0 }
    }

    /// For what may be long, and is then broken behind `delimiter`.
    pub const fn long(name: &'static str, delimiter: char) -> Column {
        Column { name, kind: Kind::Long(delimiter), expendable: 0 }
    }

    pub const fn number(name: &'static str) -> Column {
        Column { name, kind: Kind::Number, expendable: 0 }
    }

    /// Where the terminal is narrow the columns with the highest rank go first.
    pub const fn expendable(self, rank: u8) -> Column {
        Column { expendable: rank, ..self }
    }

    fn is_long(self) -> bool {
        matches!(self.kind, Kind::Long(_))
    }
}

/// Each cell has a space on both sides, and another between it and the next.
const PADDING: usize = 3;

/// What a long word needs at least.
const LEAST: usize = 12;

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('\u{2500}').junction('\u{2500}'));

/// A table that is as wide as the terminal at most. Columns with nothing in them are left out.
pub fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    lay_out(columns, rows, usize::from(width()))
}

fn lay_out(columns: &[Column], rows: &[Vec<String>], width: usize) -> String {
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| console::measure_text_width(&row[at]));
        cells.max().unwrap_or(0).max(columns[at].name.len())
    };
    let mut shown: Vec<usize> = (0..columns.len()).filter(|&at| rows.iter().any(|row| !row[at].is_empty())).collect();
    let total = |shown: &[usize], least: usize| -> usize {
        let cell = |&at: &usize| if columns[at].is_long() { widest(at).min(least) } else { widest(at) };
        shown.iter().map(|at| cell(at) + PADDING).sum()
    };
    while total(&shown, 2 * LEAST) > width {
        let Some(first) = shown.iter().copied().max_by_key(|&at| columns[at].expendable) else { break };
        if columns[first].expendable == 0 {
            break;
        }
        shown.retain(|&at| at != first);
    }
    // What the others leave, the long ones share.
    let long = shown.iter().filter(|&&at| columns[at].is_long()).count().max(1);
    let room = (width.saturating_sub(total(&shown, 0)) / long).max(LEAST);
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(shown.iter().map(|&at| columns[at].name));
    for row in rows {
        table.add_row(shown.iter().map(|&at| match columns[at].kind {
            Kind::Long(delimiter) => broken(&row[at], delimiter, room),
            _ => row[at].clone(),
        }));
    }
    let fits = total(&shown, LEAST) <= width;
    for (column, &at) in table.column_iter_mut().zip(&shown) {
        if columns[at].kind == Kind::Number {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if fits && !columns[at].is_long() {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Breaks a long word behind delimiters, so that its lines have at most `room` characters where that is possible.
fn broken(word: &str, delimiter: char, room: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for part in word.split_inclusive(delimiter) {
        let width = console::measure_text_width(part);
        if used > 0 && used + width > room {
            text.push('\n');
            used = 0;
        }
        text.push_str(part);
        used += width;
    }
    text
}

/// Such as `64 KiB`.
pub fn bytes(bytes: usize) -> String {
    let scaled = |shift: u32| bytes as f64 / (1u64 << shift) as f64;
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{} KiB", rounded(scaled(10))),
        10_485_760..10_737_418_240 => format!("{} MiB", rounded(scaled(20))),
        _ => format!("{} GiB", rounded(scaled(30))),
    }
}

/// Such as `1.25 ms`.
pub fn nanos(nanos: f64) -> String {
    match nanos {
        ..1e3 => format!("{} ns", rounded(nanos)),
        ..1e6 => format!("{} µs", rounded(nanos / 1e3)),
        ..1e9 => format!("{} ms", rounded(nanos / 1e6)),
        _ => format!("{} s", rounded(nanos / 1e9)),
    }
}

/// Three digits that say something.
pub fn rounded(number: f64) -> String {
    let decimals = match number {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_broken_where_they_may_be() {
        assert_eq!(broken("google.protobuf.FileDescriptorSet", '.', 20), "google.protobuf.\nFileDescriptorSet");
        assert_eq!(broken("a.b.c", '.', 20), "a.b.c");
        assert_eq!(broken("unbreakable", '.', 5), "unbreakable");
        assert_eq!(broken("", '.', 5), "");
    }

    #[test]
    fn narrow_and_narrower() {
        let columns = [
            Column::long("name", '.'),
            Column::word("word"),
            Column::number("first").expendable(2),
            Column::number("second").expendable(1),
            Column::number("empty"),
        ];
        let row = ["some.long.name.of.something", "word", "1", "2", ""].map(str::to_owned).to_vec();
        let wide = lay_out(&columns, std::slice::from_ref(&row), 80);
        assert_eq!(
            wide.lines().map(str::trim).collect::<Vec<_>>()[2],
            "some.long.name.of.something   word       1        2"
        );
        assert!(!wide.contains("empty"));
        for width in 20..80 {
            let table = lay_out(&columns, std::slice::from_ref(&row), width);
            assert!(table.lines().all(|line| console::measure_text_width(line) <= width), "{width}\n{table}");
            assert!(table.contains("second") || !table.contains("first"), "{table}");
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(4096), "4096 B");
        assert_eq!(bytes(65536), "64 KiB");
        assert_eq!(bytes(128 << 20), "128 MiB");
        assert_eq!(nanos(12.34), "12.3 ns");
        assert_eq!(nanos(1250.0), "1.25 µs");
        assert_eq!(nanos(3.0e9), "3 s");
        assert_eq!(rounded(100.0), "100");
    }
}
