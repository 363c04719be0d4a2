//! What the ways of the API cost: projections beside the full decode, batches beside the peers, reads beside a plain
//! Rust struct and beside prost-reflect. All cells of a group are interleaved; medians.
//!
//! ```text
//! cargo run --release -p protojit-benches --bin api
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::Parser;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, Value};
use protojit::{Arena, Message, MessageRef, MessageType, Rest, Runtime};
use protojit_benches::generated::handles::{Handles, reader};
use protojit_benches::generated::prost::hello::Person;
use protojit_benches::measure::Timing;
use protojit_benches::read::Read;
use protojit_benches::workloads::{DESCRIPTOR_SET, matching};
use protojit_core::message::ValueRef;

/// Measures projections, batches and reads.
#[derive(Parser)]
struct Args {
    /// Samples of each cell.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// The least duration of a sample, in milliseconds.
    #[arg(long, default_value_t = 8)]
    sample: u64,
}

/// Something to be measured, and how many messages it handles at once.
struct Cell<'c> {
    name: String,
    messages: usize,
    run: Box<dyn FnMut() + 'c>,
}

fn cell<'c>(name: impl Into<String>, messages: usize, run: impl FnMut() + 'c) -> Cell<'c> {
    Cell { name: name.into(), messages, run: Box::new(run) }
}

/// Prints nanoseconds per message, and how many times those of the first cell.
fn measure(args: &Args, group: &str, mut cells: Vec<Cell<'_>>) {
    let sample = Duration::from_millis(args.sample);
    let time = |cell: &mut Cell<'_>, passes: usize| {
        (cell.run)();
        let start = Instant::now();
        (0..passes).for_each(|_| (cell.run)());
        start.elapsed()
    };
    let passes: Vec<usize> = cells
        .iter_mut()
        .map(|cell| {
            let mut passes = 1;
            loop {
                let took = time(cell, passes).max(Duration::from_nanos(1));
                if took >= sample / 4 {
                    return ((passes as f64 * sample.as_secs_f64() / took.as_secs_f64()).ceil() as usize).max(1);
                }
                passes *= 4;
            }
        })
        .collect();
    let mut samples = vec![Vec::new(); cells.len()];
    for round in 0..args.rounds {
        for step in 0..cells.len() {
            let at = (round + step) % cells.len();
            let took = time(&mut cells[at], passes[at]);
            samples[at].push(took.as_secs_f64() * 1e9 / (passes[at] * cells[at].messages) as f64);
        }
    }
    let timings: Vec<Timing> = samples.into_iter().map(Timing::of).collect();
    println!("\n{group}");
    for (cell, timing) in cells.iter().zip(&timings) {
        println!("{:>12.1} ns  {:>6.3}  {}", timing.median, timing.median / timings[0].median, cell.name);
    }
}

fn payloads(name: &str) -> &'static [Vec<u8>] {
    matching(&[name.to_owned()]).first().expect("the workload is there").payloads()
}

fn decode_all(ty: &MessageType, payloads: &'static [Vec<u8>]) -> impl FnMut() {
    let (ty, mut arena) = (ty.clone(), Arena::new());
    move || {
        for payload in payloads {
            arena.reset();
            black_box(ty.decode(black_box(payload), &arena).expect("payloads are valid"));
        }
    }
}

fn projections(args: &Args, ty: &MessageType, workload: &str, selections: &[&[&str]]) {
    let payloads = payloads(workload);
    let mut cells = vec![cell("all fields", payloads.len(), decode_all(ty, payloads))];
    for paths in selections {
        for rest in [Rest::Drop, Rest::Keep] {
            let bound = ty.bind(&ty.project_with(*paths, rest).expect("fields")).expect("its own shape");
            cells.push(cell(format!("{}, {rest:?}", paths.join(", ")), payloads.len(), decode_all(&bound, payloads)));
        }
    }
    measure(args, &format!("projection: {workload}"), cells);
}

