//! Views: which fields of a message a shape has.
//!
//! A projection is a tree: fields of the root message, fields of the messages that those refer to, and so on. Each
//! node of the tree is a [`View`]; what is taken whole is the view [`ALL`]. Views are kept once each, so that equal
//! projections are the same shape and share their programs.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::schema::model::{FieldDef, FieldKey, MessageId, SchemaData};

use super::build::sub_message;

/// What a projection does with the fields that it leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rest {
    /// They are skipped: framing is checked, nothing is kept.
    #[default]
    Drop,
    /// Their bytes are kept as unknown fields, and written again.
    Keep,
}

/// How many messages a path of a projection may lead through.
const MOST_LEVELS: usize = 100;

/// Why a projection was not made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// A message has no field of this name or number.
    #[error("{message} has no field {field:?} (in the path {path:?})")]
    NoField {
        /// Full name of the message.
        message: String,
        /// The name, or the number.
        field: String,
        /// The whole path.
        path: String,
    },
    /// A path goes on behind a field that is no message.
    #[error("{field:?} is no message: the path {path:?} cannot go through it")]
    NoMessage {
        /// The name of the field.
        field: String,
        /// The whole path.
        path: String,
    },
    /// A path leads through more than 100 messages.
    #[error("the path {path:?} is too long")]
    TooLong {
        /// The path.
        path: String,
    },
}

pub(super) type ViewId = u32;

/// The view of all fields of any message.
pub(super) const ALL: ViewId = 0;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct View {
    /// Two messages never share a view: the numbers below mean something in one only.
    message: MessageId,
    rest: Rest,
    /// Ascending by number, each with the view of the message that the field refers to.
    fields: Box<[(u32, ViewId)]>,
}

/// The views of one schema.
#[derive(Debug, Default)]
pub(super) struct Views {
    /// The view `n` lies at `n - 1`.
    all: Vec<View>,
    ids: HashMap<View, ViewId, foldhash::fast::RandomState>,
}

/// A message whose fields are being chosen.
#[derive(Default)]
struct Node {
    whole: bool,
    fields: BTreeMap<u32, Node>,
}

impl Views {
    /// What becomes of the fields that a view leaves out.
    pub fn rest(&self, view: ViewId) -> Rest {
        self.all[view as usize - 1].rest
    }

    /// The view of the message that this field of a view refers to; `None` where the view leaves the field out.
    pub fn child(&self, view: ViewId, number: u32) -> Option<ViewId> {
        let fields = &self.all[view as usize - 1].fields;
        fields.binary_search_by_key(&number, |&(number, _)| number).ok().map(|at| fields[at].1)
    }

    /// The view of the fields at these paths.
    pub fn select<S: AsRef<str>>(
        &mut self,
        schema: &SchemaData,
        message: MessageId,
        paths: impl IntoIterator<Item = S>,
        rest: Rest,
    ) -> Result<ViewId, ProjectError> {
        let mut root = Node { whole: is_one_value(schema, message), fields: BTreeMap::new() };
        for path in paths {
            choose(schema, message, &mut root, path.as_ref())?;
        }
        Ok(self.keep(schema, message, root, rest))
    }

    fn keep(&mut self, schema: &SchemaData, message: MessageId, mut node: Node, rest: Rest) -> ViewId {
        if node.whole {
            return ALL;
        }
        let def = schema.message(message);
        let oneofs: Vec<u32> = node.fields.keys().filter_map(|&number| real_oneof(schema, message, number)).collect();
        for &at in oneofs.iter().flat_map(|&oneof| &def.oneofs[oneof as usize].fields) {
            node.fields.entry(def.fields[at as usize].number).or_default();
        }
        let mut fields = Vec::with_capacity(node.fields.len());
        for (number, mut child) in node.fields {
            let key = schema.field_by_number(message, number);
            let view = match key.and_then(|key| sub_message(schema, schema.field(key))) {
                None => ALL,
                Some(target) => {
                    child.whole |= is_one_value(schema, target);
                    self.keep(schema, target, child, rest)
                }
            };
            fields.push((number, view));
        }
        let view = View { message, rest, fields: fields.into() };
        if let Some(&id) = self.ids.get(&view) {
            return id;
        }
        self.all.push(view.clone());
        let id = self.all.len() as ViewId;
        self.ids.insert(view, id);
        id
    }
}

/// The oneof of a field, if it is one that the schema declares.
fn real_oneof(schema: &SchemaData, message: MessageId, number: u32) -> Option<u32> {
    let oneof = schema.field(schema.field_by_number(message, number)?).oneof?;
    (!schema.message(message).oneofs[oneof as usize].synthetic).then_some(oneof)
}

/// Messages whose JSON form is no object of their fields: half of one would be no value.
fn is_one_value(schema: &SchemaData, message: MessageId) -> bool {
    schema.message(message).well_known.is_some()
}

fn choose(schema: &SchemaData, root: MessageId, node: &mut Node, path: &str) -> Result<(), ProjectError> {
    let (mut message, mut node, mut rest, mut levels) = (root, node, path, 0);
    loop {
        let (name, behind) = split(rest);
        let field = field_named(schema, message, name).ok_or_else(|| ProjectError::NoField {
            message: schema.message(message).full_name.to_string(),
            field: name.to_owned(),
            path: path.to_owned(),
        })?;
        node = node.fields.entry(field.number).or_default();
        let Some(behind) = behind else {
            node.whole = true;
            return Ok(());
        };
        levels += 1;
        if levels > MOST_LEVELS {
            return Err(ProjectError::TooLong { path: path.to_owned() });
        }
        message = sub_message(schema, field)
            .ok_or_else(|| ProjectError::NoMessage { field: name.to_owned(), path: path.to_owned() })?;
        rest = behind;
    }
}

/// A field by its declared name, JSON name, number, or as an extension by its full name in brackets.
fn field_named<'s>(schema: &'s SchemaData, message: MessageId, name: &str) -> Option<&'s FieldDef> {
    let extension = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let number = name.parse::<u32>().ok();
    let fields = schema.fields_of(message);
    let of = |fits: &dyn Fn(FieldKey, &FieldDef) -> bool| {
        fields.iter().find(|(key, field)| fits(*key, field)).map(|&(_, field)| field)
    };
    match (extension, number) {
        (Some(full_name), _) => of(&|key, _| match key {
            FieldKey::Extension(id) => *schema.extensions[id.index()].full_name == *full_name,
            FieldKey::Field(..) => false,
        }),
        (None, Some(number)) => of(&|_, field| field.number == number),
        (None, None) => of(&|key, field| matches!(key, FieldKey::Field(..)) && *field.name == *name)
            .or_else(|| of(&|key, field| matches!(key, FieldKey::Field(..)) && *field.json_name == *name)),
    }
}

/// The first name of a path, and what is behind its dot.
pub(crate) fn split(path: &str) -> (&str, Option<&str>) {
    let inside = if path.starts_with('[') { path.find(']').unwrap_or(0) } else { 0 };
    match path[inside..].find('.') {
        Some(dot) => (&path[..inside + dot], Some(&path[inside + dot + 1..])),
        None => (path, None),
    }
}
