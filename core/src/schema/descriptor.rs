//! Raw descriptors, read straight from their bytes.
//!
//! `descriptor.proto` cannot be decoded with itself here, and a generated reader would
//! drop what it does not know, such as options. So this is a small reader of the wire
//! format that borrows everything from the input and keeps for every element where it
//! stood. It reads exactly what linking needs.
//!
//! It behaves as a Protobuf parser does: the last occurrence of a scalar wins, `options`
//! that occur twice are merged (the range kept is that of the last), and a known field
//! with another wire type is an unknown field. It never recurses: nested messages are
//! handed back as slices to be read later.

use std::ops::Range;

use super::{error::SchemaErrorKind, features::FeatureOverrides, model::RawRange};

type Result<T, E = SchemaErrorKind> = std::result::Result<T, E>;

/// A piece of the input that knows where it stood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice<'a> {
    pub bytes: &'a [u8],
    at: u32,
}

impl<'a> Slice<'a> {
    /// The whole input, whose length must fit in 31 bits.
    pub fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn range(&self) -> RawRange {
        self.at..self.at + self.bytes.len() as u32
    }

    pub fn reader(self) -> Reader<'a> {
        Reader { bytes: self.bytes, at: 0, base: self.at as usize }
    }

    fn text(self) -> Result<&'a str> {
        simdutf8::basic::from_utf8(self.bytes).map_err(|_| SchemaErrorKind::NotUtf8 { offset: self.at as usize })
    }
}

/// A field's value. Fixed-width fields and groups, which no descriptor uses, are skipped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Bytes(Slice<'a>),
    Other,
}

impl<'a> Value<'a> {
    /// Numbers and enums: negative ones are ten bytes long, and longer ones are cut.
    pub fn as_i32(self) -> Option<i32> {
        match self {
            Value::Varint(value) => Some(value as i32),
            _ => None,
        }
    }

    fn as_bool(self) -> Option<bool> {
        match self {
            Value::Varint(value) => Some(value != 0),
            _ => None,
        }
    }

    fn as_bytes(self) -> Option<Slice<'a>> {
        match self {
            Value::Bytes(slice) => Some(slice),
            _ => None,
        }
    }

    fn set_text(self, to: &mut &'a str) -> Result<()> {
        if let Value::Bytes(slice) = self {
            *to = slice.text()?;
        }
        Ok(())
    }

    fn set_some_text(self, to: &mut Option<&'a str>) -> Result<()> {
        if let Value::Bytes(slice) = self {
            *to = Some(slice.text()?);
        }
        Ok(())
    }

    fn push_slice(self, to: &mut Vec<Slice<'a>>) -> Result<()> {
        if let Value::Bytes(slice) = self {
            push(slice, to)?;
        }
        Ok(())
    }

    fn push_text(self, to: &mut Vec<&'a str>) -> Result<()> {
        if let Value::Bytes(slice) = self {
            push(slice.text()?, to)?;
        }
        Ok(())
    }

    /// A repeated `int32`, packed or not.
    fn push_i32s(self, to: &mut Vec<i32>) -> Result<()> {
        match self {
            Value::Varint(value) => to.push(value as i32),
            Value::Bytes(slice) => {
                let mut reader = slice.reader();
                while !reader.is_empty() {
                    to.push(reader.varint()? as i32);
                }
            }
            Value::Other => {}
        }
        Ok(())
    }
}

/// No list of one element is longer: two bytes of input buy up to 64 of list here,
/// before anything is counted against the limits.
const MAX_LIST: usize = 1 << 20;

fn push<T>(item: T, to: &mut Vec<T>) -> Result<()> {
    if to.len() == MAX_LIST {
        return Err(SchemaErrorKind::LimitExceeded { limit: "parts of one element", max: MAX_LIST });
    }
    to.push(item);
    Ok(())
}

/// Groups nested deeper than this inside an unknown field are refused.
const MAX_GROUPS: usize = 100;

/// Reads fields one after the other.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    base: usize,
}

impl<'a> Reader<'a> {
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn malformed(&self, what: &'static str) -> SchemaErrorKind {
        SchemaErrorKind::Malformed { offset: self.base + self.at, what }
    }