/// Different records of 30 bytes.
fn records(count: usize) -> Vec<Vec<u8>> {
    let record = |at: usize| {
        let person = Person {
            name: format!("user-{at:05}"),
            age: (at % 90) as i32 + 1,
            status: (at % 4) as i32,
            user_id: at as u64 * 7919 + 1,
            balance: at as i32 + 100,
            avatar: vec![at as u8; 1 + at % 3],
            ..Person::default()
        };
        person.encode_to_vec()
    };
    (0..count).map(record).collect()
}

fn batches(args: &Args, ty: &MessageType) {
    let records = records(1000);
    let mean = records.iter().map(Vec::len).sum::<usize>() as f64 / records.len() as f64;
    let pool = DescriptorPool::decode(DESCRIPTOR_SET).expect("valid descriptors");
    let descriptor = pool.get_message_by_name("hello.Person").expect("a message");
    let mut arena = Some(Arena::new());
    let cells = vec![
        cell("decode_batch, arena used again", 1000, || {
            let batch = ty.decode_batch_in(&records, arena.take().unwrap_or_default());
            black_box(&batch);
            arena = batch.into_arena();
        }),
        cell("decode_batch", 1000, || drop(black_box(ty.decode_batch(&records)))),
        cell("prost, a vector of messages", 1000, || {
            let all: Vec<_> = records.iter().map(|record| Person::decode(black_box(&record[..]))).collect();
            drop(black_box(all));
        }),
        cell("prost-reflect, a vector of messages", 1000, || {
            let decode = |record: &Vec<u8>| DynamicMessage::decode(descriptor.clone(), black_box(&record[..]));
            let all: Vec<_> = records.iter().map(decode).collect();
            drop(black_box(all));
        }),
    ];
    measure(args, &format!("1,000 different records of {mean:.0} bytes"), cells);
}

/// The sum of what is there, however it is read.
trait Sum {
    fn sum(&self) -> u64;
}

fn sum_bytes(bytes: &[u8]) -> u64 {
    bytes.len() as u64 + bytes.first().map_or(0, |&byte| u64::from(byte))
}

fn sum_message(message: MessageRef<'_>) -> u64 {
    message.set_fields().fold(1, |sum, (slot, value)| {
        let value = match value {
            ValueRef::Message(message) => sum_message(message),
            ValueRef::List(list) => list.iter().fold(0, |sum, value| sum.wrapping_add(sum_value(value))),
            ValueRef::Map(map) => map.iter().fold(0, |sum, (key, value)| {
                sum.wrapping_add(sum_value(key.to_value_ref())).wrapping_add(sum_value(value))
            }),
            value => sum_value(value),
        };
        sum.wrapping_add(value.wrapping_mul(u64::from(slot.number)))
    })
}

fn sum_value(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Bool(value) => u64::from(value),
        ValueRef::I32(value) | ValueRef::Enum(value) => value as u64,
        ValueRef::I64(value) => value as u64,
        ValueRef::U32(value) => value.into(),
        ValueRef::U64(value) => value,
        ValueRef::F32(value) => value.to_bits().into(),
        ValueRef::F64(value) => value.to_bits(),
        ValueRef::Str(value) => sum_bytes(value.as_bytes()),
        ValueRef::Bytes(value) => sum_bytes(value),
        ValueRef::Message(message) => sum_message(message),
        _ => 0,
    }
}

impl Sum for DynamicMessage {
    fn sum(&self) -> u64 {
        self.fields()
            .fold(1, |sum, (field, value)| sum.wrapping_add(value.sum().wrapping_mul(u64::from(field.number()))))
    }
}

