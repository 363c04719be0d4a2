//! From raw descriptors to the linked model.
//!
//! Linking goes over the set a few times, each time with what the last one made sure of:
//!
//! 1. **files** ([`Linker::read_files`]): headers read, twins dropped, editions and
//!    file features settled, imports matched, cycles refused;
//! 2. **declare** ([`declare`]): every element but fields gets its id, its full name and
//!    its features; enums are finished here, since they refer to nothing;
//! 3. **resolve** ([`resolve`], [`field`]): fields are read and their type names become
//!    ids, extensions and methods find their messages. With its fields a message is
//!    complete, and what concerns it as a whole is checked ([`check`]): names, numbers,
//!    ranges, oneofs, map entries;
//! 4. last, extensions are sorted under the messages they extend, and well-known types
//!    are recognised.
//!
//! Nothing recurses, so no input can exhaust the stack.

mod check;
mod declare;
mod default;
mod field;
mod resolve;
mod well_known;

use std::{cell::Cell, ops::Range};

use hashbrown::HashMap;

use super::{
    descriptor::{RawField, RawFile, RawMessage, RawMethod, RawOneof, Slice, Value},
    error::{SchemaError, SchemaErrorKind as Kind, clip},
    features::{FeatureOverrides, Features, Utf8Validation, edition_of},
    limits::SchemaLimits,
    model::{FileDef, FileId, MessageId, SchemaData, Symbol},
};

type Result<T, E = SchemaError> = std::result::Result<T, E>;

/// Links a serialized `FileDescriptorSet`. [`SchemaData::raw`] is left for the caller to set.
pub(super) fn link(raw: &[u8], limits: &SchemaLimits) -> Result<SchemaData> {
    let max = limits.max_bytes.min(i32::MAX as usize);
    if raw.len() > max {
        return Err(SchemaError::new("", "", over("max_bytes", max)));
    }
    let mut linker = Linker {
        limits,
        data: SchemaData::default(),
        files: Vec::new(),
        messages: Vec::new(),
        extensions: Vec::new(),
        raw_fields: Vec::new(),
        raw_oneofs: Vec::new(),
        methods: Vec::new(),
        map_utf8: Vec::new(),
        scratch: RawMessage::default(),
        placeholders: HashMap::default(),
        fields: 0,
        items: 0,
        names: Cell::new(0),
    };
    linker.read_files(Slice::whole(raw))?;
    linker.resolve_imports()?;
    linker.check_cycles()?;
    for id in 0..linker.data.files.len() {
        linker.declare_file(FileId(id as u32))?;
    }
    linker.resolve_fields()?;
    linker.resolve_extensions()?;
    linker.resolve_methods()?;
    linker.file_extensions()?;
    linker.pass_map_features_on();
    linker.mark_well_known();
    Ok(linker.data)
}

fn over(limit: &'static str, max: usize) -> Kind {
    Kind::LimitExceeded { limit, max }
}

/// The state of linking; the vectors are parallel to those of the same name in `data`.
struct Linker<'a> {
    limits: &'a SchemaLimits,
    data: SchemaData,
    files: Vec<FileState<'a>>,
    messages: Vec<MessageState>,
    extensions: Vec<ExtensionState<'a>>,
    /// The fields of all messages, each message's in a row.
    raw_fields: Vec<Slice<'a>>,
    /// The oneofs of all messages, likewise.
    raw_oneofs: Vec<RawOneof<'a>>,
    /// By service.
    methods: Vec<Vec<RawMethod<'a>>>,
    /// Types of missing weak imports, by full name.
    placeholders: HashMap<&'a str, Symbol, foldhash::fast::RandomState>,
    /// Entry types whose map field says something about UTF-8.
    map_utf8: Vec<(MessageId, Utf8Validation)>,
    scratch: RawMessage<'a>,
    fields: usize,
    items: usize,
    names: Cell<usize>,
}

struct FileState<'a> {
    raw: RawFile<'a>,
    slice: Slice<'a>,
    features: Features,
    /// A weak import is missing, so types may be, too.
    weak_missing: bool,
}

struct MessageState {
    /// Where they stand in `raw_fields`.
    fields: Range<usize>,
    /// Where they stand in `raw_oneofs`.
    oneofs: Range<usize>,
    features: Features,
    /// The first two fields, a map's key and value, say nothing about UTF-8 themselves.
    inherits_utf8: [bool; 2],
}

struct ExtensionState<'a> {
    full_name: Box<str>,
    file: FileId,
    parent: Option<MessageId>,
    raw: RawField<'a>,
    features: Features,
}

impl<'a> Linker<'a> {
    fn fail(&self, file: FileId, element: &str, kind: Kind) -> SchemaError {
        SchemaError::new(&self.data.files[file.index()].name, element, kind)
    }

    fn count_items(&mut self, n: usize) -> Result<(), Kind> {
        self.items += n;
        if self.items > self.limits.max_items_total {
            return Err(over("max_items_total", self.limits.max_items_total));
        }
        Ok(())
    }

    fn count_fields(&mut self, n: usize) -> Result<(), Kind> {
        self.fields += n;
        if self.fields > self.limits.max_fields_total {
            return Err(over("max_fields_total", self.limits.max_fields_total));
        }
        Ok(())
    }

