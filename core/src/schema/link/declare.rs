//! The second pass: every element gets its id, its full name and its features.

use hashbrown::hash_map::Entry;

use super::{
    super::{
        descriptor::{RawEnum, RawEnumValue, RawField, RawMethod, RawOptions, RawService, Slice},
        error::{SchemaError, SchemaErrorKind as Kind, clip},
        features::{EnumType, Features},
        model::{
            EnumDef, EnumId, EnumValueDef, ExtensionId, FileId, MessageDef, MessageId, OneofDef, RawRange, ServiceDef,
            ServiceId, Symbol,
        },
    },
    ExtensionState, Linker, MessageState, Result, over,
};

/// A message that waits to be declared.
struct Pending<'a> {
    slice: Slice<'a>,
    parent: Option<MessageId>,
    depth: usize,
}

/// A name and the scope it lives in, joined.
pub(super) struct FullName {
    text: String,
    scope_len: usize,
}

impl FullName {
    pub fn in_scope(scope: &str) -> Self {
        let mut text = String::with_capacity(scope.len() + 32);
        text.push_str(scope);
        if !scope.is_empty() {
            text.push('.');
        }
        Self { scope_len: text.len(), text }
    }

    /// The full name of `name`; the scope stays for the next.
    pub fn of(&mut self, name: &str) -> &str {
        self.text.truncate(self.scope_len);
        self.text.push_str(name);
        &self.text
    }

    fn own_name(&self) -> &str {
        &self.text[self.scope_len..]
    }
}

