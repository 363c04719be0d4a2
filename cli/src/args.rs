//! The command line.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use protojit::Engine;

const AFTER_HELP: &str = "\
Exit codes: 0 done; 1 the input is bad or cannot be read, or the output cannot be written; \
2 the usage or the schema is bad; 3 an expectation (--expect) is not met.";

/// Decodes, encodes and diagnoses Protobuf payloads with code that is compiled for their schema on the spot.
#[derive(Parser, Debug)]
#[command(name = "protojit", version, after_help = AFTER_HELP, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub runtime: RuntimeArgs,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Decodes wire bytes, to JSON unless told otherwise.
    Decode(DecodeArgs),
    /// Encodes JSON or text format to wire bytes.
    Encode(EncodeArgs),
    /// Shows what is compiled, how large it is, which engine ran, and why not where it did not.
    JitTrace(TraceArgs),
    /// Measures what payloads cost on each engine and with prost-reflect, and after how many messages compiling has paid.
    Bench(BenchArgs),
    /// Shows how a message lies in memory.
    Layout(LayoutArgs),
}

/// What all subcommands know.
#[derive(Args, Debug)]
#[command(next_help_heading = "Runtime options")]
pub struct RuntimeArgs {
    /// The engine: compiled code where possible (auto, jit) or never (interp).
    #[arg(long, global = true, value_name = "ENGINE", default_value = "auto")]
    #[arg(env = "PROTOJIT_ENGINE", hide_env_values = true, value_parser = engine())]
    pub engine: Engine,
    /// Bytes reserved for machine code; suffixes k, m and g [default: 128m].
    #[arg(long, global = true, value_name = "BYTES", value_parser = size)]
    pub arena: Option<usize>,
    /// How deep messages may nest.
    #[arg(long, global = true, value_name = "LEVELS", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_depth: u32,
    /// Memory that one message may take when decoded; suffixes k, m and g.
    #[arg(long, global = true, value_name = "BYTES", default_value = "2g", value_parser = size)]
    pub max_memory: usize,
    /// Drop fields that the schema does not know, instead of keeping their bytes.
    #[arg(long, global = true)]
    pub discard_unknown: bool,
    /// Only these fields, such as name,address.zip; the rest is skipped. May be given several times.
    #[arg(long, global = true, value_name = "PATH", value_delimiter = ',')]
    pub project: Vec<String>,
}

/// Where the schema comes from.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// A .proto file, or a serialized FileDescriptorSet; may be given several times.
    ///
    /// Which of the two it is shows in the content: UTF-8 text is a .proto file, anything else a descriptor set. Files
    /// that use editions are compiled by protoc, the one that PROTOC names or the one on the PATH.
    #[arg(short, long, required = true, value_name = "SCHEMA")]
    pub schema: Vec<PathBuf>,
    /// Where imports are looked for; may be given several times.
    ///
    /// Without it, in the directory of the .proto file, else in those above it.
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub include: Vec<PathBuf>,
}

/// `protojit decode`.
#[derive(Args, Debug)]
pub struct DecodeArgs {
    #[command(flatten)]
    pub schema: SchemaArgs,
    /// The message, such as hello.Person; may be left out where the schema has only one.
    #[arg(short, long, value_name = "TYPE")]
    pub message: Option<String>,
    /// How the input is written.
    #[arg(long, value_enum, default_value_t = WireText::Binary, value_name = "FORMAT")]
    pub from: WireText,
    /// How the message is written.
    #[arg(long, value_enum, default_value_t = DecodeTo::Json, value_name = "FORMAT")]
    pub to: DecodeTo,
    #[command(flatten)]
    pub stream: StreamArgs,
    /// The input, - for stdin.
    #[arg(default_value = "-", value_name = "INPUT")]
    pub input: PathBuf,
}

/// `protojit encode`.
#[derive(Args, Debug)]
pub struct EncodeArgs {
    #[command(flatten)]
    pub schema: SchemaArgs,
    /// The message, such as hello.Person; may be left out where the schema has only one.
    #[arg(short, long, value_name = "TYPE")]
    pub message: Option<String>,
    /// How the input is written.
    #[arg(long, value_enum, default_value_t = EncodeFrom::Json, value_name = "FORMAT")]
    pub from: EncodeFrom,
    /// How the bytes are written.
    #[arg(long, value_enum, default_value_t = WireText::Binary, value_name = "FORMAT")]
    pub to: WireText,
    /// Skip fields and enum names that the schema does not know, instead of refusing them.
    #[arg(long)]
    pub ignore_unknown: bool,
    #[command(flatten)]
    pub stream: StreamArgs,
    /// The input, - for stdin.
    #[arg(default_value = "-", value_name = "INPUT")]
    pub input: PathBuf,
}

/// Many messages in one stream.
#[derive(Args, Debug)]
pub struct StreamArgs {
    /// Many messages: on the wire each behind its length as a varint, as JSON or text each on a line.
    #[arg(long)]
    pub delimited: bool,
    /// What to do with a message of the stream that is bad.
    #[arg(long, value_enum, default_value_t = OnError::Stop, value_name = "WHAT", requires = "delimited")]
    pub on_error: OnError,
}