    /// Counts the bytes of a full name that is about to be stored or looked up.
    fn count_name(&self, len: usize) -> Result<(), Kind> {
        if len > self.limits.max_name_bytes {
            return Err(over("max_name_bytes", self.limits.max_name_bytes));
        }
        self.names.set(self.names.get() + len);
        if self.names.get() > self.limits.max_names_total_bytes {
            return Err(over("max_names_total_bytes", self.limits.max_names_total_bytes));
        }
        Ok(())
    }

    fn check_overrides(&self, file: FileId, features: &FeatureOverrides) -> Result<(), Kind> {
        use super::model::Edition::{Proto2, Proto3};
        let legacy = matches!(self.data.files[file.index()].edition, Proto2 | Proto3);
        if legacy && !features.is_empty() {
            return Err(Kind::FeaturesOutsideEditions);
        }
        Ok(())
    }

    fn read_files(&mut self, set: Slice<'a>) -> Result<()> {
        let nowhere = |kind| SchemaError::new("", "", kind);
        let mut by_name: HashMap<&str, FileId, foldhash::fast::RandomState> = HashMap::default();
        let mut reader = set.reader();
        while let Some((number, value)) = reader.next().map_err(nowhere)? {
            let Value::Bytes(slice) = value else { continue };
            if number != 1 {
                continue;
            }
            let name = RawFile::name_of(slice).map_err(nowhere)?;
            if let Some(&twin) = by_name.get(name) {
                if self.files[twin.index()].slice.bytes != slice.bytes {
                    return Err(SchemaError::new(name, "", Kind::DuplicateFile));
                }
                self.data.root_file = Some(twin);
                continue;
            }
            let id = FileId(self.files.len() as u32);
            by_name.insert(name, id);
            self.data.root_file = Some(id);
            self.read_file(slice).map_err(|kind| SchemaError::new(name, "", kind))?;
        }
        Ok(())
    }

    fn read_file(&mut self, slice: Slice<'a>) -> Result<(), Kind> {
        if self.files.len() >= self.limits.max_files {
            return Err(over("max_files", self.limits.max_files));
        }
        let raw = RawFile::read(slice)?;
        let imports = raw.dependencies.len() + raw.option_dependencies.len();
        self.count_items(imports + raw.public.len() + raw.weak.len())?;
        let edition = edition_of(raw.syntax, raw.edition)?;
        self.data.files.push(FileDef {
            name: raw.name.into(),
            package: raw.package.into(),
            edition,
            dependencies: Vec::new(),
            public_dependencies: Vec::new(),
            messages: Vec::new(),
            enums: Vec::new(),
            extensions: Vec::new(),
            services: Vec::new(),
            raw: slice.range(),
            options: raw.options.range.clone(),
        });
        let overrides = raw.options.features;
        self.check_overrides(FileId(self.files.len() as u32), &overrides)?;
        self.files.push(FileState {
            raw,
            slice,
            features: Features::defaults(edition).merged(&overrides),
            weak_missing: false,
        });
        Ok(())
    }

    /// Matches imports with the files of the set.
    fn resolve_imports(&mut self) -> Result<()> {
        let by_name: HashMap<&str, FileId, foldhash::fast::RandomState> =
            (0u32..).zip(&self.files).map(|(id, file)| (file.raw.name, FileId(id))).collect();
        for (file, def) in self.files.iter_mut().zip(&mut self.data.files) {
            let fail = |kind| Err(SchemaError::new(file.raw.name, "", kind));
            let raw = &file.raw;
            let mut weak = vec![false; raw.dependencies.len()];
            for &index in &raw.weak {
                match usize::try_from(index).ok().and_then(|i| weak.get_mut(i)) {
                    Some(weak) => *weak = true,
                    None => return fail(Kind::InvalidImportIndex { index }),
                }
            }
            // Where each import went in the list of those that exist.
            let mut places = Vec::with_capacity(raw.dependencies.len());
            for (&import, weak) in raw.dependencies.iter().zip(weak) {
                places.push(by_name.get(import).map(|&id| {
                    def.dependencies.push(id);
                    def.dependencies.len() as u32 - 1
                }));
                if places.last() == Some(&None) {
                    if !weak {
                        let import = clip(import);
                        return fail(Kind::MissingImport { import });
                    }
                    file.weak_missing = true;
                }
            }
            for &index in &raw.public {
                match usize::try_from(index).ok().and_then(|i| places.get(i)) {
                    Some(place) => def.public_dependencies.extend(place),
                    None => return fail(Kind::InvalidImportIndex { index }),
                }
            }
            for import in &raw.option_dependencies {
                def.dependencies.extend(by_name.get(import));
            }
        }
        Ok(())
    }

    /// Walks the imports depth-first, with a stack of its own.
    fn check_cycles(&self) -> Result<()> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let files = &self.data.files;
        let mut states = vec![State::New; files.len()];
        let mut stack = Vec::new();
        for root in 0..files.len() {
            if states[root] != State::New {
                continue;
            }
            states[root] = State::Open;
            stack.push((root, 0));
            while let Some((file, next)) = stack.last_mut() {
                let Some(import) = files[*file].dependencies.get(*next) else {
                    states[*file] = State::Done;
                    stack.pop();
                    continue;
                };
                *next += 1;
                match states[import.index()] {
                    State::Done => {}
                    State::New => {
                        states[import.index()] = State::Open;
                        stack.push((import.index(), 0));
                    }
                    State::Open => {
                        let import = clip(&files[import.index()].name);
                        let file = FileId(*file as u32);
                        return Err(self.fail(file, "", Kind::ImportCycle { import }));
                    }
                }
            }
        }
        Ok(())
    }
}
