//! prost-reflect as an outside opinion on what bytes mean.
//!
//! Where it follows the specification it must agree with protojit on the value, or that there is none. Where it does not, [`Excuse`] says
//! which rule it breaks; whether an input gives it the occasion is found by a naive walk over the bytes.

use std::collections::BTreeMap;

use prost::encoding::DecodeContext;
use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, Syntax, UnknownField, Value};
use protojit::{DecodeError, DecodeErrorKind, MessageRef};
use protojit_core::message::{KeyRef, ValueRef};
use protojit_core::wire::{WireType, read_varint};

/// Why prost-reflect may be of another opinion. protojit follows the specification in each case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Excuse {
    /// A known number with another wire type is an unknown field; prost refuses the message. prost-reflect takes it for an entry where
    /// the field is a map, whatever the wire type, and goes on with what follows.
    WrongWireType,
    /// A number that a closed enum does not declare is an unknown field (in a map: the entry is); prost-reflect keeps it as a value.
    UndeclaredEnumNumber,
    /// proto2 does not check that strings are UTF-8; prost does.
    Proto2Utf8,
    /// A message without a required field is refused; prost-reflect checks nothing.
    Required,
    /// A tag has at most five bytes; prost reads up to ten.
    LongTag,
    /// Both have a limit of nesting, but count differently: to prost entries of maps are no level.
    Depth,
}

impl Excuse {
    /// All of them.
    pub const ALL: [Excuse; 6] = [
        Excuse::WrongWireType,
        Excuse::UndeclaredEnumNumber,
        Excuse::Proto2Utf8,
        Excuse::Required,
        Excuse::LongTag,
        Excuse::Depth,
    ];
}

/// Compares what protojit makes of `bytes` with what prost-reflect makes of them.
///
/// # Errors
/// They differ without an excuse.
pub fn compare(
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    ours: Result<MessageRef<'_>, DecodeError>,
) -> Result<Option<Excuse>, String> {
    let theirs = DynamicMessage::decode(descriptor.clone(), bytes);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let (ours, theirs) = (of_message(ours), of_dynamic(&theirs));
            match ours == theirs {
                true => Ok(None),
                false => match occasions(descriptor, bytes) {
                    Occasions { wrong_type: true, .. } => Ok(Some(Excuse::WrongWireType)),
                    Occasions { undeclared: true, .. } => Ok(Some(Excuse::UndeclaredEnumNumber)),
                    _ => Err(format!("protojit: {ours:?}\nprost-reflect: {theirs:?}")),
                },
            }
        }
        (Err(_), Err(_)) => Ok(None),
        (Ok(ours), Err(error)) => {
            let found = occasions(descriptor, bytes);
            let deep = error.to_string().contains("recursion");
            match () {
                () if found.wrong_type => Ok(Some(Excuse::WrongWireType)),
                () if found.proto2_utf8 => Ok(Some(Excuse::Proto2Utf8)),
                () if deep => Ok(Some(Excuse::Depth)),
                () => Err(format!("protojit: {:?}\nprost-reflect: {error}", of_message(ours))),
            }
        }
        (Err(error), Ok(theirs)) => {
            let long_tag = || bytes[error.offset()..].iter().take(5).all(|&byte| byte >= 0x80);
            match error.kind() {
                DecodeErrorKind::MissingRequired => Ok(Some(Excuse::Required)),
                DecodeErrorKind::DepthLimit => Ok(Some(Excuse::Depth)),
                DecodeErrorKind::InvalidTag if long_tag() => Ok(Some(Excuse::LongTag)),
                _ if occasions(descriptor, bytes).wrong_type => Ok(Some(Excuse::WrongWireType)),
                _ => Err(format!("protojit: {error}\nprost-reflect: {:?}", of_dynamic(&theirs))),
            }
        }
    }
}

/// A value in a form that both sides have.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Tree {
    /// Numbers, zero-extended; floats by their bits.
    Bits(u64),
    Bytes(Vec<u8>),
    List(Vec<Tree>),
    Map(BTreeMap<Tree, Tree>),
    /// Fields by number. Unknown fields too: prost-reflect keeps those of one number in their order, and writes them shortest.
    Message(BTreeMap<u32, Tree>, BTreeMap<u32, Vec<Vec<u8>>>),
}

