//! Compiled code is what runs: over thousands of decodes and encodes of each construct, each on its own and all mixed, no call is
//! the interpreter's. The gate is also seen to fail where code cannot be compiled.

#![cfg(feature = "jit")]

use protojit::{Arena, Direction, EncodeBuffer, Engine, EngineUsed, ProgramTrace, Runtime, RuntimeBuilder, Schema};
use protojit_core::schema::model::MessageId;
use protojit_interp::decode::{SLACK, SMALL_INPUT};
use protojit_testing::rng::Rng;
use protojit_testing::schemas;
use protojit_testing::wire_gen::{Style, WireGen};

/// Calls per payload.
const CALLS: u64 = 400;

/// Payloads of a message: each field alone, then all together, small and large.
fn payloads(schema: &Schema, id: MessageId, rng: &mut Rng) -> Vec<Vec<u8>> {
    let data = schema.descriptors().data();
    let mut wire = WireGen::new(data, rng.fork());
    let fields = data.fields_of(id).len();
    // Of messages with hundreds of fields some.
    let mut payloads: Vec<Vec<u8>> = (0..fields).step_by(1 + fields / 80).map(|field| wire.single(id, field)).collect();
    payloads.extend((0..3).map(|_| wire.message(id, Style::PLAIN, 60)));
    let mut large = Vec::new();
    while large.len() <= SMALL_INPUT && fields != 0 {
        large.extend(wire.message(id, Style::PLAIN, 60));
        // A field that no message has: 60,001, sixty bytes.
        large.extend([0x8a, 0xa6, 0x1d, 60]);
        large.extend([7; 60]);
    }
    payloads.push(large);
    payloads
}

/// Runs one schema for thousands of calls, and gives the first reason to doubt that compiled code served them.
fn gate(builder: RuntimeBuilder, name: &str, only: Option<&str>) -> Result<u64, String> {
    let runtime = builder.build();
    let schema = runtime.register(&schemas::descriptor_set(name)).unwrap();
    let mut rng = Rng::new(21);
    let mut all = 0;
    for message in schema.descriptors().messages() {
        if message.is_map_entry() || only.is_some_and(|only| only != message.full_name()) {
            continue;
        }
        let ty = schema.message_type(&message);
        let (mut arena, mut buffer) = (Arena::new(), EncodeBuffer::new());
        let (mut calls, mut encodes, mut may_finish) = (0, 0, 0);
        for payload in payloads(&schema, message.id(), &mut rng) {
            for turn in 0..CALLS {
                arena.reset();
                let copied = turn % 2 == 0;
                let decoded = match copied {
                    true => ty.decode_copied(&payload, &arena),
                    false => ty.decode(&payload, &arena),
                };
                let decoded = decoded.map_err(|error| format!("{}: {error}", message.full_name()))?;
                calls += 1;
                // The ends of large inputs are the interpreter's, on every level that ends there.
                if !copied && payload.len() > SMALL_INPUT {
                    may_finish += 50 * SLACK as u64;
                }
                if turn % 4 == 0 {
                    ty.encode_into(decoded, &mut buffer)
                        .map_err(|error| format!("{}: {error}", message.full_name()))?;
                    encodes += 1;
                }
            }
        }
        drop(arena);
        let rows = runtime.trace().programs;
        let interpreted =
            |row: &&ProgramTrace| row.engine != EngineUsed::Jit || row.reason.is_some() || row.code_bytes == 0;
        if let Some(row) = rows.iter().find(interpreted) {
            return Err(format!("{} is not compiled: {:?}", row.message, row.reason));
        }
        for row in rows {
            if row.message != message.full_name() || !row.root {
                continue;
            }
            let (wanted, finish) = match row.direction {
                Direction::Decode => (calls, may_finish),
                Direction::Encode => (encodes, 0),
            };
            let found = (row.compiled_calls, row.interpreted_calls, row.disagreements);
            if found != (wanted, 0, 0) || row.finished_bytes > finish {
                return Err(format!("{}: {found:?}, {} bytes finished of {wanted}", row.message, row.finished_bytes));
            }
        }
        all += calls + encodes;
    }
    Ok(all)
}

fn jit() -> RuntimeBuilder {
    Runtime::builder().engine(Engine::Jit)
}

#[test]
fn every_call_is_served_by_compiled_code() {
    for name in schemas::ALL {
        let calls = gate(jit(), name, None).unwrap();
        println!("{name}: {calls} calls");
        assert!(calls > 2000);
    }
}

#[test]
fn the_gate_fails_where_the_engine_is_off() {
    let error = gate(Runtime::builder().engine(Engine::Interp), "hello.proto", None).unwrap_err();
    assert!(error.contains("engine-off"), "{error}");
}

#[test]
fn the_gate_fails_where_the_code_arena_is_too_small() {
    // For nothing, and for a part.
    let error = gate(jit().code_arena(4096), "hello.proto", None).unwrap_err();
    assert!(error.contains("arena"), "{error}");
    let error = gate(jit().code_arena(4 << 16), "kinds2.proto", None).unwrap_err();
    assert!(error.contains("arena"), "{error}");
}

#[test]
fn the_gate_fails_where_one_message_falls_back() {
    let error = gate(jit().max_compiled_fields(499), "wide.proto", None).unwrap_err();
    assert!(error.contains("wide.Wide") && error.contains("message-too-large"), "{error}");
    // Leaves are still compiled; what refers to a message that is not, says so too.
    let error = gate(jit().max_compiled_fields(4), "hello.proto", Some("hello.Person")).unwrap_err();
    assert!(error.contains("hello.Person") && error.contains("message-too-large"), "{error}");
    assert!(gate(jit().max_compiled_fields(4), "hello.proto", Some("hello.Address")).is_ok());
    // A parent that is compiled, and a child that is not.
    let error = gate(jit().max_compiled_fields(7), "kinds3.proto", Some("kinds3.All")).unwrap_err();
    assert!(error.contains("message-too-large"), "{error}");
}
