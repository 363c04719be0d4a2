//! The example payloads, cut off at every byte: both engines give the same value or the same error, kind, offset and
//! path, with the bytes directly before an unmapped page.

#![cfg(feature = "jit")]

use std::path::Path;

use protojit_testing::pair::{Checker, Pair};
use protojit_testing::schemas;

#[test]
fn truncated_at_every_byte() {
    let examples = [
        ("hello.proto", "hello.Person", &["person_10", "person_100", "person_1k", "person_10k"][..]),
        ("proto2_basic.proto", "basic.BenchPayload", &["bench_min", "bench_mid", "bench_unknown"][..]),
        ("google/protobuf/descriptor.proto", "google.protobuf.FileDescriptorSet", &["descriptor"][..]),
    ];
    let mut checker = Checker::new();
    let mut bytes = 0;
    for (schema, message, names) in examples {
        let types = Pair::new(schema, &schemas::descriptor_set(schema)).types(message);
        for name in names {
            let file = format!("{}/examples/payloads/{name}.binpb", env!("CARGO_MANIFEST_DIR"));
            let payload = std::fs::read(Path::new(&file)).unwrap();
            bytes += payload.len() + 1;
            for end in 0..=payload.len() {
                checker.check(&types, &payload[..end]);
            }
        }
    }
    println!("{} cases, {:?}", checker.cases, checker.seen);
    assert_eq!(checker.cases, bytes);
    assert!(checker.seen.contains_key("Truncated") && checker.seen.contains_key("LengthOutOfBounds"));
}