    fn varint(&mut self) -> Result<u64> {
        let rest = &self.bytes[self.at..];
        if let Some(&first) = rest.first()
            && first < 0x80
        {
            self.at += 1;
            return Ok(first.into());
        }
        let mut value = 0;
        for (i, &byte) in rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                if i == 9 && byte > 1 {
                    break;
                }
                self.at += i + 1;
                return Ok(value);
            }
        }
        Err(self.malformed(if rest.len() < 10 { "truncated varint" } else { "varint longer than 64 bits" }))
    }

    fn skip(&mut self, len: u64) -> Result<Range<usize>> {
        if len > (self.bytes.len() - self.at) as u64 {
            return Err(self.malformed("truncated field"));
        }
        let start = self.at;
        self.at += len as usize;
        Ok(start..self.at)
    }

    fn tag(&mut self) -> Result<(u32, u8)> {
        let start = self.at;
        let tag = self.varint()?;
        if tag > u64::from(u32::MAX) || tag < 8 {
            self.at = start;
            return Err(self.malformed("invalid tag"));
        }
        Ok(((tag >> 3) as u32, (tag & 7) as u8))
    }

    /// The next field's number and value.
    pub fn next(&mut self) -> Result<Option<(u32, Value<'a>)>> {
        if self.is_empty() {
            return Ok(None);
        }
        let (number, wire_type) = self.tag()?;
        let value = match wire_type {
            0 => Value::Varint(self.varint()?),
            2 => {
                let len = self.varint()?;
                let range = self.skip(len)?;
                Value::Bytes(Slice { at: (self.base + range.start) as u32, bytes: &self.bytes[range] })
            }
            other => {
                self.skip_value(number, other)?;
                Value::Other
            }
        };
        Ok(Some((number, value)))
    }

    fn skip_value(&mut self, number: u32, wire_type: u8) -> Result<()> {
        let mut open = Vec::new();
        let (mut number, mut wire_type) = (number, wire_type);
        loop {
            match wire_type {
                0 => {
                    self.varint()?;
                }
                1 => {
                    self.skip(8)?;
                }
                2 => {
                    let len = self.varint()?;
                    self.skip(len)?;
                }
                3 if open.len() == MAX_GROUPS => return Err(self.malformed("groups too deep")),
                3 => open.push(number),
                4 if open.pop() != Some(number) => {
                    return Err(self.malformed("unexpected end-group tag"));
                }
                4 => {}
                5 => {
                    self.skip(4)?;
                }
                _ => return Err(self.malformed("invalid wire type")),
            }
            if open.is_empty() {
                return Ok(());
            }
            (number, wire_type) = self.tag()?;
        }
    }
}

/// Which options message is read.
#[derive(Clone, Copy)]
enum OptionsOf {
    File = 50,
    Message = 12,
    Field = 21,
    Oneof = 1,
    Enum = 7,
}

/// What linking needs of any options message.
#[derive(Clone, Default, Debug)]
pub(crate) struct RawOptions {
    pub range: RawRange,
    pub features: FeatureOverrides,
    pub map_entry: bool,
    pub message_set: bool,
    pub packed: Option<bool>,
}

