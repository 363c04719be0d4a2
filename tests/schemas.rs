//! Schemas as users have them: text from memory, options, versions side by side, all kinds of imports, editions.

use std::path::{Path, PathBuf};

use protojit::text::{self, TextWriteOptions};
use protojit::{Engine, Message, Runtime, Schema};
use protojit_source::{ProtoSources, SourceErrorKind};
use protojit_testing::again::this_program;

const HTTP: &str = r#"
    syntax = "proto3";
    package google.api;
    message HttpRule {
      oneof pattern { string get = 2; string put = 3; string post = 4; }
      string body = 7;
      repeated HttpRule additional_bindings = 11;
    }"#;

const ANNOTATIONS: &str = r#"
    syntax = "proto3";
    package google.api;
    import "google/api/http.proto";
    import "google/protobuf/descriptor.proto";
    extend google.protobuf.MethodOptions { HttpRule http = 72295728; }"#;

const SHELF: &str = r#"
    syntax = "proto3";
    package acme;
    import "google/api/annotations.proto";
    import "google/protobuf/descriptor.proto";
    option java_package = "com.acme";
    message Weight { int32 grams = 1; map<string, Weight> parts = 2; }
    extend google.protobuf.FileOptions { Weight of_file = 50001; }
    extend google.protobuf.MessageOptions { Weight of_message = 50001; }
    extend google.protobuf.FieldOptions { repeated Weight of_field = 50001; }
    extend google.protobuf.OneofOptions { string of_oneof = 50001; }
    extend google.protobuf.EnumOptions { Size of_enum = 50001; }
    extend google.protobuf.EnumValueOptions { sint64 of_value = 50001; }
    extend google.protobuf.ServiceOptions { bytes of_service = 50001; }
    option (of_file) = { grams: 1 parts { key: "cover" value { grams: 2 } } };
    enum Size { option (of_enum) = LARGE; SMALL = 0; LARGE = 1 [(of_value) = -7, deprecated = true]; }
    message Shelf {
      option (of_message).grams = 3;
      string name = 1 [(of_field) = { grams: 4 }, (of_field) = { grams: 5 }, json_name = "title"];
      oneof place { option (of_oneof) = "here"; int32 room = 2; string street = 3; }
      message Book { string title = 1; }
      message Page { string text = 1; }
    }
    service Shelves {
      option (of_service) = "\x00\xff";
      rpc Get(Shelf) returns (Shelf) { option (google.api.http).get = "/v1/{name=shelves/*}"; }
      rpc Put(Shelf) returns (stream Shelf.Book) {
        option deprecated = true;
        option (google.api.http) = {
          post: "/v1/shelves" body: "*"
          additional_bindings { put: "/v1/{name=shelves/*}" body: "shelf" }
          additional_bindings { get: "/v1/put" }
        };
      }
      rpc Watch(stream Shelf) returns (stream Shelf);
    }"#;

/// The set of `acme/shelf.proto`, which is in memory; what it imports comes from a closure.
fn shelf_set() -> Vec<u8> {
    let import = |name: &str| match name {
        "google/api/http.proto" => Some(HTTP.to_owned()),
        "google/api/annotations.proto" => Some(ANNOTATIONS.to_owned()),
        _ => None,
    };
    ProtoSources::new().file("acme/shelf.proto", SHELF).resolver(import).compile(["acme/shelf.proto"]).unwrap()
}

fn interp() -> Runtime {
    Runtime::builder().engine(Engine::Interp).build()
}

/// The set of these files in memory, the last of which imports the others.
fn set(files: &[(&str, &str)]) -> Vec<u8> {
    let sources = files.iter().fold(ProtoSources::new(), |sources, &(name, text)| sources.file(name, text));
    sources.compile([files[files.len() - 1].0]).unwrap()
}

