//! `protojit encode`: JSON or text format to wire bytes.

use protojit::json::{self, JsonReadOptions};
use protojit::text::{self, TextReadOptions};
use protojit::{Arena, MessageType};

use crate::args::{EncodeArgs, EncodeFrom, RuntimeArgs};
use crate::failure::{Failure, Outcome};
use crate::input::{Input, MOST_BYTES};
use crate::lines::Lines;
use crate::output::Output;
use crate::stream::Progress;
use crate::wire::WireWriter;

/// Encodes the input.
pub fn run(args: &EncodeArgs, runtime: &RuntimeArgs) -> Outcome {
    let message_type = runtime.load(&args.schema, args.message.as_deref())?;
    let input = Input::open(&args.input)?;
    let encoder = Encoder {
        message_type,
        format: match args.from {
            EncodeFrom::Json => Format::Json(JsonReadOptions {
                ignore_unknown: args.ignore_unknown,
                max_depth: runtime.max_depth,
                ..JsonReadOptions::default()
            }),
            EncodeFrom::Text => Format::Text(TextReadOptions {
                ignore_unknown: args.ignore_unknown,
                field_numbers: true,
                max_depth: runtime.max_depth,
                ..TextReadOptions::default()
            }),
        },
        wire: WireWriter::new(args.to, args.stream.delimited),
        bytes: Vec::new(),
    };
    if args.stream.delimited { many(args, runtime, input, encoder) } else { one(runtime, input, encoder) }
}

fn one(runtime: &RuntimeArgs, input: Input, mut encoder: Encoder) -> Outcome {
    let name = input.name.clone();
    let text = input.read_all()?;
    let arena = Arena::with_limit(runtime.max_memory);
    let bytes = encoder.encode(&text, &arena).map_err(|error| Failure::input(&name, error))?;
    let mut out = Output::stdout();
    out.write(bytes)?;
    out.flush()
}

fn many(args: &EncodeArgs, runtime: &RuntimeArgs, input: Input, mut encoder: Encoder) -> Outcome {
    let mut progress = Progress::new(&input.name, input.length, args.stream.on_error);
    // An empty line is no JSON; in the text format it is an empty message.
    let mut lines = Lines::new(input.reader, runtime.max_memory.min(MOST_BYTES), args.from == EncodeFrom::Json);
    let mut arena = Arena::with_limit(runtime.max_memory);
    let mut out = Output::stdout();
    loop {
        if !lines.is_ready() {
            // Reading may take a while: what is done goes out.
            out.flush()?;
        }
        let (offset, line) = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => {
                out.flush()?;
                return Err(Failure::input(&input.name, error));
            }
        };
        progress.next(offset);
        match encoder.encode(line, &arena) {
            Ok(bytes) => out.write(bytes)?,
            Err(what) => {
                out.flush()?;
                progress.bad(offset, what)?;
            }
        }
        arena.reset();
    }
    out.flush()?;
    progress.finish();
    Ok(())
}

/// Reads messages in the format given, and writes them in the one asked for.
struct Encoder {
    message_type: MessageType,
    format: Format,
    wire: WireWriter,
    bytes: Vec<u8>,
}

enum Format {
    Json(JsonReadOptions),
    Text(TextReadOptions),
}

impl Encoder {
    fn encode(&mut self, input: &[u8], arena: &Arena) -> Result<&[u8], String> {
        let message_type = &self.message_type;
        let mut message = message_type.new_in(arena).map_err(|error| error.to_string())?;
        match &self.format {
            Format::Json(options) => json::read(input, &mut message, options, message_type.schema()),
            Format::Text(options) => text::read(input, &mut message, options, message_type.schema()),
        }
        .map_err(|error| error.to_string())?;
        self.bytes.clear();
        let written = self.wire.write(message_type, message.as_ref(), &mut self.bytes);
        written.map_err(|error| error.to_string())?;
        Ok(&self.bytes)
    }
}
