//! Which messages of two schemas are one: those that agree in all that can be seen of them.

use protojit::{Arena, Engine, Runtime};
use protojit_testing::schemas::descriptor_set_of;

/// Whether the message `t.M` of the two sources is one, registered side by side. Both decode.
fn shared(first: &str, second: &str) -> bool {
    let runtime = Runtime::builder().engine(Engine::Interp).build();
    let [first, second] = [first, second].map(|source| {
        let schema = runtime.register(&descriptor_set_of(source)).unwrap();
        schema.message("t.M").unwrap()
    });
    let arena = Arena::new();
    for ty in [&first, &second] {
        let message = ty.decode(b"\x0a\x02\x08\x01", &arena).unwrap();
        assert_eq!(ty.encode_to_vec(message).unwrap(), b"\x0a\x02\x08\x01");
        assert_eq!(&*message.layout().def().full_name, "t.M");
    }
    assert_eq!(first.descriptor().full_name(), second.descriptor().full_name());
    first.shape().id == second.shape().id
}

/// A `t.M` with a field `c` of type `t.C`, which is the rest.
fn source(syntax: &str, rest: &str) -> String {
    let label = if syntax == "proto2" { "optional " } else { "" };
    format!("syntax = \"{syntax}\"; package t; message M {{ {label}C c = 1; }} {rest}")
}

#[test]
fn what_stands_around_a_message_does_not_matter() {
    let message = "message C { int32 a = 1; map<int32, M> m = 2; E e = 3; } enum E { Z = 0; }";
    let first = source("proto3", message);
    assert!(shared(&first, &format!("{first} message Other {{ M m = 1; }}")));
    let moved = format!(
        "syntax = \"proto3\"; package t; message Before {{}} enum F {{ Q = 0; }} {message} message M {{ C c = 1; }}"
    );
    assert!(shared(&first, &moved));
    assert!(shared(
        &first,
        &format!("{first} import \"google/protobuf/any.proto\"; message A {{ google.protobuf.Any a = 1; }}")
    ));
}

#[test]
fn all_that_a_message_reaches_matters() {
    let proto2 = |rest| source("proto2", rest);
    let proto3 = |rest| source("proto3", rest);
    let pairs = [
        (proto3("message C { int32 a = 1; }"), proto3("message C { int32 b = 1; }")),
        (proto3("message C { int32 a = 1; }"), proto3("message C { int32 a = 1; int32 b = 2; }")),
        (proto3("message C { int32 a = 1; }"), proto3("message C { uint32 a = 1; }")),
        (proto3("message C { int32 a = 1; }"), proto3("message C { optional int32 a = 1; }")),
        (proto3("message C { int32 a = 1; }"), proto2("message C { optional int32 a = 1; }")),
        (proto2("message C { optional int32 a = 1; }"), proto2("message C { optional int32 a = 1 [default = 7]; }")),
        (
            proto3("message C { int32 a = 1; E e = 2; } enum E { Z = 0; }"),
            proto3("message C { int32 a = 1; E e = 2; } enum E { Z = 0; Y = 1; }"),
        ),
        (
            proto3("message C { int32 a = 1; map<int32, D> d = 2; } message D {}"),
            proto3("message C { int32 a = 1; map<int32, D> d = 2; } message D { int32 a = 1; }"),
        ),
        (
            proto3("message C { int32 a = 1; map<int32, E> e = 2; } enum E { Z = 0; }"),
            proto3("message C { int32 a = 1; map<int32, E> e = 2; } enum E { Z = 0; Y = 1; }"),
        ),
        // The same descriptors, and an extension more.
        (
            proto2("message C { optional int32 a = 1; extensions 5 to 9; }"),
            proto2("message C { optional int32 a = 1; extensions 5 to 9; } extend C { optional int32 x = 5; }"),
        ),
        (
            proto2("message C { optional int32 a = 1; extensions 5 to 9; } extend C { optional int32 x = 5; }"),
            proto2("message C { optional int32 a = 1; extensions 5 to 9; } extend C { optional int32 y = 5; }"),
        ),
        // A cycle that is closed elsewhere.
        (
            proto3("message C { int32 a = 1; D d = 2; } message D { C c = 1; M m = 2; }"),
            proto3("message C { int32 a = 1; D d = 2; } message D { C c = 1; D m = 2; }"),
        ),
    ];
    for (first, second) in pairs {
        assert!(shared(&first, &first), "{first}");
        assert!(!shared(&first, &second), "{first}\n{second}");
    }
}

/// What is in an `Any` is looked up in the message's schema.
#[test]
fn what_reaches_an_any_is_not_shared() {
    let with_any = source("proto3", "message C { int32 a = 1; google.protobuf.Any any = 2; }")
        .replace("package t;", "package t; import \"google/protobuf/any.proto\";");
    assert!(!shared(&with_any, &format!("{with_any} message Payload {{ int32 a = 1; }}")));
}
