//! Measures all engines in one run and prints a table.
//!
//! ```text
//! cargo run --release -p protojit-benches --bin table -- --filter person --json person.json
//! ```

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use protojit_benches::measure::{Effort, measure};
use protojit_benches::peers::{Codec, ENGINES, Engine, Skip, check};
use protojit_benches::report::{Measured, Ratios, Report, Row, Section};
use protojit_benches::workloads::{Workload, matching};

/// Measures all engines, interleaved in one run, and prints medians and ratios. For a quiet machine.
#[derive(Parser)]
struct Args {
    /// Only workloads whose name contains this; may be given several times.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Only these engines; prost runs always. May be given several times.
    #[arg(long, value_name = "NAME")]
    engine: Vec<String>,
    /// Samples of each engine.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// The least duration of a sample, in milliseconds.
    #[arg(long, default_value_t = 8, value_name = "MS", value_parser = clap::value_parser!(u16).range(1..))]
    sample: u16,
    /// Writes the results here, too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measures decoding. Without any of these three all are measured.
    #[arg(long)]
    decode: bool,
    /// Measures decoding and reading every field.
    #[arg(long)]
    read: bool,
    /// Measures encoding.
    #[arg(long)]
    encode: bool,
}

impl Args {
    fn sections(&self) -> Vec<Section> {
        let all = !(self.decode || self.read || self.encode);
        let wanted = [(Section::Decode, self.decode), (Section::Read, self.read), (Section::Encode, self.encode)];
        wanted.into_iter().filter(|&(_, wanted)| wanted || all).map(|(section, _)| section).collect()
    }

    fn engines(&self) -> Result<Vec<&'static Engine>, String> {
        if let Some(unknown) = self.engine.iter().find(|&name| protojit_benches::peers::engine(name).is_none()) {
            return Err(format!("no engine {unknown:?}"));
        }
        let wanted = |engine: &&Engine| {
            self.engine.is_empty() || engine.name == "prost" || self.engine.iter().any(|name| name == engine.name)
        };
        Ok(ENGINES.iter().filter(wanted).collect())
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("table: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let effort = Effort { rounds: args.rounds.into(), sample: Duration::from_millis(args.sample.into()) };
    let sections = args.sections();
    let engines = args.engines()?;
    let workloads = matching(&args.filter);
    if workloads.is_empty() {
        return Err("no workload has such a name".to_owned());
    }
    // Before anything else: a file that cannot be written is no surprise for the end of a long run.
    let json = match &args.json {
        Some(path) => Some(File::create(path).map_err(|error| format!("{}: {error}", path.display()))?),
        None => None,
    };
    let mut report = Report::new(effort);
    print!("{}", report.header());
    for (at, workload) in workloads.iter().enumerate() {
        eprintln!("{}/{} {}", at + 1, workloads.len(), workload.name);
        report.rows.extend(rows(workload, &engines, &sections, effort)?);
    }
    for section in sections {
        print!("{}", report.section(section));
    }
    print!("{}", skipped(&report));
    if let Some(file) = json {
        serde_json::to_writer_pretty(file, &report).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Measures one workload.
fn rows(workload: &Workload, engines: &[&Engine], sections: &[Section], effort: Effort) -> Result<Vec<Row>, String> {
    let encode = sections.contains(&Section::Encode);
    let mut names = Vec::new();
    let mut codecs: Vec<Box<dyn Codec>> = Vec::new();
    let mut skipped = Vec::new();
    let mut arena_bytes = None;
    for engine in engines {
        let mut codec = match (engine.make)(workload) {
            Ok(codec) => codec,
            Err(Skip::Same) => continue,
            Err(Skip::Cannot(reason)) => {
                skipped.push((engine.name, reason));
                continue;
            }
        };
        if encode {
            codec.prepare_encode();
        }
        check(workload, &mut *codec, encode).map_err(|error| format!("{}, {}: {error}", workload.name, engine.name))?;
        if engine.name == "jit" || arena_bytes.is_none() {
            arena_bytes = codec.arena_bytes().or(arena_bytes);
        }
        names.push(engine.name);
        codecs.push(codec);
    }
    let mut rows = Vec::new();
    for &section in sections {
        let cells: Vec<_> = (0..codecs.len())
            .flat_map(|at| section.ops().iter().map(move |&op| (at, op)))
            .filter(|&(at, op)| codecs[at].can(op))
            .collect();
        let timings = measure(&mut codecs, &cells, workload.payloads().len(), effort);
        let results: Vec<_> =
            cells.iter().zip(timings).map(|(&(at, op), nanos)| Measured { engine: names[at], op, nanos }).collect();
        rows.push(Row {
            workload: workload.name.clone(),
            message: workload.message,
            payloads: workload.payloads().len(),
            wire_bytes: workload.wire_bytes(),
            arena_bytes: arena_bytes.filter(|_| section == Section::Decode),
            section,
            ratios: [false, true].into_iter().filter_map(|discard| Ratios::of(&results, section, discard)).collect(),
            results,
            skipped: skipped.clone(),
        });
    }
    Ok(rows)
}

/// Who did not run what, and why.
fn skipped(report: &Report) -> String {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for row in &report.rows {
        for (engine, reason) in &row.skipped {
            let line = format!("{engine}: {reason}");
            let at = lines.iter().position(|(known, _)| *known == line).unwrap_or_else(|| {
                lines.push((line, Vec::new()));
                lines.len() - 1
            });
            if !lines[at].1.contains(&row.workload.as_str()) {
                lines[at].1.push(&row.workload);
            }
        }
    }
    let mut out = String::new();
    for (line, workloads) in lines {
        out.push_str(&format!("\nnot measured, {line} ({})", workloads.join(", ")));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}
