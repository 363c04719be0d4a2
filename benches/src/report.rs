//! The table that is printed, and the JSON behind it.

use std::fmt::{self, Write};

use serde::Serialize;

use crate::measure::{Effort, Timing};
use crate::peers::{ENGINES, Op, Role, engine};

/// What was measured where.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The load averages of the machine when the run began, over one, five and fifteen minutes.
    pub load: Option<[f64; 3]>,
    /// The processor's name.
    pub processor: Option<String>,
    /// The compiler.
    pub compiler: &'static str,
    /// Engines and the exact versions of their crates.
    pub engines: Vec<(&'static str, &'static str)>,
    /// How much was measured.
    pub effort: Effort,
    /// One row for each workload and section.
    pub rows: Vec<Row>,
}

/// One workload in one section.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The workload.
    pub workload: String,
    /// Its message type.
    pub message: &'static str,
    /// How many payloads it has.
    pub payloads: usize,
    /// Their mean length.
    pub wire_bytes: f64,
    /// Mean bytes of arena that protojit takes for a decode.
    pub arena_bytes: Option<f64>,
    /// What was done.
    pub section: Section,
    /// Times by engine.
    pub results: Vec<Measured>,
    /// protojit beside its peers: once, or once more with unknown fields discarded.
    pub ratios: Vec<Ratios>,
    /// Engines that do not run it, and why.
    pub skipped: Vec<(&'static str, &'static str)>,
}

/// The time of one engine.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// The engine.
    pub engine: &'static str,
    /// What it did.
    pub op: Op,
    /// Nanoseconds per message.
    pub nanos: Timing,
}

impl Measured {
    /// The engine's name, with a star if it decodes into a used message.
    fn label(&self) -> String {
        label(self.engine, self.op)
    }
}

/// The end of the names of engines that discard unknown fields.
const DISCARD: &str = "-discard";

fn label(engine: &str, op: Op) -> String {
    if op == Op::DecodeReused { format!("{engine}*") } else { engine.to_owned() }
}

/// A part of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Decoding, into new and into used messages.
    Decode,
    /// Decoding and reading every field.
    Read,
    /// Encoding into a reused buffer.
    Encode,
}

impl Section {
    /// What is measured in it; the first is what ratios are of.
    pub const fn ops(self) -> &'static [Op] {
        match self {
            Section::Decode => &[Op::Decode, Op::DecodeReused],
            Section::Read => &[Op::Read],
            Section::Encode => &[Op::Encode],
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Section::Decode => "decode (*: into a used message)",
            Section::Read => "decode and read every field",
            Section::Encode => "encode into a reused buffer",
        }
    }
}

/// protojit beside its peers: how many times as fast it is.
#[derive(Debug, Serialize)]
pub struct Ratios {
    /// `jit` or `jit-discard`.
    pub jit: &'static str,
    /// The JIT against prost, decoding into a new message.
    pub prost: Option<f64>,
    /// The JIT against the fastest peer, whichever it is.
    pub fastest: Option<f64>,
    /// Which that is.
    pub fastest_peer: Option<String>,
    /// The JIT against prost-reflect.
    pub prost_reflect: Option<f64>,
    /// The interpreter against prost.
    pub interp_prost: Option<f64>,
    /// The JIT against the interpreter.
    pub interp: Option<f64>,
}

impl Ratios {
    /// Those of a row's results. With `discard` those of the engines that discard unknown fields.
    pub fn of(results: &[Measured], section: Section, discard: bool) -> Option<Ratios> {
        let (jit, interp) = if discard { ("jit-discard", "interp-discard") } else { ("jit", "interp") };
        let time = |name: &str| {
            let found = results.iter().find(|result| result.engine == name && result.op == section.ops()[0]);
            found.map(|result| result.nanos.median)
        };
        let own = time(jit)?;
        let peers = results.iter().filter(|result| engine(result.engine).is_some_and(|it| it.role != Role::Own));
        let fastest = peers.min_by(|left, right| left.nanos.median.total_cmp(&right.nanos.median));
        Some(Ratios {
            jit,
            prost: time("prost").map(|time| time / own),
            fastest: fastest.map(|result| result.nanos.median / own),
            fastest_peer: fastest.map(Measured::label),
            prost_reflect: time("prost-reflect").map(|time| time / own),
            interp_prost: time("prost").zip(time(interp)).map(|(prost, interp)| prost / interp),
            interp: time(interp).map(|time| time / own),
        })
    }
}

