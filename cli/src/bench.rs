//! `protojit bench`: what a message costs on each engine and with prost-reflect, and when compiling has paid for itself.

use std::hint::black_box;

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use protojit::descriptors::MessageDescriptor;
use protojit::descriptors::model::Edition;
use protojit::{Direction, Engine, MessageType, Runtime};
use serde::Serialize;

use crate::args::{BenchArgs, ReportFormat, RuntimeArgs};
use crate::clock::Clock;
use crate::failure::{Failure, Outcome};
use crate::input::Input;
use crate::output::Output;
use crate::schema;
use crate::table::{self, Column};
use crate::trace::measure::{self, Times};

#[derive(Serialize)]
struct Report {
    message: String,
    /// Why nothing is compiled; `jit` is then what the interpreter takes.
    fallback: Option<&'static str>,
    /// Time to compile the message and what it refers to, both ways.
    compile: Times,
    inputs: Vec<Measured>,
}

/// Nanoseconds for a message of one input.
#[derive(Serialize)]
struct Measured {
    file: String,
    messages: usize,
    bytes: usize,
    jit: Times,
    interp: Times,
    /// `None` where prost-reflect cannot be used: it knows no editions.
    prost_reflect: Option<Times>,
    /// Messages after which compiling has paid, against the interpreter; `None` where it never does.
    break_even_decode: Option<u64>,
    break_even_encode: Option<u64>,
}

/// Measures and reports.
pub fn run(args: &BenchArgs, runtime_args: &RuntimeArgs) -> Outcome {
    let loaded = schema::load(&args.schema)?;
    let message = loaded.message(args.message.as_deref())?;
    let ty = |runtime: &Runtime| {
        runtime_args.message_type(&runtime.register_descriptors(loaded.descriptors.clone()), &message)
    };
    let runtime = runtime_args.runtime(runtime_args.engine);
    let (jit, interp) = (ty(&runtime)?, ty(&runtime_args.runtime(Engine::Interp))?);
    let fallback = jit.compile().err().map(|fallback| fallback.reason);
    let compile = compile_times(&runtime);
    let reflected = reflected(&message);
    let mut inputs = Vec::new();
    for path in &args.input {
        let input = Input::open(path)?.decoded(args.from);
        let name = input.name.clone();
        let bytes = input.read_all()?;
        let messages = match args.delimited {
            true => measure::split(&bytes).map_err(|what| Failure::input(&name, what))?,
            false => vec![&bytes[..]],
        };
        let times = |ty: &MessageType| -> Outcome<Times> {
            let ran = measure::run(ty, &messages, args.iterations, runtime_args.max_memory);
            match ran.first_error() {
                None => Ok(ran.times),
                Some((at, error)) => Err(Failure::input(&name, format_args!("message {}: {error}", at + 1))),
            }
        };
        let (jit, interp) = (times(&jit)?, times(&interp)?);
        let compiled = fallback.is_none();
        let paid = |compile: f64, jit: f64, interp: f64| break_even(compile, interp - jit).filter(|_| compiled);
        inputs.push(Measured {
            file: name.to_string(),
            messages: messages.len(),
            bytes: messages.iter().map(|message| message.len()).sum(),
            jit,
            interp,
            prost_reflect: reflected.as_ref().and_then(|message| by_reflection(message, &messages, args.iterations)),
            break_even_decode: paid(compile.decode_nanos, jit.decode_nanos, interp.decode_nanos),
            break_even_encode: paid(compile.encode_nanos, jit.encode_nanos, interp.encode_nanos),
        });
    }
    let report = Report { message: message.full_name().to_owned(), fallback, compile, inputs };
    let mut out = Output::stdout();
    match args.format {
        ReportFormat::Table => out.write(report.table().as_bytes())?,
        ReportFormat::Json => {
            let text = serde_json::to_string_pretty(&report).map_err(|error| Failure::Input(error.to_string()))?;
            out.write((text + "\n").as_bytes())?;
        }
    }
    out.flush()
}