impl RawOptions {
    fn merge(&mut self, of: OptionsOf, value: Value<'_>) -> Result<()> {
        let Value::Bytes(slice) = value else {
            return Ok(());
        };
        self.range = slice.range();
        let mut reader = slice.reader();
        while let Some((number, value)) = reader.next()? {
            match (of, number) {
                (OptionsOf::Message, 1) => {
                    self.message_set = value.as_bool().unwrap_or(self.message_set);
                }
                (OptionsOf::Message, 7) => {
                    self.map_entry = value.as_bool().unwrap_or(self.map_entry);
                }
                (OptionsOf::Field, 2) => self.packed = value.as_bool().or(self.packed),
                _ if number == of as u32 => {
                    if let Value::Bytes(set) = value {
                        self.features.merge(set)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Only the place of options that linking does not read.
fn options_range(value: Value<'_>, to: &mut RawRange) {
    if let Value::Bytes(slice) = value {
        *to = slice.range();
    }
}

/// A `FileDescriptorProto`.
#[derive(Default, Debug)]
pub(crate) struct RawFile<'a> {
    pub name: &'a str,
    pub package: &'a str,
    pub dependencies: Vec<&'a str>,
    pub public: Vec<i32>,
    pub weak: Vec<i32>,
    pub option_dependencies: Vec<&'a str>,
    pub messages: Vec<Slice<'a>>,
    pub enums: Vec<Slice<'a>>,
    pub services: Vec<Slice<'a>>,
    pub extensions: Vec<Slice<'a>>,
    pub options: RawOptions,
    pub syntax: &'a str,
    pub edition: Option<i32>,
}

impl<'a> RawFile<'a> {
    /// The name alone, to have it for errors in the rest.
    pub fn name_of(slice: Slice<'a>) -> Result<&'a str> {
        let mut name = "";
        let mut reader = slice.reader();
        while let Some((number, value)) = reader.next()? {
            if number == 1 {
                value.set_text(&mut name)?;
            }
        }
        Ok(name)
    }

    pub fn read(slice: Slice<'a>) -> Result<Self> {
        let mut file = Self::default();
        let mut reader = slice.reader();
        while let Some((number, value)) = reader.next()? {
            match number {
                1 => value.set_text(&mut file.name)?,
                2 => value.set_text(&mut file.package)?,
                3 => value.push_text(&mut file.dependencies)?,
                4 => value.push_slice(&mut file.messages)?,
                5 => value.push_slice(&mut file.enums)?,
                6 => value.push_slice(&mut file.services)?,
                7 => value.push_slice(&mut file.extensions)?,
                8 => file.options.merge(OptionsOf::File, value)?,
                10 => value.push_i32s(&mut file.public)?,
                11 => value.push_i32s(&mut file.weak)?,
                12 => value.set_text(&mut file.syntax)?,
                14 => file.edition = value.as_i32().or(file.edition),
                15 => value.push_text(&mut file.option_dependencies)?,
                _ => {}
            }
        }
        Ok(file)
    }
}

/// A `DescriptorProto`.
#[derive(Default, Debug)]
pub(crate) struct RawMessage<'a> {
    pub name: &'a str,
    pub fields: Vec<Slice<'a>>,
    pub messages: Vec<Slice<'a>>,
    pub enums: Vec<Slice<'a>>,
    pub extension_ranges: Vec<Range<i32>>,
    pub extensions: Vec<Slice<'a>>,
    pub options: RawOptions,
    pub oneofs: Vec<RawOneof<'a>>,
    pub reserved_ranges: Vec<Range<i32>>,
    pub reserved_names: Vec<&'a str>,
}

impl<'a> RawMessage<'a> {
    /// Reads over what is here; the lists keep their memory.
    pub fn read(&mut self, slice: Slice<'a>) -> Result<()> {
        self.name = "";
        self.fields.clear();
        self.messages.clear();
        self.enums.clear();
        self.extension_ranges.clear();
        self.extensions.clear();
        self.options = RawOptions::default();
        self.oneofs.clear();
        self.reserved_ranges.clear();
        self.reserved_names.clear();
        let mut reader = slice.reader();
        while let Some((number, value)) = reader.next()? {
            match number {
                1 => value.set_text(&mut self.name)?,
                2 => value.push_slice(&mut self.fields)?,
                3 => value.push_slice(&mut self.messages)?,
                4 => value.push_slice(&mut self.enums)?,
                5 => push_range(value, &mut self.extension_ranges)?,
                6 => value.push_slice(&mut self.extensions)?,
                7 => self.options.merge(OptionsOf::Message, value)?,
                8 => {
                    if let Value::Bytes(slice) = value {
                        push(RawOneof::read(slice)?, &mut self.oneofs)?;
                    }
                }
                9 => push_range(value, &mut self.reserved_ranges)?,
                10 => value.push_text(&mut self.reserved_names)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn push_range(value: Value<'_>, to: &mut Vec<Range<i32>>) -> Result<()> {
    let Value::Bytes(slice) = value else {
        return Ok(());
    };
    let mut range = 0..0;
    let mut reader = slice.reader();
    while let Some((number, value)) = reader.next()? {
        match number {
            1 => range.start = value.as_i32().unwrap_or(range.start),
            2 => range.end = value.as_i32().unwrap_or(range.end),
            _ => {}
        }
    }
    push(range, to)
}

/// A `OneofDescriptorProto`.
#[derive(Clone, Default, Debug)]
pub(crate) struct RawOneof<'a> {
    pub name: &'a str,
    pub options: RawOptions,
}

impl<'a> RawOneof<'a> {
    fn read(slice: Slice<'a>) -> Result<Self> {
        let mut oneof = Self::default();
        let mut reader = slice.reader();
        while let Some((number, value)) = reader.next()? {
            match number {
                1 => value.set_text(&mut oneof.name)?,
                2 => oneof.options.merge(OptionsOf::Oneof, value)?,
                _ => {}
            }
        }
        Ok(oneof)
    }
}

/// A `FieldDescriptorProto`.
#[derive(Clone, Default, Debug)]
pub(crate) struct RawField<'a> {
    pub range: RawRange,
    pub name: &'a str,
    pub extendee: Option<&'a str>,
    pub number: i32,
    pub label: Option<i32>,
    pub kind: Option<i32>,
    pub type_name: Option<&'a str>,
    pub default: Option<&'a [u8]>,
    pub options: RawOptions,
    pub oneof: Option<i32>,
    pub json_name: Option<&'a str>,
    pub proto3_optional: bool,
}

impl<'a> RawField<'a> {
    pub fn read(slice: Slice<'a>) -> Result<Self> {
        let mut field = Self { range: slice.range(), ..Self::default() };
        let mut reader = slice.reader();
        while let Some((number, value)) = reader.next()? {
            match number {
                1 => value.set_text(&mut field.name)?,
                2 => value.set_some_text(&mut field.extendee)?,
                3 => field.number = value.as_i32().unwrap_or(field.number),
                4 => field.label = value.as_i32().or(field.label),
                5 => field.kind = value.as_i32().or(field.kind),
                6 => value.set_some_text(&mut field.type_name)?,
                7 => field.default = value.as_bytes().map(|s| s.bytes).or(field.default),
                8 => field.options.merge(OptionsOf::Field, value)?,
                9 => field.oneof = value.as_i32().or(field.oneof),
                10 => value.set_some_text(&mut field.json_name)?,
                17 => field.proto3_optional = value.as_bool().unwrap_or(field.proto3_optional),
                _ => {}
            }
        }
        Ok(field)
    }
}

/// An `EnumDescriptorProto`.
#[derive(Default, Debug)]
pub(crate) struct RawEnum<'a> {
    pub name: &'a str,
    pub values: Vec<Slice<'a>>,
    pub options: RawOptions,
}

impl<'a> RawEnum<'a> {
    pub fn read(slice: Slice<'a>) -> Result<Self> {
        let mut def = Self::default();
        let mut reader = slice.reader();
        while let Some((number, value)) = reader.next()? {
            match number {
                1 => value.set_text(&mut def.name)?,
                2 => value.push_slice(&mut def.values)?,
                3 => def.options.merge(OptionsOf::Enum, value)?,
                _ => {}
            }
        }
        Ok(def)
    }
}

/// An `EnumValueDescriptorProto`.
#[derive(Default, Debug)]
pub(crate) struct RawEnumValue<'a> {
    pub name: &'a str,
    pub number: i32,
    pub options: RawRange,
}

impl<'a> RawEnumValue<'a> {
    pub fn read(slice: Slice<'a>) -> Result<Self> {
        let mut def = Self::default();
        let mut reader = slice.reader();
        while let Some((number, value)) = reader.next()? {
            match number {
                1 => value.set_text(&mut def.name)?,
                2 => def.number = value.as_i32().unwrap_or(def.number),
                3 => options_range(value, &mut def.options),
                _ => {}
            }
        }
        Ok(def)
    }
}

/// A `ServiceDescriptorProto`.
#[derive(Default, Debug)]
pub(crate) struct RawService<'a> {
    pub name: &'a str,
    pub methods: Vec<Slice<'a>>,
    pub options: RawRange,
}

impl<'a> RawService<'a> {
    pub fn read(slice: Slice<'a>) -> Result<Self> {
        let mut def = Self::default();
        let mut reader = slice.reader();
        while let Some((number, value)) = reader.next()? {
            match number {
                1 => value.set_text(&mut def.name)?,
                2 => value.push_slice(&mut def.methods)?,
                3 => options_range(value, &mut def.options),
                _ => {}
            }
        }
        Ok(def)
    }
}

/// A `MethodDescriptorProto`.
#[derive(Default, Debug)]
pub(crate) struct RawMethod<'a> {
    pub name: &'a str,
    pub input: &'a str,
    pub output: &'a str,
    pub options: RawRange,
    pub client_streaming: bool,
    pub server_streaming: bool,
}

impl<'a> RawMethod<'a> {
    pub fn read(slice: Slice<'a>) -> Result<Self> {
        let mut def = Self::default();
        let mut reader = slice.reader();
        while let Some((number, value)) = reader.next()? {
            match number {
                1 => value.set_text(&mut def.name)?,
                2 => value.set_text(&mut def.input)?,
                3 => value.set_text(&mut def.output)?,
                4 => options_range(value, &mut def.options),
                5 => def.client_streaming = value.as_bool().unwrap_or(def.client_streaming),
                6 => def.server_streaming = value.as_bool().unwrap_or(def.server_streaming),
                _ => {}
            }
        }
        Ok(def)
    }
}