impl Report {
    /// An empty report, which records the state of the machine.
    pub fn new(effort: Effort) -> Report {
        Report {
            load: load(),
            processor: processor(),
            compiler: env!("VERSION_RUSTC"),
            engines: ENGINES.iter().map(|engine| (engine.name, engine.version)).collect(),
            effort,
            rows: Vec::new(),
        }
    }

    /// What stands above the table.
    pub fn header(&self) -> String {
        let mut out = String::new();
        let mut crates: Vec<_> = self.engines.iter().map(|(_, version)| *version).collect();
        crates.dedup();
        let _ = writeln!(out, "{}; {}", self.compiler, self.processor.as_deref().unwrap_or("unknown processor"));
        let _ = writeln!(out, "{}", crates.join(", "));
        let Effort { rounds, sample } = self.effort;
        let _ = writeln!(
            out,
            "{rounds} rounds of at least {sample:?} each, engines interleaved; medians, and (max-min)/median in percent"
        );
        match self.load {
            Some([one, five, fifteen]) => {
                let _ = writeln!(out, "load average at start: {one:.2} {five:.2} {fifteen:.2}");
                if one > 0.5 {
                    let _ = writeln!(out, "WARNING: the machine is not quiet; these figures mean little");
                }
            }
            None => out.push_str("load average at start: unknown\n"),
        }
        out
    }

    /// The tables of a section: times, then ratios. Empty if nothing of it was measured.
    pub fn section(&self, section: Section) -> String {
        let rows: Vec<_> = self.rows.iter().filter(|row| row.section == section).collect();
        if rows.is_empty() {
            return String::new();
        }
        format!("\n{}\n\n{}\n{}", section.title(), times(&rows, section), ratios(&rows))
    }
}

/// Nanoseconds per message, median and spread. What protojit takes with unknown fields discarded is a line of its own.
fn times(rows: &[&Row], section: Section) -> Grid {
    let mut labels = Vec::new();
    for engine in ENGINES.iter().filter(|engine| !engine.name.ends_with(DISCARD)) {
        for &op in section.ops() {
            let label = label(engine.name, op);
            if rows.iter().any(|row| row.results.iter().any(|result| result.label() == label)) {
                labels.push(label);
            }
        }
    }
    let columns = ["ns per message", "wire B"].map(str::to_owned).into_iter().chain(labels.clone());
    let mut grid = Grid::new(columns);
    for row in rows {
        let cells = |suffix: &str| {
            let cell = |label: &String| {
                let label = format!("{label}{suffix}");
                let found = row.results.iter().find(|result| result.label() == label)?;
                Some(format!("{} {:>3.0}%", nanos(found.nanos.median), found.nanos.spread() * 100.0))
            };
            labels.iter().map(cell).collect::<Vec<_>>()
        };
        let [kept, discarded] = [cells(""), cells(DISCARD)];
        for (cells, name) in [(kept, row.workload.clone()), (discarded, format!("{} (discard)", row.workload))] {
            if cells.iter().any(Option::is_some) {
                let cells = cells.into_iter().map(|cell| cell.unwrap_or("-".to_owned()));
                grid.add([name, format!("{:.0}", row.wire_bytes)].into_iter().chain(cells));
            }
        }
    }
    grid
}

