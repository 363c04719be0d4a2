//! Where schemas come from: `.proto` files, descriptor sets, both; what is wrong with them; which message is meant.

mod common;

use std::fs;
use std::path::Path;

use common::{Run, Scratch, example};

/// A field 1 with a text of one letter.
const A: &[u8] = b"\x0a\x01a";

/// Decodes [`A`].
fn decode(schemas: &[&Path]) -> Run {
    let flags = schemas.iter().flat_map(|schema| ["-s".as_ref(), schema.as_os_str()]);
    Run::new(["decode", "--to", "text"]).args(flags).input(A)
}

/// A serialized set of these files.
fn set(files: &[&[u8]]) -> Vec<u8> {
    files.iter().flat_map(|file| [&[0x0a, file.len() as u8][..], file].concat()).collect()
}

/// A file of this name with `message M { string name = 1; }`.
fn file(name: &str, more: &[u8]) -> Vec<u8> {
    [&[0x0a, name.len() as u8], name.as_bytes(), b"\x22\x11\x0a\x01M\x12\x0c\x0a\x04name\x18\x01\x20\x01\x28\x09", more]
        .concat()
}

#[test]
fn content_decides_not_the_name() {
    let scratch = Scratch::new("content_decides");
    let text = b"\n\n// No syntax line.\nmessage M { optional string name = 1; }";
    assert_eq!(decode(&[&scratch.file("text.binpb", text)]).ok(), b"name: \"a\"\n");
    assert_eq!(decode(&[&scratch.file("set.proto", set(&[&file("f", b"")]))]).ok(), b"name: \"a\"\n");
    let bom = [b"\xef\xbb\xbf", &text[..]].concat();
    assert_eq!(decode(&[&scratch.file("bom", bom)]).ok(), b"name: \"a\"\n");
}

#[test]
#[cfg(unix)]
fn from_a_pipe() {
    let run = Run::new(["layout", "-s", "/dev/stdin"]).input(set(&[&file("f", b"")]));
    assert!(run.ok().starts_with(b"M: "));
}

#[test]
fn several_sets() {
    let scratch = Scratch::new("several_sets");
    let one = scratch.file("one", set(&[&file("f", b"")]));
    let same = scratch.file("same", set(&[&file("f", b"\x4a\x00")]));
    let other = scratch.file("other", set(&[&file("f", b"\x62\x06proto3")]));
    assert_eq!(decode(&[&one, &same]).ok(), b"name: \"a\"\n");
    let error = decode(&[&one, &other]).fails(2);
    assert!(error.contains("other: its f differs from the one in ") && error.ends_with("one"), "{error}");
    // Files of the second import those of the first.
    let user = b"\x0a\x04user\x1a\x01f\x22\x12\x0a\x01U\x12\x0d\x0a\x01m\x18\x01\x20\x01\x28\x0b\x32\x02.M";
    let user = scratch.file("user", set(&[user]));
    assert_eq!(decode(&[&one, &user]).input(b"\x0a\x03\x0a\x01a").ok(), b"m {\n  name: \"a\"\n}\n");
    let error = decode(&[&user]).fails(2);
    assert!(error.contains("\"f\"") && error.contains("--include_imports"), "{error}");
}

#[test]
fn sets_without_well_known_files() {
    let scratch = Scratch::new("well_known");
    let import = b"\x0a\x01f\x1a\x1fgoogle/protobuf/timestamp.proto\
                   \x22\x2a\x0a\x01M\x12\x25\x0a\x01t\x18\x01\x20\x01\x28\x0b\x32\x1a.google.protobuf.Timestamp";
    let schema = scratch.file("set", set(&[import]));
    let run = Run::new(["decode", "--delimited", "-s"]).arg(schema).input(b"\x04\x0a\x02\x08\x01");
    assert_eq!(run.ok(), b"{\"t\":\"1970-01-01T00:00:01Z\"}\n");
}

#[test]
fn sets_and_protos_together() {
    let scratch = Scratch::new("together");
    let one = scratch.file("one", set(&[&file("acme/f.proto", b"")]));
    let user = scratch.file(
        "user.proto",
        "syntax = \"proto3\"; import \"acme/f.proto\"; import \"google/protobuf/any.proto\"; \
         message U { M m = 1; google.protobuf.Any any = 2; }",
    );
    let run = || Run::new(["decode", "--delimited", "-m", "U", "-s"]).arg(&one).arg("-s").arg(&user);
    assert_eq!(run().input(b"\x05\x0a\x03\x0a\x01a").ok(), b"{\"m\":{\"name\":\"a\"}}\n");
    let any = run().input(b"\x0e\x12\x0c\x0a\x03x/M\x12\x05\x0a\x03abc");
    assert_eq!(any.ok(), b"{\"any\":{\"@type\":\"x/M\",\"name\":\"abc\"}}\n");
}

