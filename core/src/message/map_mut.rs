//! Changing maps.

use std::marker::PhantomData;

use super::checked::{self, SetError};
use super::map::{entry_defs, entry_layout};
use super::{KeyRef, MapRef, MessageMut, Value, cells};
use crate::memory::map::{self, MapKey, MapTable};
use crate::memory::slots::{Storage, StrSlot};
use crate::memory::{Arena, ArenaFull, list, parts};
use crate::program::{FieldSlot, Layout};

/// A map, to be changed: see [`MessageMut::map`].
pub struct MapMut<'a> {
    cell: *mut *mut MapTable,
    layout: &'a Layout,
    slot: &'a FieldSlot,
    arena: &'a Arena,
    memory: PhantomData<&'a mut [u64]>,
}

impl<'a> MapMut<'a> {
    /// # Safety
    /// The cell of `slot`, a map of `layout`, in a message that nobody else reads or changes during `'a`.
    pub(super) unsafe fn new(
        cell: *mut *mut MapTable,
        layout: &'a Layout,
        slot: &'a FieldSlot,
        arena: &'a Arena,
    ) -> Self {
        MapMut { cell, layout, slot, arena, memory: PhantomData }
    }

    /// The map, to be read.
    pub fn as_ref(&self) -> MapRef<'_> {
        // SAFETY: the cell of this slot; while it is borrowed from `self` nobody changes it.
        unsafe { MapRef::new(self.cell.read(), self.slot) }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.as_ref().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn key<'k>(&self, key: KeyRef<'k>) -> Result<MapKey<'k>, SetError> {
        let field = entry_defs(self.layout, self.slot).0;
        let key = key.to_raw(field.kind).ok_or(SetError::WrongKind)?;
        if let MapKey::Str(bytes) = key {
            checked::check_utf8(field, bytes)?;
        }
        Ok(key)
    }

    /// The value cell of `key`, made (zero) where there was none.
    fn entry(&mut self, key: MapKey<'_>) -> Result<*mut u8, ArenaFull> {
        // SAFETY: the map is ours to change.
        unsafe { value_cell(self.cell, self.slot, key, &mut self.arena) }
    }

    /// Sets the value of a key; strings are copied. A key that has a value keeps its place.
    ///
    /// # Errors
    /// Key or value are of other kinds (messages have [`MapMut::insert_message`]) or do not pass the field's checks,
    /// or the arena is full.
    pub fn insert<'k, 'v>(&mut self, key: impl Into<KeyRef<'k>>, value: impl Into<Value<'v>>) -> Result<(), SetError> {
        let key = self.key(key.into())?;
        let raw = checked::check(&self.layout.schema, entry_defs(self.layout, self.slot).1, value.into())?;
        let cell = self.entry(key)?;
        // SAFETY: the value cell of an entry, of the storage that `check` gave a value for.
        unsafe { checked::write(cell, raw, &mut self.arena)? };
        Ok(())
    }

    /// Sets the value of a key to an empty message and gives it.
    ///
    /// # Errors
    /// Values are no messages, the key is of another kind or does not pass the field's checks, or the arena is full.
    pub fn insert_message<'k>(&mut self, key: impl Into<KeyRef<'k>>) -> Result<MessageMut<'_>, SetError> {
        self.message_at(key.into(), true)
    }

    /// The message that is a key's value, to be changed; made where the key has none.
    ///
    /// # Errors
    /// As [`MapMut::insert_message`].
    pub fn message<'k>(&mut self, key: impl Into<KeyRef<'k>>) -> Result<MessageMut<'_>, SetError> {
        self.message_at(key.into(), false)
    }

    fn message_at(&mut self, key: KeyRef<'_>, replace: bool) -> Result<MessageMut<'_>, SetError> {
        if entry_layout(self.slot).value != Storage::Message {
            return Err(SetError::WrongKind);
        }
        let key = self.key(key)?;
        let child = cells::child_layout(&self.slot.child);
        let cell = self.entry(key)?.cast::<*mut u8>();
        // SAFETY: the value cell of an entry: null, or a pointer to a message of the child's layout, ours to change.
        unsafe {
            if replace || cell.read().is_null() {
                cell.write(parts::new_message(child, &mut self.arena)?);
            }
            Ok(MessageMut::from_raw(cell.read(), child, self.arena))
        }
    }

    /// Removes a key and its value, and tells whether it had one. The others keep their order.
    pub fn remove<'k>(&mut self, key: impl Into<KeyRef<'k>>) -> bool {
        let Some(key) = key.into().to_raw(entry_defs(self.layout, self.slot).0.kind) else { return false };
        // SAFETY: the cell of a map with this entry layout, ours to change; a key of its kind.
        unsafe { map::remove(&mut *self.cell, entry_layout(self.slot), key) }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        // SAFETY: ours to change; null is an empty map.
        unsafe { self.cell.write(std::ptr::null_mut()) };
    }
}

/// The value cell of `key` in a map, made (zero) where there was none. A new string key is copied.
///
/// # Safety
/// `cell` is the cell of `slot`, a map, in a live message that nobody else reads meanwhile; `key` is of its key kind.
pub(super) unsafe fn value_cell(
    cell: *mut *mut MapTable,
    slot: &FieldSlot,
    key: MapKey<'_>,
    from: &mut impl crate::memory::alloc::Alloc,
) -> Result<*mut u8, ArenaFull> {
    let layout = entry_layout(slot);
    let mut stored = StrSlot { ptr: std::ptr::null(), len: 0, cap: 0 };
    // SAFETY: as promised to this function.
    unsafe {
        if let MapKey::Str(bytes) = key {
            // Copied only where the table does not have it.
            let found = match cell.read().as_ref() {
                Some(table) => table.find(layout, key),
                None => std::ptr::null_mut(),
            };
            if !found.is_null() {
                return Ok(found.add(layout.value_offset as usize));
            }
            list::copy_str(&mut stored, bytes, from)?;
        }
        let (entry, _) = map::entry(&mut *cell, layout, key, stored, from)?;
        Ok(entry.add(layout.value_offset as usize))
    }
}
