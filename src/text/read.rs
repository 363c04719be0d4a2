//! From the text format to message memory.

use protojit_core::memory::Arena;
use protojit_core::message::{ListMut, MessageMut, SetError, StrRef, Value};
use protojit_core::program::{FieldSlot, Layout};
use protojit_core::schema::model::{FieldKey, FieldKind, SchemaData, WellKnown};

use super::lexer::{Lexer, Number};
use super::names::field_named;
use super::scalar::scalar;
use super::{AnyResolver, ReadError, ReadErrorKind, type_name};
use crate::convert::error::{Fault, ReadFault, Within};
use crate::convert::fields::{Seen, check_required, extension_named};
use crate::convert::path::PathStep;

/// How the text format is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextReadOptions {
    /// Skip fields and extensions that are not known. Reserved names are always skipped.
    pub ignore_unknown: bool,
    /// Accept field numbers in place of names, as [`TextWriteOptions::unknown_fields`](super::TextWriteOptions) prints
    /// them.
    pub field_numbers: bool,
    /// Accept messages that lack required fields.
    pub allow_partial: bool,
    /// How deep messages may nest. Each level takes stack.
    pub max_depth: u32,
}

impl Default for TextReadOptions {
    fn default() -> Self {
        TextReadOptions { ignore_unknown: false, field_numbers: false, allow_partial: false, max_depth: 100 }
    }
}

/// Reads a message from the text format. What the message held before is dropped.
///
/// A singular field that is given twice is an error, and so are two members of a oneof.
///
/// # Errors
/// The text is not in the text format, or not of this message, or a limit is reached. Then the message holds what was
/// read before the error.
pub fn read(
    text: &[u8],
    message: &mut MessageMut<'_>,
    options: &TextReadOptions,
    types: &dyn AnyResolver,
) -> Result<(), ReadError> {
    message.clear();
    let root = message.layout().def();
    let of = |fault: ReadFault| ReadError::of(*fault, text, &root.full_name);
    let source = StrRef::new(text).to_str();
    let source = source.map_err(|error| of(Fault::at(ReadErrorKind::InvalidUtf8, error.valid_up_to(), "")))?;
    let mut reader = Reader { lexer: Lexer::new(source), options, types, left: options.max_depth };
    reader.fields(message, None).map_err(of)?;
    if !options.allow_partial {
        check_required(message.as_ref(), text.len()).map_err(of)?;
    }
    Ok(())
}

type Done = Result<(), ReadFault>;

pub(super) struct Reader<'i, 'o> {
    pub(super) lexer: Lexer<'i>,
    pub(super) options: &'o TextReadOptions,
    types: &'o dyn AnyResolver,
    /// Levels of messages that may still be nested.
    pub(super) left: u32,
}

/// What a field's name stands for.
enum Found {
    /// The field at this position in the layout.
    At(usize),
    /// To be skipped.
    Skip,
}

impl Reader<'_, '_> {
    /// The fields of a message, to the bracket that closes it or to the end of the text.
    fn fields(&mut self, message: &mut MessageMut<'_>, close: Option<u8>) -> Done {
        let mut seen = Seen::default();
        loop {
            match (self.lexer.peek(), close) {
                (None, None) => return Ok(()),
                (Some(found), Some(close)) if found == close => {
                    self.lexer.eat(close);
                    return Ok(());
                }
                _ => self.field(message, &mut seen)?,
            }
            self.lexer.separator();
        }
    }

    /// A message in brackets.
    pub(super) fn message(&mut self, message: &mut MessageMut<'_>) -> Done {
        let close = self.lexer.open()?;
        if self.left == 0 {
            return Err(self.lexer.fault(ReadErrorKind::DepthLimit, ""));
        }
        self.left -= 1;
        // Faults end everything, so that the count need not be right after one.
        self.fields(message, Some(close))?;
        self.left += 1;
        Ok(())
    }

    fn field(&mut self, message: &mut MessageMut<'_>, seen: &mut Seen) -> Done {
        let layout = message.layout();
        let found = if self.lexer.eat(b'[') {
            let name = self.lexer.bracketed()?;
            if name.contains('/') {
                if layout.def().well_known != Some(WellKnown::Any) {
                    return Err(self.lexer.fault(ReadErrorKind::UnknownField, format!("[{name}]")));
                }
                return self.any(message, seen, &name);
            }
            let number = extension_named(&layout.schema, layout.message, &name);
            self.found(layout, number, || format!("[{name}]"))?
        } else if let Some(name) = self.lexer.name() {
            match field_named(layout, name) {
                None if layout.def().reserved_names.iter().any(|reserved| **reserved == *name) => Found::Skip,
                number => self.found(layout, number, || name.into())?,
            }
        } else if self.options.field_numbers
            && let Some(Number::Integer(digits, 10)) = self.lexer.number()?
        {
            let number = digits.parse::<u32>().ok();
            let number = number.filter(|&number| layout.schema.field_by_number(layout.message, number).is_some());
            self.found(layout, number, || digits.into())?
        } else {
            return Err(self.lexer.syntax("a field's name"));
        };
        match found {
            Found::Skip => self.lexer.skip_value(self.left),
            Found::At(at) => {
                let slot = &layout.fields[at];
                let new = seen.insert(at);
                if !new && slot.is_singular() {
                    return Err(self.lexer.fault(ReadErrorKind::DuplicateField, &*layout.field_def(slot).name));
                }
                self.value(message, slot).in_field(layout, slot)
            }
        }
    }

