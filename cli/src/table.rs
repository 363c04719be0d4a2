//! Tables that fit the terminal, and numbers that fit tables.

use std::io::IsTerminal;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// The width where there is no terminal to ask.
const DEFAULT_WIDTH: u16 = 120;

/// Columns that there is room for.
pub fn width() -> u16 {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
    let terminal = || {
        let stdout = std::io::stdout();
        stdout.is_terminal().then(|| console::Term::stdout().size_checked()).flatten().map(|(_, columns)| columns)
    };
    asked.or_else(terminal).unwrap_or(DEFAULT_WIDTH)
}

/// A table with these columns; those with a `>` in front hold numbers.
pub fn table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width());
    table.set_header(columns.iter().map(|column| column.trim_start_matches('>')));
    for (at, _) in columns.iter().enumerate().filter(|(_, column)| column.starts_with('>')) {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
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
