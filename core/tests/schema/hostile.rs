//! Whatever the bytes are, linking ends soon, with a schema or an error.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use protojit_core::schema::{Schema, SchemaLimits};

use super::{build::*, compile};

/// Small enough that no input takes long, large enough for the seeds.
fn limits() -> SchemaLimits {
    let mut limits = SchemaLimits::default();
    limits.max_messages = 1000;
    limits.max_fields_total = 10_000;
    limits.max_items_total = 10_000;
    limits.max_names_total_bytes = 1 << 20;
    limits
}

/// Touches everything that a handle can show.
fn walk(schema: &Schema) {
    let data = schema.data();
    for message in schema.messages() {
        assert!(message.index_path().len() <= 64);
        let fields = data.fields_of(message.id());
        assert!(fields.windows(2).all(|pair| pair[0].1.number < pair[1].1.number));
        for field in message.fields().chain(message.extensions()) {
            let _ = (field.full_name(), field.kind(), field.map_entry(), field.parent(), field.file());
            let _ = (field.descriptor_bytes(), field.options_bytes(), field.oneof().map(|o| o.full_name()));
            if let Some(def) = field.enum_() {
                def.default_value().full_name();
            }
        }
        let _ = (message.options_bytes(), message.descriptor_bytes(), message.oneofs().count());
    }
    for service in schema.services() {
        for method in service.methods() {
            let _ = (method.input(), method.output(), method.full_name());
        }
    }
    for file in schema.files() {
        let _ = (file.dependencies().count(), file.public_dependencies().count(), file.options_bytes());
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let source = "syntax = \"proto2\"; package a.b; import \"google/protobuf/struct.proto\";
        import \"google/protobuf/timestamp.proto\";
        enum E { A = 0; B = 5; }
        message M { optional int32 i = 1 [default = 5]; map<string, M> m = 2; oneof o { E e = 3; string s = 4; }
          optional group G = 5 { repeated double d = 1 [packed = true]; } extensions 100 to 200;
          optional google.protobuf.Struct js = 6; optional bytes y = 7 [default = \"\\001x\"]; reserved 50 to 60; }
        extend M { optional M x = 100; repeated E es = 101; }
        service S { rpc R(M) returns (stream M); }";
    vec![compile(&[("a.proto", source)]), include_bytes!("../fixtures/editions.binpb").to_vec()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn mutated(
        which in 0usize..2,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
    ) {
        thread_local!(static SEEDS: Vec<Vec<u8>> = seeds());
        let mut bytes = SEEDS.with(|seeds| seeds[which].clone());
        for (at, byte, what) in edits {
            let at = at.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes[at] ^= 1 << (byte % 8),
                2 => bytes.insert(at, byte),
                _ => { bytes.remove(at); }
            }
        }
        if let Ok(schema) = Schema::from_descriptor_set_with(bytes, &limits()) {
            walk(&schema);
        }
    }

    #[test]
    fn random(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(schema) = Schema::from_descriptor_set_with(bytes, &limits()) {
            walk(&schema);
        }
    }
}

/// Truncation at every byte.
#[test]
fn truncated() {
    for seed in seeds() {
        for end in 0..seed.len() {
            if let Ok(schema) = Schema::from_descriptor_set_with(&seed[..end], &limits()) {
                walk(&schema);
            }
        }
    }
}

#[track_caller]
fn soon<T>(what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = what();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "took {took:?}");
    result
}

/// Shapes that would be slow if something were quadratic, or deep if something recursed.
#[test]
fn unfriendly_shapes() {
    // Nesting without end.
    let mut deep = message("M");
    for _ in 0..2_000 {
        deep = message("M").bytes(3, deep);
    }
    let error = soon(|| link(&[file("a").bytes(4, &deep)])).unwrap_err();
    assert!(error.to_string().contains("max_nesting_depth"), "{error}");

    // A long chain of imports.
    let mut files: Vec<_> =
        (1..10_000).map(|i| raw().bytes(1, format!("{i}")).bytes(3, format!("{}", i - 1))).collect();
    files.push(raw().bytes(1, "0"));
    assert!(soon(|| link(&files)).is_ok());

    // One message with very many fields, ranges and reserved names.
    let many = |n: i64| {
        let mut wide = message("M");
        for i in 0..n {
            wide = wide.bytes(2, field(&format!("f{i}"), n - i, INT32)).bytes(10, format!("r{i}"));
        }
        for i in 0..n {
            wide = wide.bytes(5, range(1_000_000 + 2 * i, 1_000_001 + 2 * i));
        }
        let mut file = file("a").bytes(4, wide);
        for i in 0..n {
            file = file.bytes(7, field(&format!("x{i}"), 1_000_000 + 2 * i, INT32).bytes(2, ".p.M"));
        }
        soon(|| link(&[file]))
    };
    assert!(many(65_535).is_ok());
    let error = many(65_536).unwrap_err();
    assert!(error.to_string().contains("max_fields_per_message"), "{error}");

    // Relative names under a package with very many parts: the search is on a budget.
    let package = vec!["q"; 2000].join(".");
    let mut slow = raw().bytes(1, "a").bytes(2, &package).bytes(5, enum_("E", &[("Z", 0)]));
    let mut all = message("M");
    for i in 1..2_000 {
        all = all.bytes(2, field(&format!("f{i}"), i, ENUM).bytes(6, "Top"));
    }
    slow = slow.bytes(4, all);
    let top = raw().bytes(1, "t").bytes(5, enum_("Top", &[("Y", 0)]));
    let error = soon(|| link(&[slow, top])).unwrap_err();
    assert!(error.to_string().contains("max_names_total_bytes"), "{error}");
}
