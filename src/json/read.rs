//! From JSON to message memory.

use protojit_core::message::{ListMut, MapMut, MessageMut};
use protojit_core::program::{FieldSlot, Layout};
use protojit_core::schema::model::{FieldDef, FieldKey, FieldKind, Presence, SchemaData, WellKnown};

use super::scalar::Scalar;
use super::tokenizer::{Token, Tokenizer};
use super::write_known::TYPE;
use super::{AnyResolver, ReadError, ReadErrorKind};
use crate::convert::error::{Fault, ReadFault, Within};
use crate::convert::fields::{Seen, check_required, extension_named, map_defs};
use crate::convert::path::PathStep;

/// The enum that `null` stands for.
pub(super) const NULL_VALUE: &str = "google.protobuf.NullValue";

/// How JSON is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JsonReadOptions {
    /// Skip members that are no fields, and values that are unknown names of enums: the field stays unset, the
    /// element or entry is left out.
    pub ignore_unknown: bool,
    /// Accept messages that lack required fields.
    pub allow_partial: bool,
    /// Read what [`unresolved_any_as_bytes`](super::JsonWriteOptions::unresolved_any_as_bytes) writes: the `value` of an
    /// `Any` whose type is not known is taken for its bytes, if it is base64.
    pub unresolved_any_as_bytes: bool,
    /// How deep messages, and the objects and arrays of `google.protobuf.Value`, may nest. Each level takes stack.
    pub max_depth: u32,
}

impl Default for JsonReadOptions {
    fn default() -> Self {
        JsonReadOptions { ignore_unknown: false, allow_partial: false, unresolved_any_as_bytes: false, max_depth: 100 }
    }
}

/// Reads a message from JSON. What the message held before is dropped.
///
/// Names may be those of the JSON mapping or those of the schema, extensions `[in.brackets]`. A field that is
/// `null` stays unset, a field that occurs twice is an error.
///
/// # Errors
/// The text is not JSON, or not of this message, or a limit is reached. Then the message holds what was read before the
/// error.
pub fn read(
    json: &[u8],
    message: &mut MessageMut<'_>,
    options: &JsonReadOptions,
    types: &dyn AnyResolver,
) -> Result<(), ReadError> {
    message.clear();
    let root = message.layout().def();
    let of = |fault: ReadFault| ReadError::of(*fault, json, &root.full_name);
    let text = protojit_core::message::StrRef::new(json).to_str();
    let text = text.map_err(|error| of(Fault::at(ReadErrorKind::InvalidUtf8, error.valid_up_to(), "")))?;
    let mut reader = Reader { tokens: Tokenizer::new(text), options, types, left: options.max_depth.saturating_add(1) };
    reader.message(message).and_then(|()| reader.tokens.end()).map_err(of)?;
    if !options.allow_partial {
        check_required(message.as_ref(), json.len()).map_err(of)?;
    }
    Ok(())
}

type Done = Result<(), ReadFault>;

pub(super) struct Reader<'i, 'o> {
    pub(super) tokens: Tokenizer<'i>,
    pub(super) options: &'o JsonReadOptions,
    pub(super) types: &'o dyn AnyResolver,
    /// Levels that may still be nested.
    pub(super) left: u32,
}