fn shortest(field: &UnknownField) -> Vec<u8> {
    let mut out = Vec::new();
    field.encode(&mut out);
    out
}

fn of_message(message: MessageRef<'_>) -> Tree {
    let fields = message.set_fields().filter(|(slot, value)| {
        // prost-reflect takes -0.0 for unset where presence is implicit, since it equals 0.0.
        let implicit = slot.presence == protojit_core::program::SlotPresence::NonZero;
        !implicit || !matches!(value, ValueRef::F32(0.0) | ValueRef::F64(0.0))
    });
    let fields = fields.map(|(slot, value)| (slot.number, of_value(value))).collect();
    let mut unknown: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for field in message.unknown_fields() {
        let parsed = UnknownField::decode(&mut &field.bytes[..], DecodeContext::default());
        // Nested as deep as prost does not go: as they are.
        let bytes = parsed.map_or(field.bytes.to_vec(), |parsed| shortest(&parsed));
        unknown.entry(field.number).or_default().push(bytes);
    }
    Tree::Message(fields, unknown)
}

fn of_value(value: ValueRef<'_>) -> Tree {
    Tree::Bits(match value {
        ValueRef::Bool(value) => value.into(),
        ValueRef::I32(value) | ValueRef::Enum(value) => (value as u32).into(),
        ValueRef::I64(value) => value as u64,
        ValueRef::U32(value) => value.into(),
        ValueRef::U64(value) => value,
        ValueRef::F32(value) => value.to_bits().into(),
        ValueRef::F64(value) => value.to_bits(),
        ValueRef::Str(text) => return Tree::Bytes(text.as_bytes().to_vec()),
        ValueRef::Bytes(bytes) => return Tree::Bytes(bytes.to_vec()),
        ValueRef::Message(message) => return of_message(message),
        ValueRef::List(list) => return Tree::List(list.iter().map(of_value).collect()),
        ValueRef::Map(map) => {
            let key = |key: KeyRef<'_>| of_value(key.to_value_ref());
            return Tree::Map(map.iter().map(|(at, value)| (key(at), of_value(value))).collect());
        }
    })
}

fn of_dynamic(message: &DynamicMessage) -> Tree {
    let declared = message.fields().map(|(field, value)| (field.number(), of_dynamic_value(value)));
    let extensions = message.extensions().map(|(field, value)| (field.number(), of_dynamic_value(value)));
    let mut fields: BTreeMap<u32, Tree> = declared.chain(extensions).collect();
    fields.retain(|_, value| !matches!(value, Tree::List(list) if list.is_empty()));
    let mut unknown: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for field in message.unknown_fields() {
        unknown.entry(field.number()).or_default().push(shortest(field));
    }
    Tree::Message(fields, unknown)
}

fn of_dynamic_value(value: &Value) -> Tree {
    Tree::Bits(match value {
        Value::Bool(value) => (*value).into(),
        Value::I32(value) | Value::EnumNumber(value) => (*value as u32).into(),
        Value::I64(value) => *value as u64,
        Value::U32(value) => (*value).into(),
        Value::U64(value) => *value,
        Value::F32(value) => value.to_bits().into(),
        Value::F64(value) => value.to_bits(),
        Value::String(text) => return Tree::Bytes(text.clone().into_bytes()),
        Value::Bytes(bytes) => return Tree::Bytes(bytes.to_vec()),
        Value::Message(message) => return of_dynamic(message),
        Value::List(list) => return Tree::List(list.iter().map(of_dynamic_value).collect()),
        Value::Map(map) => {
            let entries =
                map.iter().map(|(key, value)| (of_dynamic_value(&key.clone().into()), of_dynamic_value(value)));
            return Tree::Map(entries.collect());
        }
    })
}

/// What there is in some bytes that prost-reflect treats differently.
#[derive(Default, Debug)]
struct Occasions {
    wrong_type: bool,
    undeclared: bool,
    proto2_utf8: bool,
}

fn occasions(descriptor: &MessageDescriptor, bytes: &[u8]) -> Occasions {
    let mut found = Occasions::default();
    walk(descriptor, bytes, &mut 0, None, &mut found);
    found
}

/// What the walk needs to know of a field or an extension.
struct Known {
    kind: Kind,
    list: bool,
    group: bool,
    proto2: bool,
}