impl Sum for Value {
    fn sum(&self) -> u64 {
        match self {
            Value::Bool(value) => u64::from(*value),
            Value::I32(value) | Value::EnumNumber(value) => *value as u64,
            Value::I64(value) => *value as u64,
            Value::U32(value) => (*value).into(),
            Value::U64(value) => *value,
            Value::F32(value) => value.to_bits().into(),
            Value::F64(value) => value.to_bits(),
            Value::String(value) => sum_bytes(value.as_bytes()),
            Value::Bytes(value) => sum_bytes(value),
            Value::Message(message) => message.sum(),
            Value::List(list) => list.iter().fold(0, |sum, value| sum.wrapping_add(value.sum())),
            Value::Map(map) => map.iter().fold(0, |sum, (key, value)| {
                let key = match key {
                    prost_reflect::MapKey::String(key) => sum_bytes(key.as_bytes()),
                    prost_reflect::MapKey::I32(key) => *key as u64,
                    prost_reflect::MapKey::I64(key) => *key as u64,
                    prost_reflect::MapKey::U32(key) => (*key).into(),
                    prost_reflect::MapKey::U64(key) => *key,
                    prost_reflect::MapKey::Bool(key) => u64::from(*key),
                };
                sum.wrapping_add(key).wrapping_add(value.sum())
            }),
        }
    }
}

fn reads<M: prost::Message + Default + Read>(args: &Args, ty: &MessageType, handles: &Handles, workload: &str) {
    let payloads = payloads(workload);
    let structs: Vec<M> = payloads.iter().map(|bytes| M::decode(&bytes[..]).expect("valid")).collect();
    let messages: Vec<Message> = payloads.iter().map(|bytes| ty.decode_owned(bytes).expect("valid")).collect();
    let pool = DescriptorPool::decode(DESCRIPTOR_SET).expect("valid descriptors");
    let descriptor = pool.get_message_by_name(ty.full_name()).expect("a message");
    let dynamic: Vec<_> =
        payloads.iter().map(|bytes| DynamicMessage::decode(descriptor.clone(), &bytes[..]).expect("valid")).collect();
    let read = reader(ty.full_name()).expect("a reader");
    for (message, dynamic) in messages.iter().zip(&dynamic) {
        assert_eq!(sum_message(message.as_ref()), dynamic.sum());
    }
    for (message, plain) in messages.iter().zip(&structs) {
        assert_eq!(read(handles, message.as_ref()), plain.read());
    }
    let count = payloads.len();
    measure(
        args,
        &format!("reading every field: {workload}"),
        vec![
            cell("a plain Rust struct (prost's)", count, || {
                structs.iter().for_each(|message| drop(black_box(black_box(message).read())));
            }),
            cell("typed handles", count, || {
                messages.iter().for_each(|message| drop(black_box(read(handles, black_box(message.as_ref())))));
            }),
        ],
    );
    measure(
        args,
        &format!("walking every field: {workload}"),
        vec![
            cell("reflective, borrowed values", count, || {
                messages.iter().for_each(|message| drop(black_box(sum_message(black_box(message.as_ref())))));
            }),
            cell("prost-reflect", count, || {
                dynamic.iter().for_each(|message| drop(black_box(black_box(message).sum())));
            }),
        ],
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let schema = Runtime::new().register(DESCRIPTOR_SET)?;
    let handles = Handles::new::<Box<dyn std::error::Error>>(|name| Ok(schema.message(name)?.shape().clone()))?;
    let person = schema.message("hello.Person")?;
    let export = schema.message("otel.TraceExport")?;
    projections(&args, &person, "person/1KB", &[&["name", "user_id"], &["name", "address.zip"], &["emails", "age"]]);
    let spans = ["resource_spans.scope_spans.spans.name", "resource_spans.scope_spans.spans.start_time_unix_nano"];
    let urls = ["resource_spans.schema_url", "resource_spans.scope_spans.schema_url"];
    projections(&args, &export, "otel/export", &[&spans, &urls]);
    batches(&args, &person);
    reads::<Person>(&args, &person, &handles, "person/1KB");
    reads::<Person>(&args, &person, &handles, "person/100B");
    reads::<protojit_benches::generated::prost::otel::TraceExport>(&args, &export, &handles, "otel/export");
    Ok(())
}
