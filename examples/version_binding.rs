//! Three versions of a message, one reader: its handles work on all of them.

use std::error::Error;

use protojit::{Arena, MessageType, Runtime};
use protojit_source::ProtoSources;

fn version(runtime: &Runtime, fields: &str) -> Result<MessageType, Box<dyn Error>> {
    let text = format!("syntax = \"proto3\"; message Event {{ {fields} }}");
    let set = ProtoSources::new().file("event.proto", text).compile(["event.proto"])?;
    Ok(runtime.register(&set)?.message("Event")?)
}

/// Runs the example; the tests do, too.
pub fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::from_env();
    let versions = [
        version(&runtime, "string user = 1; int32 size = 2;")?,
        version(&runtime, "string account = 1; int64 size = 2; repeated string tags = 3;")?, // renamed, widened, added
        version(&runtime, "oneof who { string account = 1; fixed64 id = 4; } int64 size = 2;")?, // moved, removed
    ];
    let reader = versions[1].shape();
    let (account, size, tags) = (reader.str("account")?, reader.i64("size")?, reader.list_str("tags")?);

    let arena = Arena::new();
    for (at, writer) in versions.iter().enumerate() {
        let bound = writer.bind(reader)?;
        let m = bound.decode(b"\x0a\x03Ada\x10\x2a", &arena)?;
        println!("version {}: {:?}, {} bytes, tags {:?}", at + 1, m.get(account), m.get(size), m.get(tags));
        assert_eq!((m.get(account).to_str()?, m.get(size)), ("Ada", 42));
    }

    // What cannot be read is found before the first record, all of it at once.
    let wrong = version(&runtime, "bytes user = 1; repeated int64 size = 2; string tags = 3;")?;
    let error = wrong.bind(reader).unwrap_err();
    println!("{error}");
    assert_eq!(error.mismatches().len(), 2);
    Ok(())
}
