//! `docs/ERRORS.md` is complete, and its examples end as it says.

use protojit::json::{self, JsonReadOptions, JsonWriteOptions};
use protojit::text::{self, TextReadOptions};
use protojit::{Engine, Runtime};
use protojit_source::ProtoSources;

const DOCUMENT: &str = include_str!("../docs/ERRORS.md");

/// The enums whose variants the document lists, each in a section of its own, with the files that declare them.
const KINDS: [(&str, &str); 6] = [
    ("DecodeErrorKind", include_str!("../core/src/error.rs")),
    ("EncodeErrorKind", include_str!("../core/src/error.rs")),
    ("ReadErrorKind", include_str!("../src/convert/error.rs")),
    ("WriteErrorKind", include_str!("../src/convert/error.rs")),
    ("SchemaErrorKind", include_str!("../core/src/schema/error.rs")),
    ("SourceErrorKind", include_str!("../source/src/error.rs")),
];

/// The names of an enum's variants, in order.
fn variants<'a>(name: &str, source: &'a str) -> Vec<&'a str> {
    let (_, rest) = source.split_once(&format!("pub enum {name} {{\n")).expect("the enum is there");
    let (body, _) = rest.split_once("\n}").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    names.map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap()).collect()
}

/// The rows of a section's table: the kind and the example.
fn rows(section: &str) -> Vec<(&'static str, &'static str)> {
    let (_, rest) = DOCUMENT.split_once(&format!("\n## `{section}`\n")).expect("the section is there");
    let text = rest.split("\n## ").next().unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (kind, rest) = row.split_once("` |").unwrap();
        let example = rest.trim_end_matches('|').rsplit_once("| ").map_or("", |(_, example)| example);
        (kind, example.trim())
    })
    .collect()
}

/// What stands in the example, if it is of this sort.
fn example<'a>(sort: &str, example: &'a str) -> Option<&'a str> {
    example.strip_prefix(sort)?.strip_prefix(" `")?.strip_suffix('`')
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

#[test]
fn every_kind_has_its_row() {
    for (name, source) in KINDS {
        let documented: Vec<_> = rows(name).into_iter().map(|(kind, _)| kind).collect();
        let declared = variants(name, source);
        assert!(declared.len() > 5, "{name}: {declared:?}");
        assert_eq!(documented, declared, "{name}");
    }
}

#[test]
fn examples_end_as_documented() {
    let (_, rest) = DOCUMENT.split_once("```proto\n").unwrap();
    let (proto, _) = rest.split_once("```").unwrap();
    let set = ProtoSources::new().file("example.proto", proto).compile(["example.proto"]).unwrap();
    let mut ran = 0;
    for engine in [Engine::Interp, Engine::Jit] {
        let schema = Runtime::builder().engine(engine).build().register(&set).unwrap();
        let ty = schema.message("Example").unwrap();
        for (kind, text) in rows("DecodeErrorKind") {
            let Some(input) = example("bytes", text) else { continue };
            let error = ty.decode_owned(&bytes(input)).unwrap_err();
            assert_eq!(format!("{:?}", error.kind()), kind, "{engine} {input}");
            ran += 1;
        }
        for (kind, cell) in rows("ReadErrorKind") {
            let mut message = ty.new_message();
            let error = match (example("JSON", cell), example("text", cell)) {
                (Some(input), _) => {
                    json::read(input.as_bytes(), &mut message.as_mut(), &JsonReadOptions::default(), &schema)
                }
                (_, Some(input)) => {
                    text::read(input.as_bytes(), &mut message.as_mut(), &TextReadOptions::default(), &schema)
                }
                _ => continue,
            };
            assert_eq!(format!("{:?}", error.unwrap_err().kind()), kind, "{cell}");
            ran += 1;
        }
        for (kind, text) in rows("WriteErrorKind") {
            let Some(input) = example("bytes", text) else { continue };
            let message = ty.decode_owned(&bytes(input)).unwrap();
            let written = json::write(message.as_ref(), &JsonWriteOptions::default(), &schema, &mut Vec::new());
            assert_eq!(format!("{:?}", written.unwrap_err().kind()), kind, "{input}");
            ran += 1;
        }
    }
    assert_eq!(ran, 2 * (9 + 19 + 6));
}
