//! Reading maps.

use super::cells;
use super::{KeyRef, ValueRef};
use crate::memory::map::{EntryLayout, MapTable, key_of};
use crate::program::{FieldSlot, Layout};
use crate::schema::model::{FieldDef, FieldKind};

/// A map, borrowed. Entries are in the order in which their keys first came.
///
/// ```
/// # let set = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/message.binpb"));
/// # let schema = protojit_core::schema::Schema::from_descriptor_set(&set[..])?;
/// # let programs = protojit_core::program::Programs::new(schema.shared().clone());
/// # let shape = programs.shape(schema.message("t.Person").unwrap().id());
/// use protojit_core::message::{KeyRef, Message};
///
/// let labels = shape.slot_named("labels").ok_or("no such field")?;
/// let mut message = Message::new(shape.clone());
/// let mut person = message.as_mut();
/// let mut map = person.map(labels)?;
/// map.insert("b", "1")?;
/// map.insert("a", "2")?;
/// map.insert("b", "3")?; // the last value wins, in the first one's place
/// let map = message.as_ref().get_slot(labels).as_map().ok_or("no map")?;
/// assert_eq!(map.get("b").and_then(|value| value.as_str()), Some("3".into()));
/// assert_eq!(map.iter().map(|(key, _)| key).collect::<Vec<_>>(), [KeyRef::from("b"), KeyRef::from("a")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct MapRef<'a> {
    table: Option<&'a MapTable>,
    slot: &'a FieldSlot,
}

// SAFETY: a shared borrow of a table and entries that nobody changes during `'a`.
unsafe impl Send for MapRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for MapRef<'_> {}

/// The definitions of a map's key and value.
#[inline]
pub(super) fn entry_defs<'a>(layout: &'a Layout, slot: &FieldSlot) -> (&'a FieldDef, &'a FieldDef) {
    let FieldKind::Message(entry) = slot.kind else { unreachable!("linking makes maps of messages only") };
    let fields = &layout.schema.message(entry).fields;
    (&fields[0], &fields[1])
}

/// How a map's entries lie in memory.
#[inline]
pub(super) fn entry_layout(slot: &FieldSlot) -> &EntryLayout {
    slot.entry.as_ref().expect("slots of maps have an entry layout")
}

impl<'a> MapRef<'a> {
    /// # Safety
    /// The table of this slot, which is a map, in a message that is live and unchanged for `'a`.
    #[inline]
    pub(super) unsafe fn new(table: *const MapTable, slot: &'a FieldSlot) -> Self {
        // SAFETY: null or live, as promised to this function.
        MapRef { table: unsafe { table.as_ref() }, slot }
    }

    #[inline]
    pub(super) fn empty(slot: &'a FieldSlot) -> Self {
        MapRef { table: None, slot }
    }

    /// The kinds of keys and values.
    #[inline]
    fn kinds(self) -> (FieldKind, FieldKind) {
        self.slot.entry_kinds.expect("slots of maps have the kinds of their entries")
    }

    /// Number of entries.
    #[inline]
    pub fn len(self) -> usize {
        self.table.map_or(0, |table| table.len as usize)
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The field.
    #[inline]
    pub fn slot(self) -> &'a FieldSlot {
        self.slot
    }

    /// The kind of the keys.
    #[inline]
    pub fn key_kind(self) -> FieldKind {
        self.kinds().0
    }

    /// The kind of the values.
    #[inline]
    pub fn value_kind(self) -> FieldKind {
        self.kinds().1
    }

    /// The value of a key; `None` where it has none, and for keys of another kind.
    pub fn get<'k>(self, key: impl Into<KeyRef<'k>>) -> Option<ValueRef<'a>> {
        let key = key.into().to_raw(self.kinds().0)?;
        let entry = entry_layout(self.slot);
        // SAFETY: a live table with this entry layout, and a key of its kind.
        let found = unsafe { self.table?.find(entry, key) };
        // SAFETY: not null, hence an entry of the table.
        (!found.is_null()).then(|| unsafe { self.value(found) })
    }

    /// Whether there is such a key.
    pub fn contains_key<'k>(self, key: impl Into<KeyRef<'k>>) -> bool {
        self.get(key).is_some()
    }

    /// # Safety
    /// `entry` is one of this map.
    #[inline]
    unsafe fn value(self, entry: *const u8) -> ValueRef<'a> {
        // SAFETY: the value lies at its offset in the entry.
        unsafe {
            let cell = entry.add(entry_layout(self.slot).value_offset as usize);
            cells::read(cell, self.kinds().1, &self.slot.child)
        }
    }

    /// The entry `at` in their order, `None` beyond the end.
    #[inline]
    pub fn entry(self, at: usize) -> Option<(KeyRef<'a>, ValueRef<'a>)> {
        let table = self.table.filter(|table| at < table.len as usize)?;
        let layout = entry_layout(self.slot);
        // SAFETY: below `len`.
        unsafe {
            let entry = table.entries.add(at * layout.stride as usize);
            Some((KeyRef::of_raw(key_of(entry, layout), self.kinds().0), self.value(entry)))
        }
    }

    /// The entries, in their order.
    #[inline]
    pub fn iter(self) -> MapIter<'a> {
        MapIter { map: self, at: 0 }
    }
}

impl<'a> IntoIterator for MapRef<'a> {
    type Item = (KeyRef<'a>, ValueRef<'a>);
    type IntoIter = MapIter<'a>;

    fn into_iter(self) -> MapIter<'a> {
        self.iter()
    }
}

/// The entries of a [`MapRef`].
#[derive(Clone, Debug)]
pub struct MapIter<'a> {
    map: MapRef<'a>,
    at: usize,
}

impl<'a> Iterator for MapIter<'a> {
    type Item = (KeyRef<'a>, ValueRef<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.map.entry(self.at)?;
        self.at += 1;
        Some(entry)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.map.len() - self.at;
        (left, Some(left))
    }
}

impl ExactSizeIterator for MapIter<'_> {}
