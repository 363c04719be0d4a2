//! `protojit decode`: wire bytes to something people or programs can read.

use protojit::json::{self, JsonWriteOptions};
use protojit::stream::Frames;
use protojit::text::{self, TextWriteOptions};
use protojit::{Arena, MessageRef, MessageType};

use crate::args::{DecodeArgs, DecodeTo, RuntimeArgs, WireText};
use crate::failure::{Failure, Outcome};
use crate::input::{Input, MOST_BYTES};
use crate::output::Output;
use crate::stream::Progress;
use crate::wire::WireWriter;

/// Decodes the input.
pub fn run(args: &DecodeArgs, runtime: &RuntimeArgs) -> Outcome {
    let message_type = runtime.load(&args.schema, args.message.as_deref())?;
    let input = Input::open(&args.input)?.decoded(args.from);
    let writer = Writer::new(&message_type, args, runtime);
    if args.stream.delimited { many(args, runtime, input, writer) } else { one(runtime, input, writer) }
}

fn one(runtime: &RuntimeArgs, input: Input, mut writer: Writer<'_>) -> Outcome {
    let name = input.name.clone();
    let bytes = input.read_all()?;
    let arena = Arena::with_limit(runtime.max_memory);
    let message = writer.message_type.decode(&bytes, &arena).map_err(|error| Failure::input(&name, error))?;
    let mut out = Output::stdout();
    out.write(writer.render(message).map_err(|error| Failure::input(&name, error))?)?;
    out.flush()
}

fn many(args: &DecodeArgs, runtime: &RuntimeArgs, input: Input, mut writer: Writer<'_>) -> Outcome {
    let mut progress = Progress::new(&input.name, input.length, args.stream.on_error);
    let mut frames = Frames::new(input.reader, runtime.max_memory.min(MOST_BYTES));
    let mut arena = Arena::with_limit(runtime.max_memory);
    let mut out = Output::stdout();
    loop {
        if !frames.is_ready() {
            // Reading may take a while: what is done goes out.
            out.flush()?;
        }
        let frame = match frames.next() {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(error) => {
                out.flush()?;
                return Err(Failure::input(&input.name, error));
            }
        };
        let offset = frame.offset;
        progress.next(offset);
        let rendered = match frame.message {
            Ok(bytes) => match writer.message_type.decode(bytes, &arena) {
                Ok(message) => writer.render(message),
                Err(error) => Err(error.to_string()),
            },
            Err(length) if length > MOST_BYTES as u64 => Err(format!("no message can have {length} bytes")),
            Err(length) => Err(format!("its {length} bytes are more than --max-memory allows")),
        };
        match rendered {
            Ok(text) => out.write(text)?,
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

/// Writes messages in the format asked for.
struct Writer<'t> {
    message_type: &'t MessageType,
    format: Format,
    text: Vec<u8>,
}

enum Format {
    Json(JsonWriteOptions),
    Text(TextWriteOptions),
    Wire(WireWriter),
}

impl<'t> Writer<'t> {
    fn new(message_type: &'t MessageType, args: &DecodeArgs, runtime: &RuntimeArgs) -> Writer<'t> {
        let delimited = args.stream.delimited;
        let format = match args.to {
            DecodeTo::Json => Format::Json(JsonWriteOptions {
                pretty: !delimited,
                max_depth: runtime.max_depth,
                ..JsonWriteOptions::default()
            }),
            DecodeTo::Text => Format::Text(TextWriteOptions {
                single_line: delimited,
                unknown_fields: true,
                max_depth: runtime.max_depth,
                ..TextWriteOptions::default()
            }),
            DecodeTo::Binary => Format::Wire(WireWriter::new(WireText::Binary, delimited)),
            DecodeTo::Hex => Format::Wire(WireWriter::new(WireText::Hex, delimited)),
        };
        Writer { message_type, format, text: Vec::new() }
    }

    /// The message as it goes out, with what separates it from the next.
    fn render(&mut self, message: MessageRef<'_>) -> Result<&[u8], String> {
        let text = &mut self.text;
        text.clear();
        match &mut self.format {
            Format::Json(options) => {
                json::write(message, options, self.message_type.schema(), text).map_err(|error| error.to_string())?;
                text.push(b'\n');
            }
            Format::Text(options) => {
                text::write(message, options, self.message_type.schema(), text).map_err(|error| error.to_string())?;
                if options.single_line {
                    text.push(b'\n');
                }
            }
            Format::Wire(wire) => {
                wire.write(self.message_type, message, text).map_err(|error| error.to_string())?;
            }
        }
        Ok(text)
    }
}