fn nanos(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// How many times as fast protojit is, and what memory it takes.
fn ratios(rows: &[&Row]) -> Grid {
    let with_arena = rows.iter().any(|row| row.arena_bytes.is_some());
    let mut columns =
        vec!["times as fast", "jit/prost", "jit/reflect", "jit/fastest", "", "interp/prost", "jit/interp"];
    if with_arena {
        columns.extend(["arena B", "per wire B"]);
    }
    let mut grid = Grid::new(columns.into_iter().map(str::to_owned));
    let mut means = [Mean::default(), Mean::default(), Mean::default(), Mean::default(), Mean::default()];
    for row in rows {
        for ratios in &row.ratios {
            let Ratios { prost, prost_reflect, fastest, interp_prost, interp, .. } = *ratios;
            let values = [prost, prost_reflect, fastest, interp_prost, interp];
            for (mean, value) in means.iter_mut().zip(values) {
                mean.add(value);
            }
            let discard = if ratios.jit == "jit" { "" } else { " (discard)" };
            let mut cells = vec![format!("{}{discard}", row.workload)];
            cells.extend(values.map(ratio));
            cells.insert(4, ratios.fastest_peer.clone().unwrap_or_default());
            if with_arena {
                cells.push(row.arena_bytes.map_or("-".to_owned(), |bytes| format!("{bytes:.0}")));
                cells.push(row.arena_bytes.map_or("-".to_owned(), |bytes| format!("{:.2}", bytes / row.wire_bytes)));
            }
            grid.add(cells);
        }
    }
    let mut cells = vec!["geometric mean".to_owned()];
    cells.extend(means.map(|mean| ratio(mean.get())));
    cells.insert(4, String::new());
    grid.add(cells);
    grid
}

fn ratio(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

/// A geometric mean.
#[derive(Clone, Copy, Default)]
struct Mean {
    logs: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.logs += value.ln();
            self.count += 1;
        }
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| (self.logs / f64::from(self.count)).exp())
    }
}

/// Lines of cells: the first column to the left, the others to the right.
struct Grid(Vec<Vec<String>>);

impl Grid {
    fn new(columns: impl Iterator<Item = String>) -> Grid {
        Grid(vec![columns.collect()])
    }

    fn add(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.0.iter().map(Vec::len).max().unwrap_or(0);
        let width = |at: usize| self.0.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max();
        let widths: Vec<_> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
        for line in &self.0 {
            let mut text = String::new();
            for (at, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                let _ = if at == 0 { write!(text, "{cell:<width$}") } else { write!(text, "  {cell:>width$}") };
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// The load averages, where the system tells them.
pub fn load() -> Option<[f64; 3]> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let mut words = text.split(' ').map(str::parse::<f64>);
    Some([words.next()?.ok()?, words.next()?.ok()?, words.next()?.ok()?])
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(engine: &'static str, op: Op, median: f64) -> Measured {
        Measured { engine, op, nanos: Timing { median, min: median, max: median } }
    }

    #[test]
    fn the_fastest_peer_is_no_engine_of_ours() {
        let results = [
            measured("prost", Op::Decode, 40.0),
            measured("prost", Op::DecodeReused, 20.0),
            measured("buffa-view", Op::Decode, 30.0),
            measured("interp", Op::Decode, 15.0),
            measured("jit", Op::Decode, 10.0),
        ];
        let ratios = Ratios::of(&results, Section::Decode, false).unwrap();
        assert_eq!(ratios.prost, Some(4.0));
        assert_eq!(ratios.fastest, Some(2.0));
        assert_eq!(ratios.fastest_peer.as_deref(), Some("prost*"));
        assert_eq!(ratios.prost_reflect, None);
        assert_eq!(ratios.interp, Some(1.5));
        assert!(Ratios::of(&results, Section::Decode, true).is_none());
    }

    #[test]
    fn columns_are_aligned() {
        let mut grid = Grid::new(["a", "b"].map(str::to_owned).into_iter());
        grid.add(["long", "12"].map(str::to_owned));
        assert_eq!(grid.to_string(), "a      b\nlong  12\n");
    }
}
