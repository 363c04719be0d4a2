//! The third pass: names become ids.
//!
//! Compilers write type names fully qualified (`.acme.Order`). A relative name is
//! searched as `protoc` does it: its first part from the innermost scope outwards, and
//! once that is found the rest must lie within. All files of the set are searched, whether
//! imported or not.

use super::{
    super::{
        descriptor::{RawField, RawMethod},
        error::{SchemaErrorKind as Kind, clip},
        model::{EnumId, EnumValueDef, ExtensionDef, FieldKind, FileId, MessageId, MethodDef, RawRange, Symbol},
    },
    Linker, Result,
    declare::{is_identifier, new_enum, new_message},
    field::{Home, TYPE_ENUM, TYPE_GROUP, TYPE_MESSAGE},
    over,
};

/// What a field's type name stands for.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Message(MessageId),
    Enum(EnumId),
}

impl<'a> Linker<'a> {
    fn lookup(&self, scope: &str, name: &str) -> Result<Option<Symbol>, Kind> {
        let symbols = &self.data.symbols;
        if let Some(absolute) = name.strip_prefix('.') {
            return Ok(symbols.get(absolute).copied());
        }
        let (first, nested) = match name.split_once('.') {
            Some((first, _)) => (first, true),
            None => (name, false),
        };
        let mut scope = scope;
        let mut candidate = String::with_capacity(scope.len() + 1 + name.len());
        loop {
            let dot = if scope.is_empty() { "" } else { "." };
            candidate.clear();
            candidate.extend([scope, dot, first]);
            self.count_name(candidate.len())?;
            if let Some(&symbol) = symbols.get(candidate.as_str()) {
                match symbol {
                    Symbol::Package | Symbol::Message(_) | Symbol::Enum(_) | Symbol::Service(_) if nested => {
                        candidate.push_str(&name[first.len()..]);
                        self.count_name(candidate.len())?;
                        return Ok(symbols.get(candidate.as_str()).copied());
                    }
                    Symbol::Message(_) | Symbol::Enum(_) if !nested => return Ok(Some(symbol)),
                    // Something else of that name: search on further out.
                    _ => {}
                }
            }
            if scope.is_empty() {
                return Ok(None);
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
    }

    /// A message or an enum, as the type of something in `file`.
    fn resolve_type(&mut self, file: FileId, scope: &str, name: &'a str, wants_enum: bool) -> Result<Target, Kind> {
        match self.lookup(scope, name)? {
            Some(Symbol::Message(id)) => Ok(Target::Message(id)),
            Some(Symbol::Enum(id)) => Ok(Target::Enum(id)),
            Some(_) => Err(Kind::wrong_type(name, "a type")),
            None => match name.strip_prefix('.') {
                Some(absolute) if self.files[file.index()].weak_missing => self.placeholder(file, absolute, wants_enum),
                _ => Err(Kind::unresolved(name)),
            },
        }
    }

    fn resolve_message(&mut self, file: FileId, scope: &str, name: &'a str) -> Result<MessageId, Kind> {
        match self.resolve_type(file, scope, name, false)? {
            Target::Message(id) => Ok(id),
            Target::Enum(_) => Err(Kind::wrong_type(name, "a message")),
        }
    }

    /// Stands in for a type whose file is a weak import that is not there.
    fn placeholder(&mut self, file: FileId, name: &'a str, wants_enum: bool) -> Result<Target, Kind> {
        match self.placeholders.get(name) {
            Some(&Symbol::Message(id)) => return Ok(Target::Message(id)),
            Some(&Symbol::Enum(id)) => return Ok(Target::Enum(id)),
            _ => {}
        }
        self.count_name(name.len())?;
        self.count_items(2)?;
        let name_at = name.rfind('.').map_or(0, |at| at as u32 + 1);
        let (symbol, target) = if wants_enum {
            let id = EnumId(self.data.enums.len() as u32);
            let mut def = new_enum(name.into(), name_at, file);
            let value = "PLACEHOLDER_VALUE";
            def.placeholder = true;
            def.by_name.insert(value.into(), 0);
            def.by_number.push((0, 0));
            def.values.push(EnumValueDef { name: value.into(), number: 0, options: RawRange::default() });
            self.data.enums.push(def);
            (Symbol::Enum(id), Target::Enum(id))
        } else {
            if self.data.messages.len() >= self.limits.max_messages {
                return Err(over("max_messages", self.limits.max_messages));
            }
            let id = MessageId(self.data.messages.len() as u32);
            let mut def = new_message(name.into(), name_at, file);
            def.placeholder = true;
            self.data.messages.push(def);
            (Symbol::Message(id), Target::Message(id))
        };
        self.placeholders.insert(name, symbol);
        Ok(target)
    }

    /// The type of a field that has one with a name.
    fn field_target(&mut self, file: FileId, scope: &str, raw: &RawField<'a>) -> Result<Option<Target>, Kind> {
        let named = matches!(raw.kind, None | Some(TYPE_MESSAGE) | Some(TYPE_GROUP) | Some(TYPE_ENUM));
        let name = raw.type_name.unwrap_or("");
        if !named {
            if name.is_empty() {
                return Ok(None);
            }
            let what = "a scalar with a type name";
            return Err(Kind::InvalidField { what });
        }
        if name.is_empty() {
            let what = "no type";
            return Err(Kind::InvalidField { what });
        }
        let wants_enum = raw.kind == Some(TYPE_ENUM);
        let target = self.resolve_type(file, scope, name, wants_enum)?;
        match (raw.kind, target) {
            (Some(TYPE_ENUM), Target::Message(_)) => Err(Kind::wrong_type(name, "an enum")),
            (Some(TYPE_MESSAGE | TYPE_GROUP), Target::Enum(_)) => Err(Kind::wrong_type(name, "a message")),
            _ => Ok(Some(target)),
        }
    }

    /// Reads and links the fields of all messages, and finishes each message with them.
    pub(super) fn resolve_fields(&mut self) -> Result<()> {
        let mut made_up = Vec::new();
        // Placeholders are added at the end meanwhile, and have no fields.
        for index in 0..self.messages.len() {
            let id = MessageId(index as u32);
            let def = &self.data.messages[index];
            let (file, scope) = (def.file, def.full_name.clone());
            let slices = self.messages[index].fields.clone();
            let mut fields = Vec::with_capacity(slices.len());
            made_up.clear();
            for (at, slice) in slices.enumerate() {
                let raw = RawField::read(self.raw_fields[slice]).map_err(|kind| self.fail(file, &scope, kind))?;
                let field = self
                    .check_field_name(&scope, raw.name)
                    .and_then(|()| self.field_target(file, &scope, &raw))
                    .and_then(|target| self.build_field(&Home::Message(id), file, &raw, target))
                    .map_err(|kind| self.fail(file, &format!("{scope}.{}", raw.name), kind))?;
                if let Some(validation) = raw.options.features.utf8_validation {
                    if let (true, FieldKind::Message(entry)) = (field.is_map, field.kind) {
                        self.map_utf8.push((entry, validation));
                    }
                    if let Some(inherits) = self.messages[index].inherits_utf8.get_mut(at) {
                        *inherits = false;
                    }
                }
                if raw.proto3_optional {
                    made_up.push(at as u32);
                }
                fields.push(field);
            }
            self.data.messages[index].fields = fields;
            self.finish_message(index, &made_up)?;
        }
        Ok(())
    }

    fn check_field_name(&self, scope: &str, name: &str) -> Result<(), Kind> {
        if scope.len() + 1 + name.len() > self.limits.max_name_bytes {
            return Err(over("max_name_bytes", self.limits.max_name_bytes));
        }
        if !is_identifier(name) {
            return Err(Kind::InvalidName { name: clip(name) });
        }
        Ok(())
    }

    pub(super) fn resolve_extensions(&mut self) -> Result<()> {
        for state in std::mem::take(&mut self.extensions) {
            let (file, raw) = (state.file, &state.raw);
            let scope = match state.full_name.rsplit_once('.') {
                Some((scope, _)) => scope,
                None => "",
            };
            let built = self.resolve_extendee(scope, raw).and_then(|extendee| {
                let target = self.field_target(file, scope, raw)?;
                let home = Home::Extension { extendee, features: state.features };
                let field = self.build_field(&home, file, raw, target)?;
                Ok((extendee, field))
            });
            let (extendee, field) = built.map_err(|kind| self.fail(file, &state.full_name, kind))?;
            self.data.extensions.push(ExtensionDef {
                full_name: state.full_name,
                file,
                parent: state.parent,
                extendee,
                field,
            });
        }
        Ok(())
    }

    fn resolve_extendee(&self, scope: &str, raw: &RawField<'a>) -> Result<MessageId, Kind> {
        let name = raw.extendee.unwrap_or("");
        match self.lookup(scope, name)? {
            Some(Symbol::Message(id)) => Ok(id),
            Some(_) => Err(Kind::wrong_type(name, "a message")),
            None => Err(Kind::unresolved(name)),
        }
    }

    pub(super) fn resolve_methods(&mut self) -> Result<()> {
        let services = std::mem::take(&mut self.methods);
        for (index, methods) in services.into_iter().enumerate() {
            let service = &self.data.services[index];
            let (file, scope) = (service.file, service.full_name.clone());
            let mut defs = Vec::with_capacity(methods.len());
            for raw in &methods {
                let def = self
                    .resolve_method(file, &scope, raw)
                    .map_err(|kind| self.fail(file, &format!("{scope}.{}", raw.name), kind))?;
                defs.push(def);
            }
            self.data.services[index].methods = defs;
        }
        Ok(())
    }

    fn resolve_method(&mut self, file: FileId, scope: &str, raw: &RawMethod<'a>) -> Result<MethodDef, Kind> {
        Ok(MethodDef {
            name: raw.name.into(),
            input: self.resolve_message(file, scope, raw.input)?,
            output: self.resolve_message(file, scope, raw.output)?,
            client_streaming: raw.client_streaming,
            server_streaming: raw.server_streaming,
            options: raw.options.clone(),
        })
    }
}