fn known(descriptor: &MessageDescriptor, number: u32) -> Option<Known> {
    let proto2 = |file: prost_reflect::FileDescriptor| file.syntax() == Syntax::Proto2;
    if let Some(field) = descriptor.get_field(number) {
        let (list, group, proto2) = (field.is_list(), field.is_group(), proto2(field.parent_message().parent_file()));
        return Some(Known { kind: field.kind(), list, group, proto2 });
    }
    let field = descriptor.get_extension(number)?;
    let (list, group, proto2) = (field.is_list(), field.is_group(), proto2(field.parent_file()));
    Some(Known { kind: field.kind(), list, group, proto2 })
}

fn expected(known: &Known) -> WireType {
    match known.kind {
        Kind::Fixed32 | Kind::Sfixed32 | Kind::Float => WireType::Fixed32,
        Kind::Fixed64 | Kind::Sfixed64 | Kind::Double => WireType::Fixed64,
        Kind::Message(_) if known.group => WireType::StartGroup,
        Kind::String | Kind::Bytes | Kind::Message(_) => WireType::Len,
        _ => WireType::Varint,
    }
}

/// Looks through the fields from `*at` on, up to the end of the group `group`, if any. `None` where the bytes are not valid.
fn walk(
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    at: &mut usize,
    group: Option<u32>,
    found: &mut Occasions,
) -> Option<()> {
    while *at < bytes.len() {
        let tag = u32::try_from(read_varint(bytes, at)?).ok()?;
        let (number, wire_type) = (tag >> 3, WireType::of_tag(tag)?);
        if wire_type == WireType::EndGroup {
            let ends = group == Some(number);
            found.wrong_type |= !ends && known(descriptor, number).is_some();
            return ends.then_some(());
        }
        let Some(field) = known(descriptor, number) else {
            skip(bytes, at, number, wire_type)?;
            continue;
        };
        let packable = !matches!(field.kind, Kind::String | Kind::Bytes | Kind::Message(_));
        if wire_type == WireType::Len && field.list && packable {
            let content = content(bytes, at)?;
            if matches!(field.kind, Kind::Enum(_)) {
                let mut inner = 0;
                while inner < content.len() {
                    check_enum(&field, read_varint(content, &mut inner)?, found);
                }
            }
            continue;
        }
        if wire_type != expected(&field) {
            found.wrong_type = true;
            skip(bytes, at, number, wire_type)?;
            continue;
        }
        match &field.kind {
            Kind::Message(inner) if field.group => walk(inner, bytes, at, Some(number), found)?,
            Kind::Message(inner) => walk(inner, content(bytes, at)?, &mut 0, None, found)?,
            Kind::String => found.proto2_utf8 |= field.proto2 & std::str::from_utf8(content(bytes, at)?).is_err(),
            Kind::Enum(_) => check_enum(&field, read_varint(bytes, at)?, found),
            _ => skip(bytes, at, number, wire_type)?,
        }
    }
    Some(())
}

fn check_enum(field: &Known, value: u64, found: &mut Occasions) {
    if let Kind::Enum(definition) = &field.kind {
        let closed = definition.parent_file().syntax() == Syntax::Proto2;
        found.undeclared |= closed && definition.get_value(value as i32).is_none();
    }
}

fn content<'b>(bytes: &'b [u8], at: &mut usize) -> Option<&'b [u8]> {
    let len = usize::try_from(read_varint(bytes, at)?).ok()?;
    let content = bytes.get(*at..at.checked_add(len)?)?;
    *at += len;
    Some(content)
}

fn skip(bytes: &[u8], at: &mut usize, number: u32, wire_type: WireType) -> Option<()> {
    match wire_type {
        WireType::Varint => _ = read_varint(bytes, at)?,
        WireType::Fixed64 => *at += 8,
        WireType::Fixed32 => *at += 4,
        WireType::Len => _ = content(bytes, at)?,
        WireType::EndGroup => return None,
        WireType::StartGroup => loop {
            let tag = u32::try_from(read_varint(bytes, at)?).ok()?;
            match (tag >> 3, WireType::of_tag(tag)?) {
                (inner, WireType::EndGroup) => return (inner == number).then_some(()),
                (inner, wire_type) => skip(bytes, at, inner, wire_type)?,
            }
        },
    }
    (*at <= bytes.len()).then_some(())
}