fn in_text(schema: &Schema, message: &Message) -> String {
    let options = TextWriteOptions { single_line: true, ..TextWriteOptions::default() };
    let mut out = Vec::new();
    text::write(message.as_ref(), &options, schema, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn services_and_methods() {
    let schema = interp().register(&shelf_set()).unwrap();
    let services: Vec<_> = schema.descriptors().services().collect();
    assert_eq!(services.iter().map(|service| service.full_name()).collect::<Vec<_>>(), ["acme.Shelves"]);
    assert_eq!(services[0].file().name(), "acme/shelf.proto");
    let methods: Vec<_> = services[0]
        .methods()
        .map(|method| {
            let streams = (method.is_client_streaming(), method.is_server_streaming());
            let types = (method.input().full_name().to_owned(), method.output().full_name().to_owned());
            (method.grpc_path(), types, streams)
        })
        .collect();
    let shelf = || "acme.Shelf".to_owned();
    assert_eq!(
        methods,
        [
            ("/acme.Shelves/Get".to_owned(), (shelf(), shelf()), (false, false)),
            ("/acme.Shelves/Put".to_owned(), (shelf(), "acme.Shelf.Book".to_owned()), (false, true)),
            ("/acme.Shelves/Watch".to_owned(), (shelf(), shelf()), (true, true)),
        ]
    );
}

#[test]
fn http_rule_as_message() {
    for engine in [Engine::Interp, Engine::Jit] {
        let schema = Runtime::builder().engine(engine).build().register(&shelf_set()).unwrap();
        let service = schema.descriptors().service("acme.Shelves").unwrap();
        let options = schema.options(&service.method("Put").unwrap()).unwrap();
        let rule = options.as_ref().get_by_number(72_295_728).unwrap().as_message().unwrap();
        assert_eq!(rule.def().full_name.as_ref(), "google.api.HttpRule");
        assert_eq!(rule.get_by_name("post").unwrap().as_str().unwrap().to_str(), Ok("/v1/shelves"));
        assert_eq!(rule.get_by_name("body").unwrap().as_str().unwrap().to_str(), Ok("*"));
        let pattern = rule.which_oneof_named("pattern").unwrap();
        assert_eq!(pattern.number, 4);
        let more = rule.get_by_name("additional_bindings").unwrap().as_list().unwrap().as_messages().unwrap();
        let get = |at: usize, name: &str| more.get(at).unwrap().get_by_name(name).unwrap().as_str().unwrap();
        assert_eq!(
            (more.len(), get(0, "put").to_str(), get(0, "body").to_str()),
            (2, Ok("/v1/{name=shelves/*}"), Ok("shelf"))
        );
        assert_eq!(get(1, "get").to_str(), Ok("/v1/put"));
        assert_eq!(options.as_ref().get_by_name("deprecated").unwrap().as_bool(), Some(true));

        let options = schema.options(&service.method("Get").unwrap()).unwrap();
        assert_eq!(in_text(&schema, &options), r#"[google.api.http] { get: "/v1/{name=shelves/*}" }"#);
        assert!(schema.options(&service.method("Watch").unwrap()).unwrap().as_ref().is_empty());
    }
}

#[test]
fn options_of_all_kinds() {
    let schema = interp().register(&shelf_set()).unwrap();
    let descriptors = schema.descriptors();
    let shelf = descriptors.message("acme.Shelf").unwrap();
    let size = descriptors.enum_("acme.Size").unwrap();
    let text = |message: Result<Message, _>| in_text(&schema, &message.unwrap());
    let file = text(schema.options(&descriptors.file("acme/shelf.proto").unwrap()));
    assert_eq!(
        file,
        r#"java_package: "com.acme" [acme.of_file] { grams: 1 parts { key: "cover" value { grams: 2 } } }"#
    );
    assert_eq!(text(schema.options(&shelf)), "[acme.of_message] { grams: 3 }");
    let field = shelf.field("name").unwrap();
    assert_eq!(text(schema.options(&field)), "[acme.of_field] { grams: 4 } [acme.of_field] { grams: 5 }");
    assert_eq!(text(schema.options(&shelf.oneof("place").unwrap())), r#"[acme.of_oneof]: "here""#);
    assert_eq!(text(schema.options(&size)), "[acme.of_enum]: LARGE");
    assert_eq!(text(schema.options(&size.value("LARGE").unwrap())), "deprecated: true [acme.of_value]: -7");
    assert_eq!(text(schema.options(&size.value("SMALL").unwrap())), "");
    let service = descriptors.service("acme.Shelves").unwrap();
    assert_eq!(text(schema.options(&service)), r#"[acme.of_service]: "\000\377""#);
    assert_eq!(text(schema.options(&descriptors.extension("acme.of_file").unwrap())), "");
}

/// Without `descriptor.proto` in the set, options are read with the one that is built in, and by schemas that know more.
#[test]
fn options_without_their_messages() {
    let full = shelf_set();
    let plain = set(&[(
        "m.proto",
        "syntax = \"proto3\"; message M { int32 a = 1 [deprecated = true, jstype = JS_NORMAL]; oneof o { int32 b = 2; } }",
    )]);
    let schema = interp().register(&plain).unwrap();
    assert!(schema.descriptors().message("google.protobuf.FieldOptions").is_none());
    let m = schema.message("M").unwrap().descriptor();
    let options = schema.options(&m.field("a").unwrap()).unwrap();
    assert_eq!(in_text(&schema, &options), "deprecated: true jstype: JS_NORMAL");
    assert!(schema.options(&m.oneof("o").unwrap()).unwrap().as_ref().is_empty());
    // One that does not know the extension keeps it unknown; one that does reads it for others.
    let knows = interp().register(&full).unwrap();
    let put = knows.descriptors().service("acme.Shelves").unwrap().method("Get").unwrap();
    let unknown = schema.options(&put).unwrap();
    let numbers: Vec<u32> = unknown.as_ref().unknown_fields().iter().map(|field| field.number).collect();
    assert_eq!(numbers, [72_295_728]);
    // What is no options message is an error, not a panic.
    let bad = b"\x0a\x10\x0a\x01f\x22\x0b\x0a\x01M\x3a\x06\xba\x3e\x03\x0a\xff\x01";
    let schema = interp().register(bad).unwrap();
    let error = schema.options(&schema.message("M").unwrap().descriptor()).unwrap_err();
    assert!(error.path().to_string().starts_with("MessageOptions"), "{error}");
}

#[test]
fn versions_side_by_side() {
    let runtime = interp();
    let versions: Vec<Schema> = (0..200)
        .map(|version| {
            let text =
                format!("syntax = \"proto3\"; package acme; message Order {{ string v{version} = {}; }}", version + 1);
            runtime.register(&set(&[("order.proto", &text)])).unwrap()
        })
        .collect();
    let types: Vec<_> = versions.iter().map(|schema| schema.message("acme.Order").unwrap()).collect();
    for (version, ty) in types.iter().enumerate() {
        let mut wire = vec![];
        for mut tag in [(version as u32 + 1) << 3 | 2, 1000 << 3 | 2] {
            while tag >= 0x80 {
                wire.push(tag as u8 | 0x80);
                tag >>= 7;
            }
            wire.extend([tag as u8, 1, b'a' + (version % 26) as u8]);
        }
        let message = ty.decode_owned(&wire).unwrap();
        let value = message.as_ref().get_by_name(&format!("v{version}")).unwrap().as_str().unwrap();
        assert_eq!(value.to_str().unwrap().as_bytes(), [b'a' + (version % 26) as u8]);
        assert!(message.as_ref().get_by_name(&format!("v{}", version + 1)).is_none());
        assert_eq!(message.as_ref().unknown_fields().iter().count(), 1);
        // The neighbour does not know the field.
        let other = types[(version + 1) % types.len()].decode_owned(&wire).unwrap();
        assert_eq!(other.as_ref().unknown_fields().iter().count(), 2);
    }
}

#[test]
fn index_paths() {
    let schema = interp().register(&shelf_set()).unwrap();
    for (path, name) in [
        (&[0][..], "acme.Weight"),
        (&[0, 0], "acme.Weight.PartsEntry"),
        (&[1], "acme.Shelf"),
        (&[1, 1], "acme.Shelf.Page"),
    ] {
        let ty = schema.message_at(path).unwrap();
        assert_eq!((ty.full_name(), ty.descriptor().index_path()), (name, path.to_vec()));
    }
    for bad in [&[][..], &[2], &[1, 2], &[1, 0, 0], &[u32::MAX]] {
        assert!(schema.message_at(bad).unwrap_err().to_string().contains(&format!("{bad:?}")), "{bad:?}");
    }
}

#[test]
fn exported_set_is_the_registered_one() {
    // Also what linking does not read: an unknown field of the set, one of the file, positions.
    let odd = b"\x9a\x3e\x01x\x0a\x0f\x0a\x01f\x22\x03\x0a\x01M\xa2\x3e\x02ab\x4a\x00";
    for set in [&shelf_set()[..], odd] {
        let schema = interp().register(set).unwrap();
        assert_eq!(schema.descriptor_set(), set);
        let again = interp().register(schema.descriptor_set()).unwrap();
        assert_eq!(again.descriptor_set(), set);
        let names =
            |schema: &Schema| schema.descriptors().messages().map(|m| m.full_name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&again), names(&schema));
    }
}

#[test]
fn public_and_weak_imports() {
    let files = [
        ("base.proto", "syntax = \"proto3\"; message Base { string name = 1; }"),
        ("middle.proto", "syntax = \"proto3\"; import public \"base.proto\";"),
        ("weak.proto", "syntax = \"proto2\"; message Weak { optional int32 a = 1; enum E { X = 0; } }"),
        (
            "top.proto",
            "syntax = \"proto2\"; import \"middle.proto\"; import weak \"weak.proto\";
             message Top { optional Base base = 1; optional Weak weak = 2; }",
        ),
    ];
    let set = set(&files);
    let schema = interp().register(&set).unwrap();
    let wire = b"\x0a\x03\x0a\x01a\x12\x02\x08\x05";
    let top = schema.message("Top").unwrap();
    assert_eq!(in_text(&schema, &top.decode_owned(wire).unwrap()), r#"base { name: "a" } weak { a: 5 }"#);
    let file = schema.descriptors().file("middle.proto").unwrap();
    assert_eq!(file.public_dependencies().map(|file| file.name().to_owned()).collect::<Vec<_>>(), ["base.proto"]);
    // A weak import may be missing from the set: what it holds is kept as it came.
    let without = without_file(&set, "weak.proto");
    let schema = interp().register(&without).unwrap();
    let top = schema.message("Top").unwrap();
    let message = top.decode_owned(wire).unwrap();
    assert_eq!(top.encode_to_vec(message.as_ref()).unwrap(), wire);
    assert!(schema.message("Weak").is_err());
    // Any other import may not.
    assert!(interp().register(&without_file(&set, "middle.proto")).unwrap_err().to_string().contains("middle.proto"));
}

/// The set without one of its files.
fn without_file(set: &[u8], name: &str) -> Vec<u8> {
    use prost::Message as _;
    let mut set = protojit_testing::schemas::parse(set);
    set.file.retain(|file| file.name() != name);
    set.encode_to_vec()
}

const EDITION: &str = r#"
    edition = "2023";
    package acme;
    import "acme/closed.proto";
    option features.field_presence = IMPLICIT;
    message Edition {
      string name = 1;
      Closed closed = 2;
      Edition child = 3 [features.message_encoding = DELIMITED];
      repeated int32 numbers = 4 [features.repeated_field_encoding = EXPANDED];
    }"#;

const CLOSED: &str = "edition = \"2023\"; package acme; option features.enum_type = CLOSED; enum Closed { ONE = 1; }";

fn edition() -> ProtoSources {
    let closure = |name: &str| (name == "acme/closed.proto").then(|| CLOSED.to_owned());
    // The enum is closed and does not begin with zero: a field of implicit presence could not have it.
    let text = EDITION.replace("Closed closed = 2;", "Closed closed = 2 [features.field_presence = EXPLICIT];");
    ProtoSources::new().file("acme/edition.proto", text).resolver(closure)
}

/// Runs the test below in a process of its own, where no `protoc` is to be found.
#[test]
fn editions_without_protoc() {
    let ran = this_program(&["--exact", "without_protoc", "--ignored", "--nocapture"])
        .env("PATH", "")
        .env_remove("PROTOC")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
#[ignore = "run by editions_without_protoc, in an environment made for it"]
fn without_protoc() {
    let error = edition().compile(["acme/edition.proto"]).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::NoProtoc);
    let text = error.to_string();
    assert!(text.starts_with("acme/edition.proto: the file uses editions, which only protoc compiles"), "{text}");
    assert!(text.contains("PROTOC") && text.contains("PATH") && text.contains("--descriptor_set_out"), "{text}");
    // An import is enough, and what needs no protoc does without.
    let importing = edition().file("top.proto", "syntax = \"proto3\"; import \"acme/edition.proto\";");
    assert_eq!(importing.compile(["top.proto"]).unwrap_err().kind(), SourceErrorKind::NoProtoc);
    edition().file("top.proto", "syntax = \"proto3\";").compile(["top.proto"]).unwrap();
}

/// A `protoc` to test with: the one that the conformance run fetches, or what the environment has.
fn protoc() -> Option<PathBuf> {
    let tools = std::env::var_os("PROTOJIT_TOOLS").map(PathBuf::from);
    let fetched =
        tools.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/conformance")).join("bin/protoc");
    let named = std::env::var_os("PROTOC").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join("protoc"));
    [Some(fetched), named].into_iter().flatten().chain(found).find(|path| path.is_file())
}

#[test]
fn editions_with_protoc() {
    let Some(protoc) = protoc() else {
        println!("skipped: there is no protoc; conformance/fetch.sh fetches one");
        return;
    };
    let sources = edition().protoc(&protoc);
    let schema = interp().register(&sources.compile(["acme/edition.proto"]).unwrap()).unwrap();
    let ty = schema.message_at(&[0]).unwrap();
    assert_eq!(ty.full_name(), "acme.Edition");
    // A closed enum's unknown number, a delimited child, and a list that is not packed.
    let wire = b"\x10\x01\x1b\x0a\x01a\x1c\x20\x01\x20\x02\x10\x05";
    let message = ty.decode_owned(wire).unwrap();
    assert_eq!(in_text(&schema, &message), r#"closed: ONE child { name: "a" } numbers: 1 numbers: 2"#);
    assert_eq!(ty.encode_to_vec(message.as_ref()).unwrap(), wire);
    // A file of editions among others.
    let text = "syntax = \"proto3\"; import \"acme/edition.proto\"; import \"google/protobuf/any.proto\"; \
                message Top { acme.Edition e = 1; google.protobuf.Any any = 2; }";
    let set = sources.clone().file("top.proto", text).compile(["top.proto"]).unwrap();
    let schema = interp().register(&set).unwrap();
    assert_eq!(schema.message_at(&[0]).unwrap().full_name(), "Top");
    assert!(schema.message("google.protobuf.Any").is_ok());
    // Features are options.
    let child = schema.message("acme.Edition").unwrap().descriptor().field("child").unwrap();
    assert_eq!(in_text(&schema, &schema.options(&child).unwrap()), "features { message_encoding: DELIMITED }");
    // Complaints name the file as it is imported.
    let bad = edition().protoc(&protoc).file("acme/closed.proto", "edition = \"2023\";\nmessage M { Missing m = 1; }");
    let error = bad.compile(["acme/edition.proto"]).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Invalid);
    assert!(error.to_string().contains("acme/closed.proto:2:13: "), "{error}");
    let missing = ProtoSources::new().protoc(&protoc).file("a.proto", "edition = \"2023\"; import \"gone.proto\";");
    assert_eq!(missing.compile(["a.proto"]).unwrap_err().kind(), SourceErrorKind::NotFound);
    let none = edition().protoc("no/such/protoc").compile(["acme/edition.proto"]).unwrap_err();
    assert_eq!(none.kind(), SourceErrorKind::Protoc);
}

/// Edition 2024 has imports for options alone, which need not be in the set.
#[test]
fn option_imports() {
    let Some(protoc) = protoc() else {
        println!("skipped: there is no protoc; conformance/fetch.sh fetches one");
        return;
    };
    let custom = "syntax = \"proto2\"; import \"google/protobuf/descriptor.proto\"; \
                  extend google.protobuf.MessageOptions { optional string note = 50001; }";
    let top = "edition = \"2024\"; import option \"custom.proto\"; message M { option (note) = \"n\"; int32 a = 1; }";
    let sources = ProtoSources::new().protoc(protoc).file("custom.proto", custom).file("top.proto", top);
    let set = match sources.compile(["top.proto"]) {
        Ok(set) => set,
        Err(error) => {
            println!("skipped: this protoc does not know edition 2024: {error}");
            return;
        }
    };
    for set in [set.clone(), without_file_raw(&set, "custom.proto")] {
        let schema = interp().register(&set).unwrap();
        let m = schema.message("M").unwrap();
        assert!(!schema.options(&m.descriptor()).unwrap().as_ref().is_empty());
        assert_eq!(in_text(&schema, &m.decode_owned(b"\x08\x01").unwrap()), "a: 1");
    }
}

/// As [`without_file`], for files that hold what no other reader here knows: bytes stay as they are.
fn without_file_raw(set: &[u8], name: &str) -> Vec<u8> {
    let schema = interp().register(set).unwrap();
    let mut kept = Vec::new();
    for file in schema.descriptors().files().filter(|file| file.name() != name) {
        kept.push(0x0a);
        prost::encoding::encode_varint(file.descriptor_bytes().len() as u64, &mut kept);
        kept.extend_from_slice(file.descriptor_bytes());
    }
    kept
}

/// The same file in memory, in a directory, by the closure and built in: the first of these counts.
#[test]
fn where_files_come_from() {
    let directory = std::env::temp_dir().join(format!("protojit-schemas-{}", std::process::id()));
    std::fs::create_dir_all(directory.join("a")).unwrap();
    let message = |name: &str| format!("syntax = \"proto3\"; message {name} {{}}");
    std::fs::write(directory.join("a/m.proto"), message("FromDirectory")).unwrap();
    std::fs::write(directory.join("secret.proto"), message("Secret")).unwrap();
    let only = |sources: &ProtoSources, name: &str| {
        let schema = interp().register(&sources.compile([name]).unwrap()).unwrap();
        schema.message_at(&[0]).unwrap().full_name().to_owned()
    };
    let text = message("FromClosure");
    let sources = ProtoSources::new().resolver(move |name| (name != "gone.proto").then(|| text.clone()));
    assert_eq!(only(&sources, "a/m.proto"), "FromClosure");
    let sources = sources.include(&directory);
    assert_eq!(only(&sources, "a/m.proto"), "FromDirectory");
    assert_eq!(only(&sources, "b/m.proto"), "FromClosure");
    let sources = sources.file("a/m.proto", message("FromMemory"));
    assert_eq!(only(&sources, "a/m.proto"), "FromMemory");
    // Files of descriptor sets can be imported.
    let given = set(&[("set.proto", "syntax = \"proto3\"; message FromSet {}")]);
    let user = "syntax = \"proto3\"; import \"set.proto\"; message M { FromSet f = 1; }";
    let with_set = ProtoSources::new().descriptor_set(&given).file("m.proto", user);
    assert_eq!(only(&with_set, "m.proto"), "M");
    assert_eq!(only(&with_set, "google/protobuf/any.proto"), "google.protobuf.Any");
    // Nothing leads out of a directory.
    let below = ProtoSources::new().include(directory.join("a"));
    for name in ["../secret.proto", "/etc/hosts", ""] {
        assert_eq!(below.compile([name]).unwrap_err().kind(), SourceErrorKind::InvalidName, "{name:?}");
    }
    let import = below.file("m.proto", "syntax = \"proto3\"; import \"../secret.proto\";");
    import.compile(["m.proto"]).unwrap_err();
    assert_eq!(ProtoSources::new().compile(["gone.proto"]).unwrap_err().kind(), SourceErrorKind::NotFound);
    let bad = ProtoSources::new().descriptor_set(b"\x0a").file("m.proto", "").compile(["m.proto"]).unwrap_err();
    assert_eq!(bad.kind(), SourceErrorKind::InvalidSet);
    std::fs::remove_dir_all(directory).unwrap();
}
