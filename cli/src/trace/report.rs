//! The trace for people and for programs.

use std::fmt::Write;

use protojit::{CodeForm, Direction, EngineUsed, MessageType, ProgramTrace, SlowExit, Trace};
use serde::Serialize;

use super::advice::advice;
use super::measure::{Measured, Times};
use crate::failure::{Failure, Outcome};
use crate::table::{self, Column};

/// More rows tell people nothing. Programs get them all.
const MOST_ROWS: usize = 50;

/// All that there is to tell.
#[derive(Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    trace: &'a Trace,
    inputs: &'a [Measured],
    /// Where compiled code left its fast path while each input went through it once.
    slow_exits: Vec<Exits<'a>>,
    #[serde(flatten)]
    code: Code,
}

/// The slow exits of one program.
#[derive(Serialize)]
struct Exits<'a> {
    message: &'a str,
    direction: Direction,
    #[serde(flatten)]
    exit: &'a SlowExit,
}

/// Code as text, as far as it was asked for.
#[derive(Serialize)]
pub struct Code {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clif: Vec<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asm: Vec<Text>,
}

/// The code of one message in one direction.
#[derive(Serialize)]
pub struct Text {
    message: String,
    direction: Direction,
    text: String,
}

/// The code of this message, both ways.
pub fn code(message_type: &MessageType, form: CodeForm) -> [Text; 2] {
    [Direction::Decode, Direction::Encode].map(|direction| {
        let text = message_type.code_text(direction, form).unwrap_or_else(|error| format!("; {error}\n"));
        Text { message: message_type.full_name().to_owned(), direction, text }
    })
}

impl<'a> Report<'a> {
    pub fn new(trace: &'a Trace, inputs: &'a [Measured], watched: &'a Trace, code: Code) -> Report<'a> {
        let exits = |row: &'a ProgramTrace| {
            let exits = row.slow_exits.iter();
            exits.map(|exit| Exits { message: &row.message, direction: row.direction, exit })
        };
        let mut slow_exits: Vec<_> = watched.programs.iter().flat_map(exits).collect();
        slow_exits.sort_by_key(|exits| std::cmp::Reverse(exits.exit.count));
        Report { trace, inputs, slow_exits, code }
    }

    /// For programs. The names are stable.
    pub fn json(&self) -> Outcome<String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Failure::Input(error.to_string()))?;
        Ok(text + "\n")
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_table(&mut text);
        text
    }

    fn write_table(&self, out: &mut String) -> std::fmt::Result {
        let mut rows: Vec<&ProgramTrace> = self.trace.programs.iter().collect();
        rows.sort_by_key(|row| (!row.root, row.engine == EngineUsed::Jit, std::cmp::Reverse(row.code_bytes)));
        writeln!(out, "engine: {}", self.trace.engine)?;
        let shown = &rows[..rows.len().min(MOST_ROWS)];
        write!(out, "{}", programs(shown))?;
        if rows.len() > shown.len() {
            writeln!(out, "and {} more; --format json lists them all", rows.len() - shown.len())?;
        }
        self.write_totals(out)?;
        self.write_finished(out)?;
        self.write_reasons(out, &rows)?;
        if !self.inputs.is_empty() {
            write!(out, "\n{}", inputs(self.inputs, self.trace.engine))?;
        }
        self.write_exits(out)?;
        for code in self.code.clif.iter().chain(&self.code.asm) {
            writeln!(out, "\n; {} of {}\n{}", super::way(code.direction), code.message, code.text.trim_end())?;
        }
        Ok(())
    }

    /// Which fields of the inputs leave the fast path, why, and how often.
    fn write_exits(&self, out: &mut String) -> std::fmt::Result {
        let messages: usize = self.inputs.iter().map(|input| input.messages).sum();
        let compiled = self.trace.compiled().next().is_some();
        if !compiled || messages == 0 {
            return Ok(());
        }
        if self.slow_exits.is_empty() {
            return writeln!(out, "\nslow exits: none, all of it stayed on the fast path");
        }
        const COLUMNS: [Column; 7] = [
            Column::long("slow exits of", '.'),
            Column::word("way"),
            Column::word("field"),
            Column::word("exit"),
            Column::number("count"),
            Column::number("per message").expendable(1),
            Column::long("because", ' ').expendable(2),
        ];
        let rows = self.slow_exits.iter().take(MOST_ROWS).map(|Exits { message, direction, exit }| {
            let field = match (&exit.field, exit.number) {
                (Some(name), Some(number)) => format!("{name} = {number}"),
                (None, Some(number)) => format!("{number}"),
                _ => "(none)".to_owned(),
            };
            vec![
                (*message).to_owned(),
                super::way(*direction).to_owned(),
                field,
                exit.exit.to_owned(),
                exit.count.to_string(),
                table::rounded(exit.count as f64 / messages as f64),
                super::advice::why(exit.exit).to_owned(),
            ]
        });
        write!(out, "\n{}", table::table(&COLUMNS, &rows.collect::<Vec<_>>()))?;
        match self.slow_exits.len().checked_sub(MOST_ROWS) {
            Some(more @ 1..) => writeln!(out, "and {more} more; --format json lists them all"),
            _ => Ok(()),
        }
    }

    fn write_totals(&self, out: &mut String) -> std::fmt::Result {
        let (compiled, all) = (self.trace.compiled().count(), self.trace.programs.len());
        let sum = |of: fn(&ProgramTrace) -> u64| {
            let micros: u64 = self.trace.compiled().map(of).sum();
            table::nanos(micros as f64 * 1e3)
        };
        let code: usize = self.trace.compiled().map(|row| row.code_bytes).sum();
        writeln!(
            out,
            "compiled: {compiled} of {all} programs, {} of code in {} (build {}, optimise {}, allocate {}, seal {})",
            table::bytes(code),
            sum(|row| row.compile_micros),
            sum(|row| row.build_micros),
            sum(|row| row.optimise_micros),
            sum(|row| row.allocate_micros),
            sum(|row| row.seal_micros)
        )?;
        let Some(arena) = self.trace.arena else { return Ok(()) };
        writeln!(
            out,
            "arena: {} {} of {} in use",
            bar(arena.in_use, arena.reserved),
            table::bytes(arena.in_use),
            table::bytes(arena.reserved)
        )
    }

    /// What ends where the input ends is not always decoded by compiled code.
    fn write_finished(&self, out: &mut String) -> std::fmt::Result {
        let bytes: u64 = self.trace.programs.iter().map(|row| row.finished_bytes).sum();
        if bytes == 0 {
            return Ok(());
        }
        writeln!(out, "finished: {} at the ends of inputs were left to the interpreter", table::bytes(bytes as usize))
    }

    /// Each reason once, with the messages it holds for and what to do about it.
    fn write_reasons(&self, out: &mut String, rows: &[&ProgramTrace]) -> std::fmt::Result {
        let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
        for row in rows.iter().filter(|row| row.engine == EngineUsed::Interp) {
            let (reason, detail) =
                (row.reason.unwrap_or("unknown"), row.detail.as_deref().unwrap_or("no reason given"));
            let name = super::name(row);
            match reasons.iter_mut().find(|(other, ..)| *other == reason) {
                Some((_, _, names)) => names.push(name),
                None => reasons.push((reason, detail, vec![name])),
            }
        }
        for (reason, detail, names) in reasons {
            let few = names.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if names.len() > 4 { format!(" and {} more", names.len() - 4) } else { String::new() };
            writeln!(out, "\ninterpreted: {few}{more}\n  why: {reason}: {detail}\n  what to do: {}", advice(reason))?;
        }
        Ok(())
    }
}

