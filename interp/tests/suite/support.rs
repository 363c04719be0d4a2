//! Schemas from source, and one comparable form of messages in memory and of prost-reflect's.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, Value};
use protojit_core::limits::Limits;
use protojit_core::memory::map::{MapKey, MapTable, key_of};
use protojit_core::memory::slots::{ListSlot, Storage, StrSlot};
use protojit_core::memory::{Arena, parts};
use protojit_core::program::{DecodeOptions, DecodeRef, EncodeOptions, EncodeRef, Layout, Programs};
use protojit_core::schema::Schema;
use protojit_interp::decode::{Input, decode, merge};
use protojit_interp::encode::{EncodeBuffer, append, encode, encode_to_slice, encoded_len};
use protojit_interp::presence::is_set;

/// One schema, for both sides.
pub struct Fixture {
    pub schema: Schema,
    pub programs: Programs,
    pub pool: DescriptorPool,
}

struct InMemory(HashMap<String, String>);

impl protox::file::FileResolver for InMemory {
    fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
        match self.0.get(name) {
            Some(source) => protox::file::File::from_source(name, source),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}

impl Fixture {
    /// The schema of these sources.
    pub fn new(files: &[(&str, &str)]) -> Fixture {
        let sources = files.iter().map(|(name, source)| (name.to_string(), source.to_string()));
        let mut resolver = protox::file::ChainFileResolver::new();
        resolver.add(InMemory(sources.collect()));
        resolver.add(protox::file::GoogleFileResolver::new());
        let mut compiler = protox::Compiler::with_file_resolver(resolver);
        compiler.include_imports(true).include_source_info(false);
        for (name, _) in files {
            compiler.open_file(name).unwrap_or_else(|error| panic!("{error:?}"));
        }
        Fixture::from_set(compiler.encode_file_descriptor_set())
    }

    /// The schema of a serialized set.
    pub fn from_set(set: Vec<u8>) -> Fixture {
        let pool = DescriptorPool::decode(&set[..]).unwrap();
        let schema = Schema::from_descriptor_set(set).unwrap();
        let programs = Programs::new(shared(&schema));
        Fixture { schema, programs, pool }
    }

    pub fn decoder(&self, message: &str) -> DecodeRef {
        self.decoder_with(message, DecodeOptions::default())
    }

    pub fn decoder_with(&self, message: &str, options: DecodeOptions) -> DecodeRef {
        self.programs.decode(self.schema.message(message).unwrap().id(), options)
    }

    pub fn encoder(&self, message: &str) -> EncodeRef {
        self.encoder_with(message, EncodeOptions::default())
    }

    pub fn encoder_with(&self, message: &str, options: EncodeOptions) -> EncodeRef {
        self.programs.encode(self.schema.message(message).unwrap().id(), options)
    }

    /// What prost-reflect makes of these bytes.
    pub fn oracle(&self, message: &str, bytes: &[u8]) -> Result<DynamicMessage, prost::DecodeError> {
        DynamicMessage::decode(self.pool.get_message_by_name(message).unwrap(), bytes)
    }
}

fn shared(schema: &Schema) -> Arc<protojit_core::schema::model::SchemaData> {
    schema.shared().clone()
}

/// A message or a value in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tree {
    /// Numbers and bools, zero-extended from their width.
    Bits(u64),
    Bytes(Vec<u8>),
    List(Vec<Tree>),
    Map(BTreeMap<Tree, Tree>),
    /// Fields by number, and the unknown fields' bytes.
    Message(BTreeMap<u32, Tree>, Vec<u8>),
}

impl Tree {
    /// The same without the order of unknown fields, which prost-reflect sorts.
    pub fn unordered(self) -> Tree {
        match self {
            Tree::List(elements) => Tree::List(elements.into_iter().map(Tree::unordered).collect()),
            Tree::Map(entries) => Tree::Map(entries.into_iter().map(|(key, value)| (key, value.unordered())).collect()),
            Tree::Message(fields, mut unknown) => {
                unknown.sort_unstable();
                Tree::Message(fields.into_iter().map(|(number, value)| (number, value.unordered())).collect(), unknown)
            }
            value => value,
        }
    }
}

