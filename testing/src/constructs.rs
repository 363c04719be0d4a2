//! One message per construct: each kind as a singular, optional, repeated, packed, required, oneof, map, extension or group field,
//! and fields with tags of each length. What goes wrong with one of them carries its name.

use std::fmt::Write;

/// Kinds as schemas write them; `E` and `M` are an enum and a message.
const KINDS: [&str; 17] = [
    "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes", "uint32",
    "sfixed32", "sfixed64", "sint32", "sint64", "E", "M",
];

/// The smallest and the largest field number with a tag of one to five bytes.
const TAG_BORDERS: [u32; 10] = [1, 15, 16, 2047, 2048, 262_143, 262_144, 33_554_431, 33_554_432, 536_870_911];

const COMMON: &str = "enum E { E_ZERO = 0; E_ONE = 1; E_FAR = 70000; }\n";

fn is_packable(kind: &str) -> bool {
    !matches!(kind, "string" | "bytes" | "M")
}

/// What a map may have as key.
fn is_key(kind: &str) -> bool {
    !matches!(kind, "double" | "float" | "bytes" | "E" | "M")
}

/// The constructs of proto2 and proto3 as sources: `(name, text)`.
pub fn sources() -> [(&'static str, String); 2] {
    [("constructs2", proto2()), ("constructs3", proto3())]
}

fn proto3() -> String {
    let mut out = format!("syntax = \"proto3\";\npackage c3;\n{COMMON}message M {{ int32 a = 1; string b = 2; }}\n");
    for kind in KINDS {
        let mut message = |shape: &str, field: String| {
            writeln!(out, "message {shape}_{kind} {{ {field} }}").expect("a string takes all");
        };
        message("Singular", format!("{kind} f = 1;"));
        message("Optional", format!("optional {kind} f = 1;"));
        message("Repeated", format!("repeated {kind} f = 1;"));
        message("MapValue", format!("map<string, {kind}> f = 1;"));
        if is_packable(kind) {
            message("Unpacked", format!("repeated {kind} f = 1 [packed = false];"));
        }
        if is_key(kind) {
            message("MapKey", format!("map<{kind}, string> f = 1;"));
        }
    }
    out
}

fn proto2() -> String {
    let mut out = format!(
        "syntax = \"proto2\";\npackage c2;\n{COMMON}message M {{ optional int32 a = 1; optional string b = 2; }}\n"
    );
    let mut extensions = String::new();
    for kind in KINDS {
        let mut message = |shape: &str, fields: String| {
            writeln!(out, "message {shape}_{kind} {{ {fields} }}").expect("a string takes all");
        };
        message("Optional", format!("optional {kind} f = 1;"));
        message("Required", format!("required {kind} f = 1;"));
        message("Repeated", format!("repeated {kind} f = 1;"));
        message("Oneof", format!("oneof o {{ {kind} f = 1; int32 other = 2; }}"));
        message("MapValue", format!("map<int32, {kind}> f = 1;"));
        if is_packable(kind) {
            message("Packed", format!("repeated {kind} f = 1 [packed = true];"));
        }
        if is_key(kind) {
            message("MapKey", format!("map<{kind}, int32> f = 1;"));
        }
        message("Extended", "extensions 100 to max;".to_owned());
        writeln!(
            extensions,
            "extend Extended_{kind} {{ optional {kind} one_{kind} = 100; repeated {kind} many_{kind} = 101; }}"
        )
        .expect("a string takes all");
    }
    out.push_str(&extensions);
    let group = "{ optional int32 a = 1; optional string b = 2; }";
    for (shape, field) in [
        ("Optional", format!("optional group F = 1 {group}")),
        ("Required", format!("required group F = 1 {group}")),
        ("Repeated", format!("repeated group F = 1 {group}")),
        ("Oneof", format!("oneof o {{ group F = 1 {group} int32 other = 2; }}")),
        ("Extended", "extensions 100 to max;".to_owned()),
    ] {
        writeln!(out, "message {shape}_group {{ {field} }}").expect("a string takes all");
    }
    writeln!(out, "extend Extended_group {{ optional group One = 100 {group} repeated group Many = 101 {group} }}")
        .expect("a string takes all");
    for number in TAG_BORDERS {
        for kind in ["int32", "string", "M"] {
            writeln!(out, "message Tag{number}_{kind} {{ optional {kind} f = {number}; }}")
                .expect("a string takes all");
            writeln!(out, "message TagOfList{number}_{kind} {{ repeated {kind} f = {number}; }}")
                .expect("a string takes all");
        }
    }
    out.push_str("message Set { option message_set_wire_format = true; extensions 4 to max; }\n");
    out.push_str("extend Set { optional M item = 1000; }\n");
    out
}
