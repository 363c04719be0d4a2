//! A proxy: reads two fields, changes one, passes on everything else, byte for byte, without a look at it.

use std::error::Error;

use protojit::{Arena, EncodeBuffer, Rest, Runtime};
use protojit_source::ProtoSources;

/// Runs the example; the tests do, too.
pub fn main() -> Result<(), Box<dyn Error>> {
    // What the proxy knows of the messages that go through it.
    let text = "syntax = \"proto3\"; message Request { string tenant = 1; int32 hops = 2; Body body = 3; }
                message Body { string text = 1; repeated Body parts = 2; }";
    let set = ProtoSources::new().file("request.proto", text).compile(["request.proto"])?;
    let request = Runtime::from_env().register(&set)?.message("Request")?;
    // The body is known, but of no interest: kept as it came, not decoded.
    let shape = request.project_with(["tenant", "hops"], Rest::Keep)?;
    let (tenant, hops) = (shape.str("tenant")?, shape.i32("hops")?);
    let proxy = request.bind(&shape)?;

    // With a body that no decoder would accept, and field 100, which the proxy's schema does not have.
    let received = b"\x0a\x04acme\x10\x02\x1a\x03\xff\xff\xff\xa0\x06\x2a";
    let (mut arena, mut out) = (Arena::new(), EncodeBuffer::new());
    for _ in 0..3 {
        let mut m = proxy.decode_mut(received, &arena)?;
        println!("tenant {:?}, {} hops", m.as_ref().get(tenant), m.as_ref().get(hops));
        let more = m.as_ref().get(hops) + 1;
        m.set(hops, more)?;
        let passed_on = m.encode_into(&mut out)?;
        assert_eq!(passed_on, b"\x0a\x04acme\x10\x03\x1a\x03\xff\xff\xff\xa0\x06\x2a");
        arena.reset(); // and its memory is used for the next
    }
    Ok(())
}