#[test]
fn imports() {
    let scratch = Scratch::new("imports");
    let common = "syntax = \"proto3\"; package acme; message Name { string name = 1; }";
    scratch.file("proto/acme/common/name.proto", common);
    let order = "syntax = \"proto3\"; package acme; import \"acme/common/name.proto\"; \
                 import \"google/protobuf/timestamp.proto\"; \
                 message Order { Name by = 1; google.protobuf.Timestamp at = 2; }";
    let order = scratch.file("proto/acme/order/v1/order.proto", order);
    let wire = b"\x0a\x03\x0a\x01a";
    let wanted = b"by {\n  name: \"a\"\n}\n";
    // The root of the tree is found by walking up, is named, or is where one stands.
    assert_eq!(decode(&[&order]).input(wire).ok(), wanted);
    assert_eq!(decode(&[&order]).arg("-I").arg(scratch.path().join("proto")).input(wire).ok(), wanted);
    let here = || decode(&[Path::new("acme/order/v1/order.proto")]).dir(scratch.path().join("proto")).input(wire);
    assert_eq!(here().ok(), wanted);
    assert_eq!(here().args(["-I", "."]).ok(), wanted);
    assert_eq!(here().args(["-I", "no-such-directory", "-I", "acme/.."]).ok(), wanted);
    let error = here().args(["-I", "acme"]).fails(2);
    assert!(error.contains("order.proto:1:") && error.contains("'acme/common/name.proto' not found"), "{error}");
    // Given and imported: the same file.
    let name = scratch.path().join("proto/acme/common/name.proto");
    assert_eq!(decode(&[&order, &name]).args(["-m", "Order"]).input(wire).ok(), wanted);
    assert_eq!(decode(&[&name, &order]).args(["-m", "Order"]).input(wire).ok(), wanted);
}

#[test]
fn bad_schemas() {
    let scratch = Scratch::new("bad_schemas");
    let fails = |name: &str, content: &[u8]| {
        let path = scratch.file(name, content);
        let error = decode(&[&path]).fails(2);
        assert!(error.contains(name), "{error}");
        error
    };
    assert!(fails("empty", b"").contains("empty"));
    assert!(
        fails("syntax.proto", b"syntax = \"proto3\";\nmessage M {\n  string = 1;\n}\n").contains("syntax.proto:3:")
    );
    assert!(fails("type.proto", b"syntax = \"proto3\";\nmessage M {\n  Missing m = 1;\n}\n").contains("Missing"));
    assert!(
        fails("import.proto", b"syntax = \"proto3\";\nimport \"gone.proto\";\n").contains("'gone.proto' not found")
    );
    assert!(fails("zip", b"PK\x03\x04\x14\0\0\0\x08\0").contains("no FileDescriptorSet"));
    assert!(fails("zeros", &[0; 100]).contains("no FileDescriptorSet"));
    assert!(fails("random", &[0xf0, 0x9f, 0x01, 0xff]).contains("no FileDescriptorSet"));
    assert!(fails("utf16", b"\xff\xfes\0y\0").contains("UTF-16"));
    assert!(fails("json", b"{}").contains("json:1:1"));
    let cut = set(&[&file("f", b"")]);
    assert!(fails("cut", &cut[..cut.len() - 1]).contains("ends inside a field"));
    let wrong_type = b"\x0a\x01f\x22\x12\x0a\x01U\x12\x0d\x0a\x01m\x18\x01\x20\x01\x28\x0b\x32\x02.M";
    assert!(fails("linked", &set(&[wrong_type])).contains(".M"));
    let error = Run::new(["decode", "-s", "no/such.proto"]).fails(2);
    assert!(error.starts_with("no/such.proto: the schema cannot be opened: "), "{error}");
    let error = Run::new(["decode", "-s"]).arg(scratch.path()).fails(2);
    assert!(error.contains("directory"), "{error}");
    // Bad schemas come first: the input does not matter yet.
    Run::new(["decode", "-s", "no/such.proto", "no/such/input"]).fails(2);
}

