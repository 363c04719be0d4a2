//! `protojit jit-trace`: what is compiled, how large it is, which engine ran, and why not where it did not.

mod advice;
pub mod measure;
mod report;

use protojit::descriptors::MessageDescriptor;
use protojit::{CodeForm, Direction, Engine, EngineUsed, MessageType, ProgramTrace, Runtime, Trace};

use crate::args::{Expect, ReportFormat, RuntimeArgs, TraceArgs};
use crate::failure::{Failure, Outcome, say};
use crate::output::Output;
use crate::schema;
use measure::Measured;
use report::Report;

/// Compiles, runs, compares and reports.
pub fn run(args: &TraceArgs, runtime_args: &RuntimeArgs) -> Outcome {
    let loaded = schema::load(&args.schema)?;
    let messages = messages(args, &loaded)?;
    let runtime = runtime_args.runtime(runtime_args.engine);
    let schema = runtime.register_descriptors(loaded.descriptors.clone());
    let types = messages.iter().map(|message| runtime_args.message_type(&schema, message));
    let types = types.collect::<Outcome<Vec<MessageType>>>()?;
    for message_type in &types {
        // Compiles; what became of it is in the trace.
        let _ = (message_type.is_compiled(), message_type.is_encode_compiled());
    }
    let of = |runtime: &Runtime| {
        runtime_args.message_type(&runtime.register_descriptors(loaded.descriptors.clone()), &messages[0])
    };
    let watching = runtime_args.builder(runtime_args.engine).instrument(true).build();
    let watch = runtime_args.engine != Engine::Interp && !args.input.is_empty();
    let on_engines = measure::Types {
        chosen: types[0].clone(),
        interpreted: of(&runtime_args.runtime(Engine::Interp))?,
        watched: watch.then(|| of(&watching)).transpose()?,
    };
    let (mut inputs, mut bad) = (Vec::new(), None);
    for path in &args.input {
        match measure::measure(path, args, runtime_args, &on_engines) {
            Ok(measured) => inputs.push(measured),
            Err(failure) => {
                // The others are worth seeing, and so is the trace.
                if let Some(Failure::Input(other)) = bad.replace(failure) {
                    say("error", other);
                }
            }
        }
    }
    let trace = runtime.trace();
    let slow_exits = watching.trace();
    let texts = |wanted: bool, form: CodeForm| match wanted {
        true => types.iter().flat_map(|found| report::code(found, form)).collect(),
        false => Vec::new(),
    };
    let code = report::Code { clif: texts(args.clif, CodeForm::Clif), asm: texts(args.asm, CodeForm::Asm) };
    let mut out = Output::stdout();
    let report = Report::new(&trace, &inputs, &slow_exits, code);
    match args.format {
        ReportFormat::Table => out.write(report.table().as_bytes())?,
        ReportFormat::Json => out.write(report.json()?.as_bytes())?,
    }
    out.flush()?;
    match bad {
        Some(failure) => Err(failure),
        None => verdict(args.expect, &trace, &inputs),
    }
}

/// What to compile: the messages named, or all at the top level. Inputs need one that they are payloads of.
fn messages(args: &TraceArgs, loaded: &schema::Loaded) -> Outcome<Vec<MessageDescriptor>> {
    if !args.message.is_empty() {
        return args.message.iter().map(|name| loaded.message(Some(name))).collect();
    }
    let top_level = loaded.top_level();
    if top_level.is_empty() || !args.input.is_empty() {
        return Ok(vec![loaded.message(None)?]);
    }
    Ok(top_level)
}

/// Whether all is as it should be.
fn verdict(expect: Option<Expect>, trace: &Trace, inputs: &[Measured]) -> Outcome {
    if let Some(input) = inputs.iter().find(|input| input.disagreement.is_some()) {
        let what = input.disagreement.as_deref().unwrap_or_default();
        return Err(Failure::Expectation(format!("{}: the engines disagree: {what}; please report it", input.file)));
    }
    match expect {
        None => Ok(()),
        Some(Expect::Compiled) => compiled(trace),
    }
}

/// Whether all was done by compiled code.
fn compiled(trace: &Trace) -> Outcome {
    let unmet = |what: String| Err(Failure::Expectation(format!("expected compiled code, but {what}")));
    let interpreted: Vec<_> = trace.programs.iter().filter(|program| program.engine != EngineUsed::Jit).collect();
    if let Some(first) = interpreted.first() {
        let others = match interpreted.len() - 1 {
            0 => String::new(),
            1 => " and 1 other program".to_owned(),
            more => format!(" and {more} other programs"),
        };
        let reason = first.reason.unwrap_or("unknown");
        let detail = first.detail.as_deref().unwrap_or("no reason was given");
        return unmet(format!("{}{others} ran interpreted: {reason}: {detail}", name(first)));
    }
    if let Some(program) = trace.programs.iter().find(|program| program.interpreted_calls > 0) {
        return unmet(format!("{} calls of {} were interpreted", program.interpreted_calls, name(program)));
    }
    if let Some(program) = trace.programs.iter().find(|program| program.disagreements > 0) {
        let count = program.disagreements;
        let what = format!("the engines disagreed about {count} inputs of {}; please report it", name(program));
        return Err(Failure::Expectation(what));
    }
    Ok(())
}

/// Such as `hello.Person (decode)`.
fn name(program: &ProgramTrace) -> String {
    format!("{} ({})", program.message, way(program.direction))
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Decode => "decode",
        Direction::Encode => "encode",
    }
}