impl<'i> Reader<'i, '_> {
    /// One level deeper. Faults end everything, so that the count need not be right after one.
    #[inline]
    pub(super) fn nested(&mut self, read: impl FnOnce(&mut Self) -> Done) -> Done {
        if self.left == 0 {
            return Err(self.tokens.fault(ReadErrorKind::DepthLimit, ""));
        }
        self.left -= 1;
        read(self)?;
        self.left += 1;
        Ok(())
    }

    /// A message in its JSON form, whatever that is.
    pub(super) fn message(&mut self, message: &mut MessageMut<'_>) -> Done {
        self.tokens.peek()?;
        self.nested(|reader| match message.layout().def().well_known {
            None => reader.object(message, false),
            Some(known) => reader.well_known(known, message),
        })
    }

    /// A message as an object of its fields. In an `Any` one member is the type, which is known already.
    pub(super) fn object(&mut self, message: &mut MessageMut<'_>, in_any: bool) -> Done {
        self.tokens.object()?;
        let layout = message.layout();
        let (mut first, mut seen, mut next, mut types) = (true, Seen::default(), 0, 0);
        while let Some(name) = self.tokens.member(&mut first)? {
            if in_any && name == TYPE {
                types += 1;
                if types > 1 {
                    return Err(self.tokens.fault(ReadErrorKind::DuplicateField, TYPE));
                }
                self.tokens.string()?;
                continue;
            }
            match find(layout, &name, next) {
                Found::At(at) => {
                    next = at + 1;
                    if !seen.insert(at) {
                        return Err(self.tokens.fault(ReadErrorKind::DuplicateField, name.as_ref()));
                    }
                    let slot = &layout.fields[at];
                    self.field(message, slot).in_field(layout, slot)?;
                }
                Found::NotInShape => self.tokens.skip(self.left)?,
                Found::Nothing if self.options.ignore_unknown => self.tokens.skip(self.left)?,
                Found::Nothing => return Err(self.tokens.fault(ReadErrorKind::UnknownField, name.as_ref())),
            }
        }
        Ok(())
    }

    fn field(&mut self, message: &mut MessageMut<'_>, slot: &FieldSlot) -> Done {
        let layout = message.layout();
        let (schema, def) = (&*layout.schema, layout.field_def(slot));
        let name_at = self.tokens.last();
        if self.tokens.peek()? == Token::Null && !(slot.is_singular() && takes_null(schema, slot.kind)) {
            self.tokens.null()?;
            return Ok(());
        }
        if let (Some(oneof), FieldKey::Field(..)) = (def.oneof, slot.key)
            && let Some(other) = message.as_ref().which_oneof(oneof)
        {
            let other = &layout.field_def(other).name;
            return Err(Fault::at(ReadErrorKind::OneofConflict, name_at, format!("{other} is set already")));
        }
        if def.presence == Presence::Repeated {
            if let Some(key) = map_defs(schema, def) {
                let map = message.map(slot);
                let mut map = map.map_err(|error| Fault::of_set(error, name_at))?;
                return self.map(schema, key, &mut map);
            }
            let list = message.list(slot);
            let mut list = list.map_err(|error| Fault::of_set(error, name_at))?;
            return self.list(schema, slot.kind, &mut list);
        }
        if let FieldKind::Message(_) = slot.kind {
            let child = message.mutable(slot);
            let mut child = child.map_err(|error| Fault::of_set(error, name_at))?;
            return self.message(&mut child);
        }
        let scalar = self.scalar(schema, slot.kind)?;
        if let Some(value) = scalar.as_value() {
            let set = message.set_slot(slot, value);
            self.checked(set, &scalar)?;
        }
        Ok(())
    }

    /// An error of a value that the message did not take, unless it is to be ignored.
    fn checked(&self, set: Result<(), protojit_core::message::SetError>, scalar: &Scalar<'_>) -> Done {
        use protojit_core::message::SetError;
        match (set, scalar) {
            (Ok(()), _) => Ok(()),
            (Err(SetError::EnumNumber(_)), Scalar::Plain(_)) if self.options.ignore_unknown => Ok(()),
            (Err(error), _) => Err(Fault::of_set(error, self.tokens.last())),
        }
    }

    pub(super) fn list(&mut self, schema: &SchemaData, kind: FieldKind, list: &mut ListMut<'_>) -> Done {
        self.tokens.array()?;
        let (mut first, mut at) = (true, 0);
        while self.tokens.element(&mut first)? {
            self.element(schema, kind, list).within(|| PathStep::Index(at))?;
            at += 1;
        }
        Ok(())
    }

    #[inline]
    fn element(&mut self, schema: &SchemaData, kind: FieldKind, list: &mut ListMut<'_>) -> Done {
        if let FieldKind::Message(_) = kind {
            let child = list.push_message();
            let mut child = child.map_err(|error| Fault::of_set(error, self.tokens.last()))?;
            return self.message(&mut child);
        }
        let scalar = self.scalar(schema, kind)?;
        match scalar.as_value() {
            Some(value) => self.checked(list.push(value), &scalar),
            None => Ok(()),
        }
    }

    pub(super) fn map(&mut self, schema: &SchemaData, defs: (&FieldDef, &FieldDef), map: &mut MapMut<'_>) -> Done {
        self.tokens.object()?;
        let mut first = true;
        while let Some(key) = self.tokens.member(&mut first)? {
            self.entry(schema, defs, map, &key).within(|| PathStep::Key(key.as_ref().into()))?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        schema: &SchemaData,
        (key, value): (&FieldDef, &FieldDef),
        map: &mut MapMut<'_>,
        text: &str,
    ) -> Done {
        let key = self.map_key(key.kind, text)?;
        if map.as_ref().contains_key(key) {
            return Err(self.tokens.fault(ReadErrorKind::DuplicateKey, text));
        }
        let kind = value.kind;
        if let FieldKind::Message(_) = kind {
            let child = map.insert_message(key);
            let mut child = child.map_err(|error| Fault::of_set(error, self.tokens.last()))?;
            return self.message(&mut child);
        }
        let scalar = self.scalar(schema, kind)?;
        match scalar.as_value() {
            Some(value) => self.checked(map.insert(key, value), &scalar),
            None => Ok(()),
        }
    }
}

/// Whether `null` is a value of this type, and does not mean its absence.
fn takes_null(schema: &SchemaData, kind: FieldKind) -> bool {
    match kind {
        FieldKind::Message(id) => schema.message(id).well_known == Some(WellKnown::Value),
        FieldKind::Enum(id) => &*schema.enum_(id).full_name == NULL_VALUE,
        _ => false,
    }
}

/// What a member's name stands for.
enum Found {
    /// The field at this position in the layout.
    At(usize),
    /// A field that the shape leaves out.
    NotInShape,
    Nothing,
}

/// `next` is the position behind the field that came last: JSON tends to be in the order of the schema, with gaps.
fn find(layout: &Layout, name: &str, next: usize) -> Found {
    const AHEAD: usize = 4;
    for (at, slot) in layout.fields.iter().enumerate().skip(next).take(AHEAD) {
        if let FieldKey::Field(..) = slot.key
            && *layout.field_def(slot).json_name == *name
        {
            return Found::At(at);
        }
    }
    let def = layout.def();
    let number = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(extension) => extension_named(&layout.schema, layout.message, extension),
        None => {
            let at = def.field_json_named(name).or_else(|| def.field_named(name));
            at.map(|at| def.fields[at as usize].number)
        }
    };
    match number {
        None => Found::Nothing,
        Some(number) => match layout.numbers.get(number) {
            Some(at) => Found::At(at as usize),
            None => Found::NotInShape,
        },
    }
}