#[test]
fn which_message() {
    let hello = |args: &[&str]| Run::new(["layout", "-s"]).arg(example("hello.proto")).args(args);
    for name in ["hello.Person", ".hello.Person", "Person"] {
        assert!(hello(&["-m", name]).ok().starts_with(b"hello.Person: "), "{name}");
    }
    assert_eq!(hello(&[]).fails(2), "which message? Name it with -m; the schema has hello.Address, hello.Person");
    for (name, hint) in [
        ("person", "did you mean hello.Person"),
        ("goodbye.Person", "did you mean hello.Person"),
        ("Nobody", "it has hello.Address, hello.Person"),
        ("", "it has hello.Address, hello.Person"),
        ("erson", "it has hello.Address, hello.Person"),
    ] {
        assert_eq!(hello(&["-m", name]).fails(2), format!("the schema has no message {name:?}; {hint}"));
    }
    let scratch = Scratch::new("which_message");
    let two = scratch.file("two.proto", "message A { message M {} } message B { message M {} }");
    let error = Run::new(["layout", "-m", "M", "-s"]).arg(&two).fails(2);
    assert_eq!(error, "\"M\" may be any of A.M, B.M");
    assert!(Run::new(["layout", "-m", "A.M", "-s"]).arg(&two).ok().starts_with(b"A.M: "));
    let none = scratch.file("none.proto", "enum E { ZERO = 0; }");
    assert!(Run::new(["layout", "-s"]).arg(&none).fails(2).contains("no message"));
    // What is only imported does not count.
    let one = scratch.file("one.proto", "import \"two.proto\"; message C { optional A a = 1; }");
    assert!(Run::new(["layout", "-s"]).arg(&one).ok().starts_with(b"C: "));
}

const EDITION: &str = "// Before it.\nedition = \"2023\";\nmessage M { string name = 1; }\n";

#[test]
fn editions_without_protoc() {
    let scratch = Scratch::new("editions_without_protoc");
    let direct = scratch.file("e.proto", EDITION);
    let importing = scratch.file("i.proto", "syntax = \"proto3\"; import \"e.proto\"; message N { M m = 1; }");
    for schema in [direct, importing] {
        let error = decode(&[&schema]).env("PATH", scratch.path()).fails(2);
        assert!(error.starts_with("e.proto: the file uses editions, which only protoc compiles"), "{error}");
        assert!(error.contains("PROTOC") && error.contains("--descriptor_set_out"), "{error}");
    }
    let error = decode(&[&scratch.file("e.proto", EDITION)]).env("PROTOC", "no/such/protoc").fails(2);
    assert!(error.starts_with("no/such/protoc: "), "{error}");
}

#[test]
#[cfg(unix)]
fn editions_with_protoc() {
    use std::os::unix::fs::PermissionsExt;

    let scratch = Scratch::new("editions_with_protoc");
    let schema = scratch.file("tree/e.proto", EDITION);
    scratch.file("set", set(&[&file("e.proto", b"\x62\x08editions\x70\xe8\x07")]));
    // Stands in for protoc: notes its arguments and writes a set made before.
    let script = "#!/bin/sh\necho \"$@\" > \"$NOTES\"\nfor arg in \"$@\"; do case \"$arg\" in \
                  --descriptor_set_out=*) cp \"$SET\" \"${arg#*=}\";; esac; done\n";
    let protoc = scratch.file("bin/protoc", script);
    fs::set_permissions(&protoc, fs::Permissions::from_mode(0o755)).unwrap();
    let notes = scratch.path().join("notes");
    let run = || decode(&[&schema]).env("NOTES", &notes).env("SET", scratch.path().join("set"));
    assert_eq!(run().env("PROTOC", &protoc).ok(), b"name: \"a\"\n");
    let noted = fs::read_to_string(&notes).unwrap();
    assert!(noted.contains("--include_imports") && noted.contains("--proto_path="), "{noted}");
    assert!(noted.trim_end().ends_with("tree/e.proto"), "{noted}");
    let path = format!("{}:/bin:/usr/bin", scratch.path().join("bin").display());
    assert_eq!(run().env("PATH", path).ok(), b"name: \"a\"\n");
    // Its complaints come through, on one line.
    let failing = scratch.file("failing", "#!/bin/sh\necho 'e.proto:3:1: bad' >&2\necho 'really' >&2\nexit 1\n");
    fs::set_permissions(&failing, fs::Permissions::from_mode(0o755)).unwrap();
    let error = run().env("PROTOC", &failing).fails(2);
    assert!(error.ends_with("failing: e.proto:3:1: bad really"), "{error}");
    let silent = scratch.file("silent", "#!/bin/sh\n");
    fs::set_permissions(&silent, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(run().env("PROTOC", &silent).fails(2).contains("wrote no output"));
}
