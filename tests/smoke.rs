//! The main job on a small scale: a schema, bytes, fields.

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, Value};
use protojit::{Arena, Engine, Runtime, Schema};

fn pool(file: &str) -> DescriptorPool {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    DescriptorPool::from_file_descriptor_set(protox::compile([format!("{dir}/{file}")], [dir]).unwrap()).unwrap()
}

fn register(engine: Engine, pool: &DescriptorPool) -> Schema {
    Runtime::builder().engine(engine).build().register(&pool.encode_to_vec()).unwrap()
}

#[test]
fn both_engines_read_a_person() {
    let pool = pool("hello.proto");
    let person = pool.get_message_by_name("hello.Person").unwrap();
    let mut message = DynamicMessage::new(person.clone());
    message.set_field_by_name(
        "name",
        Value::String("Ada Lovelace, countess of a long name beyond thirty-two bytes".into()),
    );
    message.set_field_by_name("age", Value::I32(-36));
    message.set_field_by_name("user_id", Value::U64(1 << 60));
    message.set_field_by_name("balance", Value::I32(-150));
    message.set_field_by_name("weight_kg", Value::F64(61.5));
    message.set_field_by_name("emails", Value::List((0..20).map(|i| Value::String(format!("ada{i}@é.org"))).collect()));
    message.set_field_by_name("lucky_numbers", Value::List((0..20).map(|i| Value::I32(i * i * 7 - 3)).collect()));
    let mut address = DynamicMessage::new(pool.get_message_by_name("hello.Address").unwrap());
    address.set_field_by_name("street", Value::String("12 St James's Square".into()));
    address.set_field_by_name("zip", Value::I32(70_000));
    message.set_field_by_name("address", Value::Message(address));
    let friend = message.clone();
    message.set_field_by_name("friends", Value::List(vec![Value::Message(friend.clone()), Value::Message(friend)]));
    let bytes = message.encode_to_vec();

    for engine in [Engine::Interp, Engine::Jit] {
        let schema = register(engine, &pool);
        let ty = schema.message("hello.Person").unwrap();
        if engine == Engine::Jit && cfg!(feature = "jit") {
            ty.is_compiled().unwrap();
        }
        let arena = Arena::new();
        let decoded = ty.decode(&bytes, &arena).unwrap();
        println!("{decoded:?}");
        let text = format!("{decoded:?}");
        for part in ["Ada Lovelace", "ada19@é.org", "-150", "61.5", "70000", "2524"] {
            assert!(text.contains(part), "{engine}: {part} in {text}");
        }
        let again = DynamicMessage::decode(person.clone(), &ty.encode_to_vec(decoded).unwrap()[..]).unwrap();
        assert_eq!(again, message);
        drop(arena);
        let trace = schema.runtime().trace();
        let row = &trace.programs[0];
        assert_eq!(row.message, "hello.Person");
        let expected = if engine == Engine::Jit && cfg!(feature = "jit") { (1, 0) } else { (0, 1) };
        assert_eq!((row.compiled_calls, row.interpreted_calls), expected);
    }
}
