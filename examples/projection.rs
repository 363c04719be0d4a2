//! Two fields of a large message: what was not asked for is skipped by compiled code.

use std::error::Error;
use std::time::Instant;

use protojit::{Arena, MessageType, Runtime};
use protojit_source::ProtoSources;

fn nanoseconds(ty: &MessageType, input: &[u8]) -> Result<u128, Box<dyn Error>> {
    let (mut arena, begun, rounds) = (Arena::new(), Instant::now(), 2000);
    for _ in 0..rounds {
        arena.reset();
        ty.decode(input, &arena)?;
    }
    Ok(begun.elapsed().as_nanos() / rounds)
}

/// Runs the example; the tests do, too.
pub fn main() -> Result<(), Box<dyn Error>> {
    let set = ProtoSources::new().include("examples").compile(["hello.proto"])?;
    let person = Runtime::from_env().register(&set)?.message("hello.Person")?;
    let input = std::fs::read("examples/payloads/person_10k.binpb")?;

    let shape = person.project(["name", "friends.name"])?;
    let (name, friends) = (shape.str("name")?, shape.list_message("friends")?);
    let reader = person.bind(&shape)?;

    let arena = Arena::new();
    let m = reader.decode(&input, &arena)?;
    let whole = person.decode(&input, &arena)?;
    // Messages of a list have a shape of their own; by name it is found on the way.
    let names: Vec<_> = m.get(friends).iter().filter_map(|friend| friend.get_by_name("name")).collect();
    println!("{:?} knows {names:?}", m.get(name));
    assert_eq!(Some(m.get(name)), whole.get_by_name("name").and_then(|name| name.as_str()));
    assert_eq!(names.len(), whole.get(person.shape().list_message("friends")?).len());

    println!("all fields: {} ns, these: {} ns", nanoseconds(&person, &input)?, nanoseconds(&reader, &input)?);
    Ok(())
}