/// After how many messages a gain on each makes up for what was spent once.
fn break_even(spent: f64, gain: f64) -> Option<u64> {
    (gain > 0.0).then(|| (spent / gain).ceil() as u64)
}

/// What the runtime has spent on compiling.
fn compile_times(runtime: &Runtime) -> Times {
    let trace = runtime.trace();
    let sum = |direction| {
        let rows = trace.compiled().filter(|row| row.direction == direction);
        rows.map(|row| row.compile_micros as f64 * 1e3).sum()
    };
    Times { decode_nanos: sum(Direction::Decode), encode_nanos: sum(Direction::Encode) }
}

/// The message as prost-reflect knows it, `None` where it does not.
fn reflected(message: &MessageDescriptor) -> Option<prost_reflect::MessageDescriptor> {
    let schema = message.schema();
    if schema.files().any(|file| !matches!(file.edition(), Edition::Proto2 | Edition::Proto3)) {
        return None;
    }
    DescriptorPool::decode(schema.descriptor_set()).ok()?.get_message_by_name(message.full_name())
}

/// What prost-reflect takes; `None` where it refuses a message.
fn by_reflection(descriptor: &prost_reflect::MessageDescriptor, messages: &[&[u8]], iterations: u64) -> Option<Times> {
    let (mut decode, mut encode) = (Clock::new(iterations), Clock::new(iterations));
    let mut buffer = Vec::new();
    for bytes in messages {
        let parse = || DynamicMessage::decode(descriptor.clone(), black_box(*bytes));
        decode.all_but_last(|| {
            let _ = black_box(parse());
        });
        let message = decode.last(parse).ok()?;
        let mut write = || {
            buffer.clear();
            black_box(&message).encode(&mut buffer)
        };
        encode.all_but_last(|| {
            let _ = black_box(write());
        });
        encode.last(write).ok()?;
    }
    Some(Times { decode_nanos: decode.mean(), encode_nanos: encode.mean() })
}

impl Report {
    fn table(&self) -> String {
        const COLUMNS: [Column; 9] = [
            Column::long("input", '/'),
            Column::number("messages").expendable(3),
            Column::number("bytes").expendable(2),
            Column::word("way"),
            Column::number("jit"),
            Column::number("interp"),
            Column::number("prost-reflect"),
            Column::number("compile").expendable(1),
            Column::number("paid after"),
        ];
        let mut rows = Vec::new();
        for input in &self.inputs {
            let mut row = |way: &str, of: fn(&Times) -> f64, paid: Option<u64>| {
                let jit = of(&input.jit);
                let other = |nanos: f64| format!("{} ({}x)", table::nanos(nanos), table::rounded(nanos / jit));
                let paid = match paid {
                    Some(messages) => messages.to_string(),
                    None => "never".to_owned(),
                };
                rows.push(vec![
                    input.file.clone(),
                    input.messages.to_string(),
                    input.bytes.to_string(),
                    way.to_owned(),
                    table::nanos(jit),
                    other(of(&input.interp)),
                    input.prost_reflect.as_ref().map(|times| other(of(times))).unwrap_or_default(),
                    table::nanos(of(&self.compile)),
                    paid,
                ]);
            };
            row("decode", |times| times.decode_nanos, input.break_even_decode);
            row("encode", |times| times.encode_nanos, input.break_even_encode);
        }
        let mut out = format!("{}: time for a message", self.message);
        if let Some(reason) = self.fallback {
            out.push_str(&format!("; not compiled: {reason}, see jit-trace"));
        }
        out.push('\n');
        out.push_str(&table::table(&COLUMNS, &rows));
        if cfg!(debug_assertions) {
            out.push_str("this is a debug build: only figures of a release build mean something\n");
        }
        out.push_str("paid after: so many messages, and compiling has cost less than it gains on the interpreter\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::break_even;

    #[test]
    fn when_it_pays() {
        assert_eq!(break_even(1000.0, 10.0), Some(100));
        assert_eq!(break_even(1001.0, 10.0), Some(101));
        assert_eq!(break_even(1000.0, 0.0), None);
        assert_eq!(break_even(1000.0, -3.0), None);
    }
}