/// Decodes in both ways in, which must agree, and gives the tree.
pub fn tree_of(program: &DecodeRef, bytes: &[u8]) -> Result<Tree, protojit_core::error::DecodeError> {
    let limits = Limits::default();
    let trees = [Input::Borrow, Input::Copy].map(|mode| {
        let arena = Arena::new();
        let root = decode(program, bytes, &arena, &limits, mode)?;
        // SAFETY: decoded by a program of that shape, and still alive.
        Ok(unsafe { tree(program.shape(), root.as_ptr()) })
    });
    assert_eq!(trees[0], trees[1]);
    let [tree, _] = trees;
    tree
}

/// The tree of a message in memory.
///
/// # Safety
/// `msg` is a live message of this layout.
pub unsafe fn tree(layout: &Layout, msg: *const u8) -> Tree {
    let mut fields = BTreeMap::new();
    // SAFETY: as promised to this function.
    unsafe {
        for slot in &layout.fields {
            if !is_set(msg, slot) {
                continue;
            }
            let cell = parts::part(msg, slot.page).add(slot.offset as usize);
            let child = slot.child.get();
            let value = match slot.storage {
                Storage::List => {
                    let list = cell.cast::<ListSlot>().read();
                    let width = slot.element.size() as usize;
                    Tree::List(
                        (0..list.len as usize).map(|at| value(slot.element, list.ptr.add(at * width), child)).collect(),
                    )
                }
                Storage::Map => {
                    let table = &*cell.cast::<*const MapTable>().read();
                    let entry = slot.entry.unwrap();
                    let entries = (0..table.len as usize).map(|at| {
                        let at = table.entries.add(at * entry.stride as usize);
                        let key = match key_of(at, &entry) {
                            MapKey::Bits(bits) => Tree::Bits(bits),
                            MapKey::Str(bytes) => Tree::Bytes(bytes.to_vec()),
                        };
                        (key, value(entry.value, at.add(entry.value_offset as usize), child))
                    });
                    Tree::Map(entries.collect())
                }
                storage => value(storage, cell, child),
            };
            fields.insert(slot.number, value);
        }
        let mut unknown = Vec::new();
        for run in parts::unknown(msg).elements::<StrSlot>() {
            unknown.extend_from_slice(run.bytes());
        }
        Tree::Message(fields, unknown)
    }
}

unsafe fn value(storage: Storage, cell: *const u8, child: Option<&Layout>) -> Tree {
    // SAFETY: as promised to `tree`.
    unsafe {
        match storage {
            Storage::Bool => Tree::Bits(cell.read().into()),
            Storage::Bits32 => Tree::Bits(cell.cast::<u32>().read().into()),
            Storage::Bits64 => Tree::Bits(cell.cast::<u64>().read()),
            Storage::Str => Tree::Bytes(cell.cast::<StrSlot>().read().bytes().to_vec()),
            Storage::Message => tree(child.unwrap(), cell.cast::<*const u8>().read()),
            Storage::List | Storage::Map => unreachable!(),
        }
    }
}

/// The tree of a message of prost-reflect's.
pub fn oracle_tree(message: &DynamicMessage) -> Tree {
    let mut fields = BTreeMap::new();
    for (field, value) in message.fields() {
        fields.insert(field.number(), oracle_value(value));
    }
    for (extension, value) in message.extensions() {
        fields.insert(extension.number(), oracle_value(value));
    }
    let mut unknown = Vec::new();
    for field in message.unknown_fields() {
        field.encode(&mut unknown);
    }
    Tree::Message(fields, unknown)
}

