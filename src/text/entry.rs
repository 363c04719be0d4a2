//! Entries of maps: messages with a key and a value, in either order.

use protojit_core::message::MapMut;
use protojit_core::schema::model::{FieldDef, FieldKind, SchemaData};

use super::ReadErrorKind;
use super::read::Reader;
use super::scalar::{Scalar, scalar};
use crate::convert::error::{Fault, ReadFault, Within};
use crate::convert::path::PathStep;

type Done = Result<(), ReadFault>;

impl<'i> Reader<'i, '_> {
    /// One entry. Of several with the same key the last one counts.
    pub(super) fn entry(
        &mut self,
        schema: &SchemaData,
        key_def: &FieldDef,
        value_def: &FieldDef,
        map: &mut MapMut<'_>,
    ) -> Done {
        let close = self.lexer.open()?;
        if self.left == 0 {
            return Err(self.lexer.fault(ReadErrorKind::DepthLimit, ""));
        }
        self.left -= 1;
        let begin = self.lexer.last();
        let mut key: Option<Scalar<'i>> = None;
        // Where the value stands that came before its key.
        let mut postponed = None;
        let mut has_value = false;
        while !self.lexer.eat(close) {
            let name = self.lexer.name();
            let again = match name {
                Some("key") => key.is_some(),
                Some("value") => std::mem::replace(&mut has_value, true),
                Some(name) => {
                    if !self.options.ignore_unknown {
                        return Err(self.lexer.fault(ReadErrorKind::UnknownField, name));
                    }
                    self.lexer.skip_value(self.left)?;
                    self.lexer.separator();
                    continue;
                }
                None => return Err(self.lexer.syntax("\"key\", \"value\" or the end of an entry")),
            };
            if again {
                return Err(self.lexer.fault(ReadErrorKind::DuplicateField, name.unwrap_or_default()));
            }
            match (name, &key) {
                (Some("key"), _) => {
                    if !self.lexer.eat(b':') {
                        return Err(self.lexer.syntax("':'"));
                    }
                    let read = scalar(&mut self.lexer, schema, key_def.kind);
                    key = Some(read.within(|| PathStep::Field("key".into()))?);
                }
                (_, Some(key)) => self.entry_value(schema, value_def.kind, key, map)?,
                (_, None) => {
                    postponed = Some(self.lexer.position());
                    self.lexer.skip_value(self.left)?;
                }
            }
            self.lexer.separator();
        }
        let end = self.lexer.position();
        let key = key.unwrap_or_else(|| Scalar::zero(schema, key_def.kind));
        if let Some(position) = postponed {
            self.lexer.go_to(position);
            self.entry_value(schema, value_def.kind, &key, map)?;
            self.lexer.go_to(end);
        } else if !has_value {
            let of_set = |error| Fault::of_set(error, begin);
            let key = key.as_key().ok_or_else(|| self.lexer.fault(ReadErrorKind::WrongType, ""))?;
            match value_def.kind {
                FieldKind::Message(_) => map.insert_message(key).map(drop).map_err(of_set)?,
                kind => map.insert(key, Scalar::zero(schema, kind).as_value()).map_err(of_set)?,
            }
        }
        self.left += 1;
        Ok(())
    }

    fn entry_value(&mut self, schema: &SchemaData, kind: FieldKind, key: &Scalar<'_>, map: &mut MapMut<'_>) -> Done {
        let colon = self.lexer.eat(b':');
        let key = key.as_key().ok_or_else(|| self.lexer.fault(ReadErrorKind::WrongType, ""))?;
        let step = || PathStep::Key(crate::convert::fields::key_text(key));
        if let FieldKind::Message(_) = kind {
            let child = map.insert_message(key);
            let mut child = child.map_err(|error| Fault::of_set(error, self.lexer.last()))?;
            return self.message(&mut child).within(step);
        }
        if !colon {
            return Err(self.lexer.syntax("':'"));
        }
        let value = scalar(&mut self.lexer, schema, kind).within(step)?;
        let set = map.insert(key, value.as_value());
        self.checked(set).within(step)
    }
}
