//! Field name to position.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::schema::model::{FieldKey, SchemaData};

use super::layout::FieldSlot;

/// A hash table over the names of a layout's fields: declared names, JSON names, and extensions' full names in brackets.
#[derive(Debug)]
pub(super) struct NameTable {
    /// The hash of each of a field's names, and the field's position in the layout.
    positions: HashTable<(u64, u32)>,
    hasher: RandomState,
}

/// The declared name; extensions have their full name, which is told from the others by the brackets.
fn is_name(schema: &SchemaData, slot: &FieldSlot, name: &str) -> bool {
    match slot.key {
        FieldKey::Field(..) => *schema.field(slot.key).name == *name,
        FieldKey::Extension(id) => {
            let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
            inner == Some(&*schema.extensions[id.index()].full_name)
        }
    }
}

fn is_json_name(schema: &SchemaData, slot: &FieldSlot, name: &str) -> bool {
    matches!(slot.key, FieldKey::Field(..)) && *schema.field(slot.key).json_name == *name
}

impl NameTable {
    pub(super) fn new(schema: &SchemaData, fields: &[FieldSlot]) -> NameTable {
        let mut table = NameTable { positions: HashTable::with_capacity(fields.len()), hasher: RandomState::default() };
        for (at, slot) in (0u32..).zip(fields) {
            match slot.key {
                FieldKey::Field(..) => {
                    let field = schema.field(slot.key);
                    table.insert(at, &field.name);
                    if field.json_name != field.name {
                        table.insert(at, &field.json_name);
                    }
                }
                FieldKey::Extension(id) => table.insert(at, &format!("[{}]", schema.extensions[id.index()].full_name)),
            }
        }
        table
    }

    fn insert(&mut self, at: u32, name: &str) {
        let hash = self.hasher.hash_one(name);
        self.positions.insert_unique(hash, (hash, at), |entry| entry.0);
    }

    fn find(&self, hash: u64, mut fits: impl FnMut(u32) -> bool) -> Option<u32> {
        self.positions.find(hash, |entry| entry.0 == hash && fits(entry.1)).map(|entry| entry.1)
    }

    /// The position of the field with this declared name.
    pub(super) fn named(&self, schema: &SchemaData, fields: &[FieldSlot], name: &str) -> Option<u32> {
        self.find(self.hasher.hash_one(name), |at| is_name(schema, &fields[at as usize], name))
    }

    /// The position of the field with this JSON name, or else this declared name.
    pub(super) fn json_named(&self, schema: &SchemaData, fields: &[FieldSlot], name: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        let found = self.find(hash, |at| is_json_name(schema, &fields[at as usize], name));
        found.or_else(|| self.find(hash, |at| is_name(schema, &fields[at as usize], name)))
    }
}