fn programs(rows: &[&ProgramTrace]) -> String {
    const COLUMNS: [Column; 11] = [
        Column::long("message", '.'),
        Column::word("way"),
        Column::long("options", ' '),
        Column::word("engine"),
        Column::number("code").expendable(1),
        Column::number("blocks").expendable(3),
        Column::number("helpers").expendable(4),
        Column::number("compile").expendable(2),
        Column::number("calls"),
        Column::number("fallbacks"),
        Column::word("reason"),
    ];
    let rows = rows.iter().map(|row| {
        let jit = row.engine == EngineUsed::Jit;
        let of_code = |text: String| if jit { text } else { String::new() };
        // Calls are counted where they come in.
        let of_root = |calls: u64| if row.root { calls.to_string() } else { String::new() };
        vec![
            row.message.clone(),
            super::way(row.direction).to_owned(),
            row.options.join(" "),
            if jit { "jit" } else { "interp" }.to_owned(),
            of_code(table::bytes(row.code_bytes)),
            of_code(row.blocks.to_string()),
            of_code(row.helper_calls.to_string()),
            of_code(table::nanos(row.compile_micros as f64 * 1e3)),
            of_root(row.compiled_calls + row.interpreted_calls),
            of_root(row.interpreted_calls),
            row.reason.unwrap_or_default().to_owned(),
        ]
    });
    table::table(&COLUMNS, &rows.collect::<Vec<_>>())
}

fn inputs(inputs: &[Measured], engine: &'static str) -> String {
    let columns = [
        Column::long("input", '/'),
        Column::number("messages").expendable(2),
        Column::number("bytes").expendable(1),
        Column::word("way"),
        Column::number(engine),
        Column::number("interp"),
        Column::number("ratio"),
        Column::word("same"),
    ];
    let mut rows = Vec::new();
    for input in inputs {
        let mut row = |way: &str, nanos: fn(&Times) -> f64| {
            let (chosen, interpreted) = (nanos(&input.chosen), input.interpreted.as_ref().map(nanos));
            let same = match (&input.disagreement, interpreted) {
                (Some(_), _) => "NO",
                (None, Some(_)) => "yes",
                (None, None) => "",
            };
            rows.push(vec![
                input.file.clone(),
                input.messages.to_string(),
                input.bytes.to_string(),
                way.to_owned(),
                table::nanos(chosen),
                interpreted.map(table::nanos).unwrap_or_default(),
                interpreted.map(|other| format!("{}x", table::rounded(other / chosen))).unwrap_or_default(),
                same.to_owned(),
            ]);
        };
        row("decode", |times| times.decode_nanos);
        row("encode", |times| times.encode_nanos);
    }
    table::table(&columns, &rows)
}

/// How full it is. What is in use shows, however little it is.
fn bar(part: usize, whole: usize) -> String {
    const CELLS: usize = 30;
    let filled = if part == 0 { 0 } else { (part as f64 / whole.max(1) as f64 * CELLS as f64).ceil() as usize };
    let filled = filled.min(CELLS);
    format!("[{}{}]", "#".repeat(filled), ".".repeat(CELLS - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        assert_eq!(bar(0, 10), format!("[{}]", ".".repeat(30)));
        assert_eq!(bar(1, 1 << 40), format!("[#{}]", ".".repeat(29)));
        assert_eq!(bar(10, 10), format!("[{}]", "#".repeat(30)));
        assert_eq!(bar(0, 0), format!("[{}]", ".".repeat(30)));
    }
}
