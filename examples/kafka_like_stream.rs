//! Records of a stream whose writers have different versions of a schema, as rows of the reader.
//!
//! A record begins with the id of its writer's schema; a registry gives the descriptors of an id. Each id is bound to the
//! reader's shape once, which is where schemas that do not fit are found. Then records are decoded in batches.

use std::collections::HashMap;
use std::error::Error;

use protojit::{MessageType, Runtime, Shape};
use protojit_source::ProtoSources;

/// The schema registry: what the writers registered, by id. (A real one is asked over the network.)
fn registered(id: u32) -> Option<&'static str> {
    match id {
        1 => Some("message Order { string customer = 1; int32 cents = 2; }"),
        2 => Some(
            "message Order { string buyer = 1; int64 cents = 2; repeated string tags = 3; Place to = 4; }
                   message Place { string city = 1; string zip = 2; }",
        ),
        // Somebody changed a type.
        3 => Some("message Order { string customer = 1; string cents = 2; }"),
        _ => None,
    }
}

fn load(runtime: &Runtime, source: &str) -> Result<MessageType, Box<dyn Error>> {
    let text = format!("syntax = \"proto3\"; {source}");
    let set = ProtoSources::new().file("order.proto", text).compile(["order.proto"])?;
    Ok(runtime.register(&set)?.message_at(&[0])?)
}

struct Reader {
    runtime: Runtime,
    shape: Shape,
    writers: HashMap<u32, Result<MessageType, String>>,
}

impl Reader {
    /// The writer with this id, bound to the reader's shape: compiled once, or refused once.
    fn writer(&mut self, id: u32) -> &Result<MessageType, String> {
        let Reader { runtime, shape, writers } = self;
        writers.entry(id).or_insert_with(|| {
            let source = registered(id).ok_or_else(|| format!("no schema has the id {id}"))?;
            let writer = load(runtime, source).map_err(|error| error.to_string())?;
            writer.bind(shape).map_err(|error| error.to_string())
        })
    }
}

/// Runs the example; the tests do, too.
pub fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::from_env();
    let order = load(&runtime, registered(2).ok_or("the reader's own schema")?)?;
    let shape = order.project(["buyer", "cents", "to.city"])?;
    let (buyer, cents, city) = (shape.str("buyer")?, shape.i64("cents")?, shape.str("to.city")?);
    let mut reader = Reader { runtime, shape, writers: HashMap::new() };

    let stream: [(u32, &[u8]); 6] = [
        (1, b"\x0a\x03Ada\x10\xe8\x07"),
        (2, b"\x0a\x03Bob\x10\x80\xc8\xaf\xa0\x25\x1a\x03new\x22\x06\x0a\x04Rome"),
        (1, b"\x0a\x03Eve\x10"), // cut off
        (3, b"\x0a\x03Joe\x12\x0299"),
        (2, b"\x0a\x03Kim\x10\x05"),
        (9, b""),
    ];
    let (mut rows, mut dead_letters) = (Vec::new(), Vec::new());
    // Records of one writer next to each other are decoded together.
    for run in stream.chunk_by(|a, b| a.0 == b.0) {
        let writer = match reader.writer(run[0].0) {
            Ok(writer) => writer,
            Err(why) => {
                dead_letters.extend(run.iter().map(|_| why.clone()));
                continue;
            }
        };
        let batch = writer.decode_batch(run.iter().map(|(_, record)| record));
        for record in &batch {
            match record {
                Ok(m) => rows.push((m.get(buyer).to_str()?.to_owned(), m.get(cents), m.get(city).to_str()?.to_owned())),
                Err(error) => dead_letters.push(error.to_string()),
            }
        }
    }
    for (buyer, cents, city) in &rows {
        println!("{buyer:>5} {cents:>12} {city}");
    }
    for why in &dead_letters {
        println!("dead letter: {why}");
    }
    let row = |buyer: &str, cents, city: &str| (buyer.to_owned(), cents, city.to_owned());
    assert_eq!(rows, [row("Ada", 1000, ""), row("Bob", 10_000_000_000, "Rome"), row("Kim", 5, "")]);
    assert_eq!(dead_letters.len(), 3);
    assert!(dead_letters[1].contains("cents (number 2) is string, which cannot be read as int64"));
    Ok(())
}