pub(super) fn is_identifier(name: &str) -> bool {
    !name.as_bytes().first().is_none_or(u8::is_ascii_digit)
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl<'a> Linker<'a> {
    /// Declares `name`, which was just put into `full`.
    fn declare(&mut self, full: &FullName, symbol: Symbol) -> Result<(), Kind> {
        let name = full.own_name();
        self.count_name(full.text.len())?;
        if !is_identifier(name) {
            return Err(Kind::InvalidName { name: clip(name) });
        }
        match self.data.symbols.entry(full.text.as_str().into()) {
            Entry::Occupied(_) => Err(Kind::DuplicateName),
            Entry::Vacant(entry) => {
                entry.insert(symbol);
                Ok(())
            }
        }
    }

    fn declare_in(&mut self, file: FileId, full: &mut FullName, name: &str, symbol: Symbol) -> Result<()> {
        full.of(name);
        self.declare(full, symbol).map_err(|kind| self.fail(file, &full.text, kind))
    }

    /// The features of a scope with these options inside one with those features.
    fn scope_features(&self, file: FileId, outer: Features, options: &RawOptions) -> Result<Features, Kind> {
        self.check_overrides(file, &options.features)?;
        Ok(outer.merged(&options.features))
    }

    pub(super) fn declare_file(&mut self, id: FileId) -> Result<()> {
        let state = &mut self.files[id.index()];
        let features = state.features;
        let package = state.raw.package;
        let messages = std::mem::take(&mut state.raw.messages);
        let enums = std::mem::take(&mut state.raw.enums);
        let extensions = std::mem::take(&mut state.raw.extensions);
        let services = std::mem::take(&mut state.raw.services);
        self.declare_package(package).map_err(|kind| self.fail(id, package, kind))?;
        for slice in enums {
            let declared = self.declare_enum(id, None, package, features, slice)?;
            self.data.files[id.index()].enums.push(declared);
        }
        for slice in extensions {
            let declared = self.declare_extension(id, None, package, features, slice)?;
            self.data.files[id.index()].extensions.push(declared);
        }
        let top = |slice| Pending { slice, parent: None, depth: 1 };
        let mut stack: Vec<_> = messages.into_iter().rev().map(top).collect();
        while let Some(pending) = stack.pop() {
            self.declare_message(id, pending, &mut stack)?;
        }
        for slice in services {
            self.declare_service(id, package, slice)?;
        }
        Ok(())
    }

    fn declare_package(&mut self, package: &str) -> Result<(), Kind> {
        if package.is_empty() {
            return Ok(());
        }
        let ends = package.match_indices('.').map(|(at, _)| at);
        let mut start = 0;
        for end in ends.chain([package.len()]) {
            let prefix = &package[..end];
            let name = &package[start..end];
            start = end + 1;
            self.count_name(prefix.len())?;
            if !is_identifier(name) {
                return Err(Kind::InvalidName { name: clip(name) });
            }
            match self.data.symbols.get(prefix) {
                Some(Symbol::Package) => {}
                Some(_) => return Err(Kind::DuplicateName),
                None => {
                    self.data.symbols.insert(prefix.into(), Symbol::Package);
                }
            }
        }
        Ok(())
    }

    fn declare_message(&mut self, file: FileId, pending: Pending<'a>, stack: &mut Vec<Pending<'a>>) -> Result<()> {
        let Pending { slice, parent, depth } = pending;
        let (scope, outer) = match parent {
            None => (self.files[file.index()].raw.package, self.files[file.index()].features),
            Some(parent) => (&*self.data.messages[parent.index()].full_name, self.messages[parent.index()].features),
        };
        let mut full = FullName::in_scope(scope);
        let files = &self.data.files;
        let inside = |scope: &str, kind| SchemaError::new(&files[file.index()].name, scope, kind);
        if depth > self.limits.max_nesting_depth {
            let kind = over("max_nesting_depth", self.limits.max_nesting_depth);
            return Err(inside(scope, kind));
        }
        if self.data.messages.len() >= self.limits.max_messages {
            let kind = over("max_messages", self.limits.max_messages);
            return Err(inside(scope, kind));
        }
        // One set of lists serves all messages, one after the other.
        let mut raw = std::mem::take(&mut self.scratch);
        raw.read(slice).map_err(|kind| inside(scope, kind))?;
        let id = MessageId(self.data.messages.len() as u32);
        self.declare_in(file, &mut full, raw.name, Symbol::Message(id))?;
        let name_at = full.scope_len as u32;
        let full_name: Box<str> = full.text.as_str().into();
        let fail = |this: &Self, kind| this.fail(file, &full_name, kind);

        let features = self.scope_features(file, outer, &raw.options).map_err(|kind| fail(self, kind))?;
        if raw.fields.len() > self.limits.max_fields_per_message {
            let kind = over("max_fields_per_message", self.limits.max_fields_per_message);
            return Err(fail(self, kind));
        }
        let items =
            raw.oneofs.len() + raw.extension_ranges.len() + raw.reserved_ranges.len() + raw.reserved_names.len();
        self.count_items(items).map_err(|kind| fail(self, kind))?;
        self.count_fields(raw.fields.len()).map_err(|kind| fail(self, kind))?;

        let mut def = new_message(full_name.clone(), name_at, file);
        def.parent = parent;
        def.is_map_entry = raw.options.map_entry;
        def.is_message_set = raw.options.message_set;
        def.raw = slice.range();
        def.options = raw.options.range.clone();
        def.reserved_names = raw.reserved_names.iter().map(|&name| name.into()).collect();
        self.data.messages.push(def);
        match parent {
            None => self.data.files[file.index()].messages.push(id),
            Some(parent) => self.data.messages[parent.index()].messages.push(id),
        }

        let mut inner = FullName::in_scope(&full_name);
        let mut oneofs = Vec::with_capacity(raw.oneofs.len());
        for (index, oneof) in (0..).zip(&raw.oneofs) {
            self.declare_in(file, &mut inner, oneof.name, Symbol::Oneof(id, index))?;
            oneofs.push(OneofDef {
                name: oneof.name.into(),
                synthetic: false,
                fields: Vec::new(),
                options: oneof.options.range.clone(),
            });
        }
        let (first_field, first_oneof) = (self.raw_fields.len(), self.raw_oneofs.len());
        self.raw_fields.append(&mut raw.fields);
        self.raw_oneofs.append(&mut raw.oneofs);
        self.messages.push(MessageState {
            fields: first_field..self.raw_fields.len(),
            oneofs: first_oneof..self.raw_oneofs.len(),
            features,
            inherits_utf8: [true; 2],
        });
        let mut enums = Vec::with_capacity(raw.enums.len());
        for slice in raw.enums.drain(..) {
            enums.push(self.declare_enum(file, Some(id), &full_name, features, slice)?);
        }
        let mut extensions = Vec::with_capacity(raw.extensions.len());
        for slice in raw.extensions.drain(..) {
            extensions.push(self.declare_extension(file, Some(id), &full_name, features, slice)?);
        }
        let (extension_ranges, reserved_ranges) =
            self.check_ranges(id, &raw.extension_ranges, &raw.reserved_ranges).map_err(|kind| fail(self, kind))?;
        let def = &mut self.data.messages[id.index()];
        def.oneofs = oneofs;
        def.enums = enums;
        def.extensions = extensions;
        def.extension_ranges = extension_ranges;
        def.reserved_ranges = reserved_ranges;

        let nested = raw.messages.drain(..).rev();
        stack.extend(nested.map(|slice| Pending { slice, parent: Some(id), depth: depth + 1 }));
        self.scratch = raw;
        Ok(())
    }

    fn declare_enum(
        &mut self,
        file: FileId,
        parent: Option<MessageId>,
        scope: &str,
        outer: Features,
        slice: Slice<'a>,
    ) -> Result<EnumId> {
        let raw = RawEnum::read(slice).map_err(|kind| self.fail(file, scope, kind))?;
        let id = EnumId(self.data.enums.len() as u32);
        let mut full = FullName::in_scope(scope);
        self.declare_in(file, &mut full, raw.name, Symbol::Enum(id))?;
        let full_name: Box<str> = full.text.as_str().into();
        let fail = |this: &Self, kind| this.fail(file, &full_name, kind);
        self.count_items(1 + raw.values.len()).map_err(|kind| fail(self, kind))?;
        let features = self.scope_features(file, outer, &raw.options).map_err(|kind| fail(self, kind))?;

        let mut def = new_enum(full_name.clone(), full.scope_len as u32, file);
        def.parent = parent;
        def.closed = features.enum_type == EnumType::Closed;
        def.raw = slice.range();
        def.options = raw.options.range.clone();
        def.values.reserve_exact(raw.values.len());
        def.by_name.reserve(raw.values.len());
        for (index, slice) in (0..).zip(raw.values) {
            let value = RawEnumValue::read(slice).map_err(|kind| fail(self, kind))?;
            // The names of values live beside their enum, not inside it.
            self.declare_in(file, &mut full, value.name, Symbol::EnumValue(id, index))?;
            def.by_name.insert(value.name.into(), index);
            def.by_number.push((value.number, index));
            def.values.push(EnumValueDef { name: value.name.into(), number: value.number, options: value.options });
        }
        let invalid = |what| Err(fail(self, Kind::InvalidEnum { what }));
        match def.values.first() {
            None => return invalid("it has no values"),
            Some(first) if first.number != 0 && !def.closed => {
                return invalid("the first value of an open enum must be zero");
            }
            Some(_) => {}
        }
        // Pairs of the same number stay in declaration order, so the first declared is kept.
        def.by_number.sort_unstable();
        def.by_number.dedup_by_key(|&mut (number, _)| number);
        self.data.enums.push(def);
        Ok(id)
    }

    fn declare_extension(
        &mut self,
        file: FileId,
        parent: Option<MessageId>,
        scope: &str,
        features: Features,
        slice: Slice<'a>,
    ) -> Result<ExtensionId> {
        let raw = RawField::read(slice).map_err(|kind| self.fail(file, scope, kind))?;
        let id = ExtensionId(self.extensions.len() as u32);
        let mut full = FullName::in_scope(scope);
        self.declare_in(file, &mut full, raw.name, Symbol::Extension(id))?;
        self.count_fields(1).map_err(|kind| self.fail(file, &full.text, kind))?;
        self.extensions.push(ExtensionState { full_name: full.text.into(), file, parent, raw, features });
        Ok(id)
    }

    fn declare_service(&mut self, file: FileId, scope: &str, slice: Slice<'a>) -> Result<()> {
        let raw = RawService::read(slice).map_err(|kind| self.fail(file, scope, kind))?;
        let id = ServiceId(self.data.services.len() as u32);
        let mut full = FullName::in_scope(scope);
        self.declare_in(file, &mut full, raw.name, Symbol::Service(id))?;
        let full_name: Box<str> = full.text.into();
        self.count_items(1 + raw.methods.len()).map_err(|kind| self.fail(file, &full_name, kind))?;
        let mut inner = FullName::in_scope(&full_name);
        let mut methods = Vec::with_capacity(raw.methods.len());
        for (index, slice) in (0..).zip(raw.methods) {
            let method = RawMethod::read(slice).map_err(|kind| self.fail(file, &full_name, kind))?;
            self.declare_in(file, &mut inner, method.name, Symbol::Method(id, index))?;
            methods.push(method);
        }
        self.methods.push(methods);
        self.data.files[file.index()].services.push(id);
        self.data.services.push(ServiceDef { full_name, file, methods: Vec::new(), options: raw.options });
        Ok(())
    }
}

pub(super) fn new_message(full_name: Box<str>, name_at: u32, file: FileId) -> MessageDef {
    MessageDef {
        full_name,
        name_at,
        file,
        parent: None,
        fields: Vec::new(),
        by_number: Vec::new(),
        by_name: Vec::new(),
        by_json_name: Vec::new(),
        oneofs: Vec::new(),
        messages: Vec::new(),
        enums: Vec::new(),
        extensions: Vec::new(),
        extended_by: Vec::new(),
        extension_ranges: Vec::new(),
        reserved_ranges: Vec::new(),
        reserved_names: Vec::new(),
        is_map_entry: false,
        is_message_set: false,
        well_known: None,
        placeholder: false,
        raw: RawRange::default(),
        options: RawRange::default(),
    }
}

pub(super) fn new_enum(full_name: Box<str>, name_at: u32, file: FileId) -> EnumDef {
    EnumDef {
        full_name,
        name_at,
        file,
        parent: None,
        values: Vec::new(),
        by_number: Vec::new(),
        by_name: Default::default(),
        closed: false,
        placeholder: false,
        raw: RawRange::default(),
        options: RawRange::default(),
    }
}