    /// `number` is that of a field in the schema, `None` where the name is not known.
    fn found(&self, layout: &Layout, number: Option<u32>, name: impl FnOnce() -> String) -> Result<Found, ReadFault> {
        match number {
            Some(number) => Ok(layout.numbers.get(number).map_or(Found::Skip, |at| Found::At(at as usize))),
            None if self.options.ignore_unknown => Ok(Found::Skip),
            None => Err(self.lexer.fault(ReadErrorKind::UnknownField, name())),
        }
    }

    /// What stands behind a field's name.
    fn value(&mut self, message: &mut MessageMut<'_>, slot: &FieldSlot) -> Done {
        let layout = message.layout();
        let def = layout.field_def(slot);
        let name_at = self.lexer.last();
        if let (Some(oneof), FieldKey::Field(..)) = (def.oneof, slot.key)
            && let Some(other) = message.as_ref().which_oneof(oneof)
        {
            let other = &layout.field_def(other).name;
            return Err(self.lexer.fault(ReadErrorKind::OneofConflict, format!("{other} is set already")));
        }
        let is_message = matches!(slot.kind, FieldKind::Message(_));
        // Before messages, and lists of them, the colon may be missing.
        if !self.lexer.eat(b':') && !is_message {
            return Err(self.lexer.syntax("':'"));
        }
        let of_set = |error| Fault::of_set(error, name_at);
        if let Some((key, value)) = crate::convert::fields::map_defs(&layout.schema, def) {
            let mut map = message.map(slot).map_err(of_set)?;
            return self.each(|reader| reader.entry(&layout.schema, key, value, &mut map));
        }
        if !slot.is_singular() {
            let mut list = message.list(slot).map_err(of_set)?;
            return self.each(|reader| reader.element(&layout.schema, slot.kind, &mut list));
        }
        if is_message {
            let mut child = message.mutable(slot).map_err(of_set)?;
            return self.message(&mut child);
        }
        let value = scalar(&mut self.lexer, &layout.schema, slot.kind)?;
        let set = message.set_slot(slot, value.as_value());
        self.checked(set)
    }

    pub(super) fn checked(&self, set: Result<(), SetError>) -> Done {
        set.map_err(|error| Fault::of_set(error, self.lexer.last()))
    }

    /// One element, or several in square brackets.
    fn each(&mut self, mut element: impl FnMut(&mut Self) -> Done) -> Done {
        if !self.lexer.eat(b'[') {
            return element(self);
        }
        if self.lexer.eat(b']') {
            return Ok(());
        }
        let mut at = 0;
        loop {
            element(self).within(|| PathStep::Index(at))?;
            at += 1;
            if self.lexer.eat(b']') {
                return Ok(());
            }
            if !self.lexer.eat(b',') {
                return Err(self.lexer.syntax("',' or ']'"));
            }
        }
    }

    fn element(&mut self, schema: &SchemaData, kind: FieldKind, list: &mut ListMut<'_>) -> Done {
        if let FieldKind::Message(_) = kind {
            let child = list.push_message();
            let mut child = child.map_err(|error| Fault::of_set(error, self.lexer.last()))?;
            return self.message(&mut child);
        }
        let value = scalar(&mut self.lexer, schema, kind)?;
        let pushed = list.push(value.as_value());
        self.checked(pushed)
    }

    /// The message of an `Any`, whose type URL has been read.
    fn any(&mut self, message: &mut MessageMut<'_>, seen: &mut Seen, url: &str) -> Done {
        let url_at = self.lexer.last();
        let invalid = |detail: String| Fault::at(ReadErrorKind::InvalidAny, url_at, detail);
        // It stands for both of its fields.
        for number in [1, 2] {
            if let Some(at) = message.layout().numbers.get(number)
                && !seen.insert(at as usize)
            {
                return Err(self.lexer.fault(ReadErrorKind::DuplicateField, "the Any has a value already"));
            }
        }
        let name = type_name(url).ok_or_else(|| invalid(format!("malformed type URL {url:?}")))?;
        let types = self.types;
        let found = types.resolve(url);
        let found = found.ok_or_else(|| self.lexer.fault(ReadErrorKind::UnresolvedAny, url))?;
        let arena = Arena::with_limit(message.arena().limit());
        let payload = MessageMut::new(found.shape(), &arena);
        let mut payload = payload.map_err(|full| Fault::of_arena(full, url_at))?;
        self.lexer.eat(b':');
        self.message(&mut payload).within(|| PathStep::Any(name.into()))?;
        let bytes = found.encode(payload.as_ref()).map_err(|error| invalid(error.to_string()))?;
        for (number, value) in [(1, Value::Str(url)), (2, Value::Bytes(&bytes))] {
            if let Some(slot) = message.layout().slot(number) {
                let set = message.set_slot(slot, value);
                self.checked(set)?;
            }
        }
        Ok(())
    }
}