/// `protojit jit-trace`.
#[derive(Args, Debug)]
pub struct TraceArgs {
    #[command(flatten)]
    pub schema: SchemaArgs,
    /// A message to compile; may be given several times. Without it, all top-level messages of the schema.
    #[arg(short, long, value_name = "TYPE")]
    pub message: Vec<String>,
    /// A payload of the message (the first one, if there are several); may be given several times. It goes through
    /// both engines, which are compared, and once through code that counts where it leaves its fast path.
    #[arg(long, value_name = "FILE")]
    pub input: Vec<PathBuf>,
    /// How the payloads are written.
    #[arg(long, value_enum, default_value_t = WireText::Binary, value_name = "FORMAT")]
    pub from: WireText,
    /// The payloads are streams of messages, each behind its length as a varint.
    #[arg(long)]
    pub delimited: bool,
    /// How often each payload goes through each engine.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: u64,
    /// Exit with 3 unless all was done by compiled code.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub expect: Option<Expect>,
    /// How the trace is written.
    #[arg(long, value_enum, default_value_t = ReportFormat::Table, value_name = "FORMAT")]
    pub format: ReportFormat,
    /// Show the intermediate code (Cranelift IR) of the messages named, each block with the field that it belongs to.
    #[arg(long)]
    pub clif: bool,
    /// Show the machine code of the messages named as assembly, each block under the field that it belongs to.
    #[arg(long)]
    pub asm: bool,
}

/// `protojit bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    #[command(flatten)]
    pub schema: SchemaArgs,
    /// The message, such as hello.Person; may be left out where the schema has only one.
    #[arg(short, long, value_name = "TYPE")]
    pub message: Option<String>,
    /// How the payloads are written.
    #[arg(long, value_enum, default_value_t = WireText::Binary, value_name = "FORMAT")]
    pub from: WireText,
    /// The payloads are streams of messages, each behind its length as a varint.
    #[arg(long)]
    pub delimited: bool,
    /// How often each message goes through each engine, both ways.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: u64,
    /// How the result is written.
    #[arg(long, value_enum, default_value_t = ReportFormat::Table, value_name = "FORMAT")]
    pub format: ReportFormat,
    /// The payloads, - for stdin.
    #[arg(required = true, value_name = "INPUT")]
    pub input: Vec<PathBuf>,
}

/// `protojit layout`.
#[derive(Args, Debug)]
pub struct LayoutArgs {
    #[command(flatten)]
    pub schema: SchemaArgs,
    /// The message, such as hello.Person; may be left out where the schema has only one.
    #[arg(short, long, value_name = "TYPE")]
    pub message: Option<String>,
    /// How the layout is written.
    #[arg(long, value_enum, default_value_t = ReportFormat::Table, value_name = "FORMAT")]
    pub format: ReportFormat,
}

/// Wire bytes, plain or in digits.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireText {
    /// As they are.
    Binary,
    /// Hexadecimal digits; white space does not matter.
    Hex,
    /// Base64, either alphabet, with or without padding; white space does not matter.
    Base64,
}

/// What `decode` writes.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeTo {
    /// JSON, as the Protobuf specification maps it.
    Json,
    /// Text format, unknown fields by number.
    Text,
    /// Encoded again, as wire bytes.
    Binary,
    /// Encoded again, in hexadecimal digits.
    Hex,
}

/// What `encode` reads.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum EncodeFrom {
    /// JSON, as the Protobuf specification maps it.
    Json,
    /// Text format.
    Text,
}

/// What happens after a bad message of a stream.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnError {
    /// It is reported and left out.
    Skip,
    /// It is reported and the last one.
    Stop,
}

/// What `jit-trace --expect` may ask for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// All programs are compiled and served all calls.
    Compiled,
}

/// How reports are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Accepts an engine's name. An environment variable that is there but empty counts as `auto`.
fn engine() -> impl TypedValueParser<Value = Engine> {
    use clap::builder::PossibleValue;
    let names = [Engine::Auto, Engine::Jit, Engine::Interp].map(|engine| PossibleValue::new(engine.name()));
    let names = names.into_iter().chain([PossibleValue::new("").hide(true)]);
    PossibleValuesParser::new(names).map(|name| name.parse().unwrap_or_default())
}

/// Accepts `4096`, `64k`, `16m`, `2g`.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err("expected a number of bytes, with k, m or g behind it if need be".to_owned()),
    };
    let number: usize = digits.replace('_', "").parse().map_err(|_| "expected a number of bytes".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "that is more than there are addresses".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64k"), Ok(65536));
        assert_eq!(size("2GiB"), Ok(2 << 30));
        assert_eq!(size("1_000"), Ok(1000));
        for bad in ["", "k", "-1", "1t", "1.5m", "99999999999999999999", "99999999999g"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