fn oracle_value(value: &Value) -> Tree {
    match value {
        Value::Bool(value) => Tree::Bits((*value).into()),
        Value::I32(value) | Value::EnumNumber(value) => Tree::Bits(*value as u32 as u64),
        Value::I64(value) => Tree::Bits(*value as u64),
        Value::U32(value) => Tree::Bits((*value).into()),
        Value::U64(value) => Tree::Bits(*value),
        Value::F32(value) => Tree::Bits(value.to_bits().into()),
        Value::F64(value) => Tree::Bits(value.to_bits()),
        Value::String(text) => Tree::Bytes(text.as_bytes().to_vec()),
        Value::Bytes(bytes) => Tree::Bytes(bytes.to_vec()),
        Value::Message(message) => oracle_tree(message),
        Value::List(values) => Tree::List(values.iter().map(oracle_value).collect()),
        Value::Map(entries) => Tree::Map(
            entries.iter().map(|(key, value)| (oracle_value(&key.clone().into()), oracle_value(value))).collect(),
        ),
    }
}

/// A message of prost-reflect's from its text form.
pub fn from_text(fixture: &Fixture, message: &str, text: &str) -> DynamicMessage {
    let descriptor = fixture.pool.get_message_by_name(message).unwrap();
    DynamicMessage::parse_text_format(descriptor, text).unwrap()
}

/// Its wire bytes.
pub fn wire(message: &DynamicMessage) -> Vec<u8> {
    message.encode_to_vec()
}

/// Encodes in every way out, which must agree.
///
/// # Safety
/// `msg` is a live message of the program's layout.
pub unsafe fn encode_all(program: &EncodeRef, msg: *const u8) -> Result<Vec<u8>, protojit_core::error::EncodeError> {
    let limits = Limits::default();
    // SAFETY: as promised to this function.
    unsafe {
        let mut buffer = EncodeBuffer::new();
        let bytes = encode(program, msg, &mut buffer, &limits)?.to_vec();
        assert_eq!(encode(program, msg, &mut buffer, &limits)?, bytes);
        assert_eq!(encoded_len(program, msg, &limits)?, bytes.len());
        let mut exact = vec![0; bytes.len()];
        assert_eq!(encode_to_slice(program, msg, &mut exact, &limits)?, bytes);
        if let Some(short) = bytes.len().checked_sub(1) {
            let error = encode_to_slice(program, msg, &mut exact[..short], &limits).unwrap_err();
            let needed = bytes.len();
            assert_eq!(error.kind(), protojit_core::error::EncodeErrorKind::BufferTooSmall { needed });
        }
        let mut vec = b"before".to_vec();
        assert_eq!(append(program, msg, &mut vec, &limits)?, bytes);
        assert_eq!(vec, [b"before", &bytes[..]].concat());
        Ok(bytes)
    }
}

/// Decodes and encodes again.
pub fn round_trip(decoder: &DecodeRef, encoder: &EncodeRef, bytes: &[u8]) -> Vec<u8> {
    let arena = Arena::new();
    let root = decode(decoder, bytes, &arena, &Limits::default(), Input::Borrow).unwrap();
    // SAFETY: decoded into the shape that is encoded, and still alive.
    unsafe { encode_all(encoder, root.as_ptr()).unwrap() }
}

/// Decodes the bytes up to a field's end near `at`, then merges the rest into the same message; `None` where there is no such end.
pub fn merged(program: &DecodeRef, bytes: &[u8], at: usize) -> Option<Tree> {
    let (arena, limits) = (Arena::new(), Limits::default());
    for at in at..bytes.len() {
        let Ok(root) = decode(program, &bytes[..at], &arena, &limits, Input::Borrow) else { continue };
        // SAFETY: decoded by this program, and still alive.
        unsafe {
            if merge(program, root, &bytes[at..], &arena, &limits, Input::Borrow).is_ok() {
                return Some(tree(program.shape(), root.as_ptr()));
            }
        }
    }
    None
}
