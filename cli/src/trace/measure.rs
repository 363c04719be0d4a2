//! Runs payloads through both engines, compares what comes out, and takes the time.

use std::hint::black_box;
use std::path::Path;

use protojit::stream::Frames;
use protojit::{Arena, EncodeBuffer, Engine, MessageType};
use serde::Serialize;

use crate::args::{RuntimeArgs, TraceArgs};
use crate::clock::Clock;
use crate::failure::{Failure, Outcome};
use crate::input::Input;

/// A payload that went through the engines.
#[derive(Serialize)]
pub struct Measured {
    pub file: String,
    pub messages: usize,
    pub bytes: usize,
    pub iterations: u64,
    /// The engine chosen.
    pub chosen: Times,
    /// The interpreter, where that is not what was chosen.
    pub interpreted: Option<Times>,
    /// What the engines disagree about: a fault of the library.
    pub disagreement: Option<String>,
}

/// Nanoseconds for a message.
#[derive(Clone, Copy, Serialize)]
pub struct Times {
    pub decode_nanos: f64,
    pub encode_nanos: f64,
}

/// What one engine made of the messages.
pub struct Ran {
    pub times: Times,
    /// For each message the bytes it encodes to again, or the error.
    results: Vec<Result<Made, String>>,
}

#[derive(PartialEq)]
struct Made {
    value: String,
    wire: Result<Vec<u8>, String>,
}

/// The message on each engine.
pub struct Types {
    pub chosen: MessageType,
    pub interpreted: MessageType,
    /// Compiled with counters of slow exits.
    pub watched: Option<MessageType>,
}

/// Measures one file. Fails where it cannot be read or is no payload.
pub fn measure(path: &Path, args: &TraceArgs, runtime: &RuntimeArgs, types: &Types) -> Outcome<Measured> {
    let Types { chosen, interpreted, watched } = types;
    let input = Input::open(path)?.decoded(args.from);
    let name = input.name.clone();
    let bytes = input.read_all()?;
    let messages =
        if args.delimited { split(&bytes).map_err(|what| Failure::input(&name, what))? } else { vec![&bytes[..]] };
    let first = run(chosen, &messages, args.iterations, runtime.max_memory);
    let second =
        (runtime.engine != Engine::Interp).then(|| run(interpreted, &messages, args.iterations, runtime.max_memory));
    if let Some(watched) = watched {
        run(watched, &messages, 1, runtime.max_memory);
    }
    let disagreement = second.as_ref().and_then(|second| compare(&first, second));
    if disagreement.is_none()
        && let Some((at, error)) = first.first_error()
    {
        let which = if args.delimited { format!("message {}: ", at + 1) } else { String::new() };
        return Err(Failure::input(&name, format_args!("{which}{error}")));
    }
    Ok(Measured {
        file: name.to_string(),
        messages: messages.len(),
        bytes: messages.iter().map(|message| message.len()).sum(),
        iterations: args.iterations,
        chosen: first.times,
        interpreted: second.map(|second| second.times),
        disagreement,
    })
}

/// The messages of a stream.
pub fn split(bytes: &[u8]) -> Result<Vec<&[u8]>, String> {
    let (mut frames, mut messages) = (Frames::new(bytes, usize::MAX), Vec::new());
    loop {
        match frames.next() {
            Ok(None) => return Ok(messages),
            Ok(Some(frame)) => {
                let length = frame.message.map_or(0, <[u8]>::len);
                messages.push(&bytes[frame.offset as usize..][..length]);
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Decodes and encodes each message so many times. The first call is not timed unless it is the only one: it may
/// compile, and it finds the caches cold.
pub fn run(message_type: &MessageType, messages: &[&[u8]], iterations: u64, memory: usize) -> Ran {
    let mut arena = Arena::with_limit(memory);
    let mut buffer = EncodeBuffer::new();
    let (mut decode, mut encode) = (Clock::new(iterations), Clock::new(iterations));
    let mut results = Vec::new();
    for bytes in messages {
        decode.all_but_last(|| {
            arena.reset();
            let _ = black_box(message_type.decode(black_box(bytes), &arena));
        });
        arena.reset();
        let decoded = decode.last(|| message_type.decode(black_box(bytes), &arena));
        results.push(decoded.map_err(|error| error.to_string()).map(|message| {
            encode.all_but_last(|| {
                let _ = black_box(message_type.encode_into(black_box(message), &mut buffer));
            });
            let wire = encode.last(|| message_type.encode_into(black_box(message), &mut buffer));
            let wire = wire.map(<[u8]>::to_vec).map_err(|error| error.to_string());
            Made { value: format!("{message:?}"), wire }
        }));
    }
    Ran { times: Times { decode_nanos: decode.mean(), encode_nanos: encode.mean() }, results }
}

impl Ran {
    /// The first message that could not be decoded or encoded, and why.
    pub fn first_error(&self) -> Option<(usize, &str)> {
        self.results.iter().enumerate().find_map(|(at, result)| match result {
            Err(error) => Some((at, &**error)),
            Ok(Made { wire: Err(error), .. }) => Some((at, &**error)),
            Ok(_) => None,
        })
    }
}

/// The first thing that the engines do not agree about.
fn compare(first: &Ran, second: &Ran) -> Option<String> {
    let pairs = first.results.iter().zip(&second.results).enumerate();
    pairs.into_iter().find_map(|(at, pair)| {
        let what = match pair {
            (Ok(a), Ok(b)) if a.value != b.value => "different values",
            (Ok(a), Ok(b)) if a.wire != b.wire => "equal values, but different bytes when encoded again",
            (Ok(_), Ok(_)) => return None,
            (Err(a), Err(b)) if a == b => return None,
            (a, b) => {
                let word = |result: &Result<Made, String>| match result {
                    Ok(_) => "accepts it".to_owned(),
                    Err(error) => format!("says {error:?}"),
                };
                return Some(format!("message {}: one {}, the interpreter {}", at + 1, word(a), word(b)));
            }
        };
        Some(format!("message {}: {what}", at + 1))
    })
}
