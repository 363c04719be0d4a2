//! Implementations of `Read` for the peers' generated messages: code that reads every field.
//!
//! What is generated is what a program that needs all fields would write by hand: one expression per field, in the
//! order of the descriptor. All peers get the same expressions, so that their sums are equal.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// A peer with generated messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Prost,
    Buffa,
    BuffaView,
    Quick,
}

impl Peer {
    pub const ALL: [Peer; 4] = [Peer::Prost, Peer::Buffa, Peer::BuffaView, Peer::Quick];

    /// The file that its code goes to.
    pub fn file(self) -> &'static str {
        match self {
            Peer::Prost => "prost.rs",
            Peer::Buffa => "buffa.rs",
            Peer::BuffaView => "buffa_view.rs",
            Peer::Quick => "quick.rs",
        }
    }

    /// The module of its messages.
    fn module(self) -> &'static str {
        match self {
            Peer::Prost => "crate::generated::prost",
            Peer::Buffa | Peer::BuffaView => "crate::generated::buffa",
            Peer::Quick => "crate::generated::quick",
        }
    }
}

/// The messages that borrow their input in quick-protobuf: those without strings and the like have no lifetime.
pub struct Borrowing(HashSet<String>);

impl Borrowing {
    /// Reads the generated code.
    pub fn scan(folder: &Path) -> std::io::Result<Borrowing> {
        let mut found = HashSet::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let package = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            for line in fs::read_to_string(&path)?.lines() {
                if let Some(name) = line.strip_prefix("pub struct ").and_then(|rest| rest.split_once("<'a>")) {
                    found.insert(format!("{package}.{}", name.0));
                }
            }
        }
        Ok(Borrowing(found))
    }
}

/// The code for one peer.
pub fn generate(set: &FileDescriptorSet, peer: Peer, quick: &Borrowing) -> String {
    let mut out = String::new();
    for file in &set.file {
        // What pb-rs could not read has no code.
        if peer == Peer::Quick && file.syntax() != "proto3" {
            continue;
        }
        for message in &file.message_type {
            let place = Place { peer, package: file.package(), parents: Vec::new() };
            add(&mut out, &place, message, quick);
        }
    }
    out
}

/// Where a message stands.
struct Place<'a> {
    peer: Peer,
    package: &'a str,
    parents: Vec<&'a str>,
}

impl Place<'_> {
    /// The path of a message's type.
    fn path(&self, message: &str, quick: &Borrowing) -> String {
        let Place { peer, package, parents } = self;
        let module = peer.module();
        let nested: String = parents.iter().map(|parent| format!("{}::", snake(parent))).collect();
        match peer {
            Peer::Prost | Peer::Buffa => format!("{module}::{package}::{nested}{message}"),
            Peer::BuffaView => format!("{module}::{package}::{nested}{message}View<'_>"),
            Peer::Quick if quick.0.contains(&format!("{package}.{message}")) => {
                format!("{module}::{package}::{message}<'_>")
            }
            Peer::Quick => format!("{module}::{package}::{message}"),
        }
    }

    /// The path of a oneof's type.
    fn oneof(&self, message: &str, oneof: &str) -> String {
        let Place { peer, package, .. } = self;
        let module = peer.module();
        let (snake, camel) = (snake(message), camel(oneof));
        match peer {
            Peer::Prost => format!("{module}::{package}::{snake}::{camel}"),
            Peer::Buffa => format!("{module}::{package}::__buffa::oneof::{snake}::{camel}"),
            Peer::BuffaView => format!("{module}::{package}::__buffa::view::oneof::{snake}::{camel}"),
            Peer::Quick => format!("{module}::{package}::mod_{message}::OneOf{oneof}"),
        }
    }
}

fn add(out: &mut String, place: &Place<'_>, message: &DescriptorProto, quick: &Borrowing) {
    let name = message.name();
    let mut body = String::new();
    let mut oneofs_done = HashSet::new();
    for field in &message.field {
        match field.oneof_index {
            Some(at) if !field.proto3_optional() => {
                if oneofs_done.insert(at) {
                    add_oneof(&mut body, place, message, at);
                }
            }
            _ => add_field(&mut body, place.peer, field),
        }
    }
    let _ = write!(
        out,
        "impl crate::read::Read for {} {{\n    #[inline]\n    fn read(&self) -> u64 {{\n        let mut sum = crate::read::MESSAGE;\n{body}        sum\n    }}\n}}\n",
        place.path(name, quick)
    );
    for nested in &message.nested_type {
        if nested.options.as_ref().is_some_and(|options| options.map_entry()) {
            continue;
        }
        let parents = place.parents.iter().copied().chain([name]).collect();
        add(out, &Place { peer: place.peer, package: place.package, parents }, nested, quick);
    }
}

fn add_field(body: &mut String, peer: Peer, field: &FieldDescriptorProto) {
    let (name, number) = (field.name(), field.number());
    let value = match (peer, field.r#type()) {
        (Peer::Quick, Type::Enum) => format!("&(self.{name} as i32)"),
        _ => format!("&self.{name}"),
    };
    let _ = writeln!(body, "        sum = sum.wrapping_add(crate::read::field({number}, {value}));");
}

fn add_oneof(body: &mut String, place: &Place<'_>, message: &DescriptorProto, at: i32) {
    let oneof = message.oneof_decl[at as usize].name();
    let path = place.oneof(message.name(), oneof);
    let _ = writeln!(body, "        sum = sum.wrapping_add(match &self.{oneof} {{");
    for field in message.field.iter().filter(|field| field.oneof_index == Some(at)) {
        let number = field.number();
        let pattern = match place.peer {
            Peer::Quick => format!("{path}::{}(value)", field.name()),
            _ => format!("Some({path}::{}(value))", camel(field.name())),
        };
        let _ = writeln!(body, "            {pattern} => crate::read::field({number}, value),");
    }
    let none = if place.peer == Peer::Quick { format!("{path}::None") } else { "None".to_owned() };
    let _ = writeln!(body, "            {none} => 0,\n        }});");
}

/// `page_view` to `PageView`.
fn camel(name: &str) -> String {
    let words = name.split('_');
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// `BenchPayload` to `bench_payload`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}
