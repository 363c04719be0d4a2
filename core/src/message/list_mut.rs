//! Changing lists.

use std::marker::PhantomData;

use super::checked::{self, Raw, SetError};
use super::{ListRef, MessageMut, Value, cells};
use crate::memory::slots::{ListSlot, Storage, StrSlot};
use crate::memory::{Arena, list, parts};
use crate::program::{FieldSlot, Layout};

/// A repeated field, to be changed: see [`MessageMut::list`].
pub struct ListMut<'a> {
    cell: *mut ListSlot,
    layout: &'a Layout,
    slot: &'a FieldSlot,
    arena: &'a Arena,
    memory: PhantomData<&'a mut [u64]>,
}

impl<'a> ListMut<'a> {
    /// # Safety
    /// The cell of `slot`, a list of `layout`, in a message that nobody else reads or changes during `'a`.
    pub(super) unsafe fn new(cell: *mut ListSlot, layout: &'a Layout, slot: &'a FieldSlot, arena: &'a Arena) -> Self {
        ListMut { cell, layout, slot, arena, memory: PhantomData }
    }

    /// The list, to be read.
    pub fn as_ref(&self) -> ListRef<'_> {
        // SAFETY: the cell of this slot; while it is borrowed from `self` nobody changes it.
        unsafe { ListRef::new(self.cell.read(), self.slot) }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.as_ref().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn width(&self) -> usize {
        self.slot.element.size() as usize
    }

    /// Makes room for `extra` more elements.
    ///
    /// # Errors
    /// The list would pass 2^31-1 elements, or the arena is full.
    pub fn reserve(&mut self, extra: usize) -> Result<(), SetError> {
        // SAFETY: ours to change; elements are as wide as their storage.
        unsafe { list::reserve(&mut *self.cell, self.slot.element.size() as usize, extra, &mut self.arena)? };
        Ok(())
    }

    fn check<'v>(&self, value: Value<'v>) -> Result<Raw<'v>, SetError> {
        checked::check(&self.layout.schema, self.layout.field_def(self.slot), value)
    }

    /// Appends a value; strings and bytes are copied.
    ///
    /// # Errors
    /// As [`MessageMut::set_slot`].
    pub fn push<'v>(&mut self, value: impl Into<Value<'v>>) -> Result<(), SetError> {
        let raw = self.check(value.into())?;
        // SAFETY: the list is ours to change, and `check` gave a value of the elements' storage.
        unsafe {
            let list = &mut *self.cell;
            match raw {
                Raw::Bool(value) => list::push(list, u8::from(value), &mut self.arena)?,
                Raw::Bits32(bits) => list::push(list, bits, &mut self.arena)?,
                Raw::Bits64(bits) => list::push(list, bits, &mut self.arena)?,
                Raw::Str(bytes) => {
                    let mut string = StrSlot { ptr: std::ptr::null(), len: 0, cap: 0 };
                    list::copy_str(&mut string, bytes, &mut self.arena)?;
                    list::push(list, string, &mut self.arena)?;
                }
            }
        }
        Ok(())
    }

    /// Appends all values.
    ///
    /// # Errors
    /// As [`ListMut::push`]; then those before are appended.
    pub fn extend<'v, V: Into<Value<'v>>>(&mut self, values: impl IntoIterator<Item = V>) -> Result<(), SetError> {
        let values = values.into_iter();
        self.reserve(values.size_hint().0)?;
        values.into_iter().try_for_each(|value| self.push(value))
    }

    /// Appends an empty message and gives it.
    ///
    /// # Errors
    /// The list is of another kind, or the arena is full.
    pub fn push_message(&mut self) -> Result<MessageMut<'_>, SetError> {
        ListMut { ..*self }.into_push_message()
    }

    pub(super) fn into_push_message(mut self) -> Result<MessageMut<'a>, SetError> {
        if self.slot.element != Storage::Message {
            return Err(SetError::WrongKind);
        }
        let child = cells::child_layout(&self.slot.child);
        let message = parts::new_message(child, &mut self.arena)?;
        // SAFETY: the list is ours to change, and its elements are pointers; the new message is nobody else's.
        unsafe {
            list::push(&mut *self.cell, message, &mut self.arena)?;
            Ok(MessageMut::from_raw(message, child, self.arena))
        }
    }

    /// The cell of an element. Elements that are borrowed from the input are copied first.
    fn element(&mut self, at: usize) -> Result<*mut u8, SetError> {
        if at >= self.len() {
            return Err(SetError::NoSuchElement(at));
        }
        self.reserve(0)?;
        // SAFETY: below `len`, in a list that is ours to change.
        Ok(unsafe { (*self.cell).ptr.add(at * self.width()) })
    }

    /// Replaces the element `at`.
    ///
    /// # Errors
    /// There is no such element, or as [`ListMut::push`].
    pub fn set<'v>(&mut self, at: usize, value: impl Into<Value<'v>>) -> Result<(), SetError> {
        let raw = self.check(value.into())?;
        let cell = self.element(at)?;
        // SAFETY: an element's cell, of the storage that `check` gave a value for.
        unsafe { checked::write(cell, raw, &mut self.arena)? };
        Ok(())
    }

    /// The message `at`, to be changed.
    ///
    /// # Errors
    /// There is no such element, or the list is of another kind.
    pub fn message(&mut self, at: usize) -> Result<MessageMut<'_>, SetError> {
        if self.slot.element != Storage::Message {
            return Err(SetError::WrongKind);
        }
        let child = cells::child_layout(&self.slot.child);
        let cell = self.element(at)?.cast::<*mut u8>();
        // SAFETY: an element's cell holds a pointer to a message of the child's layout, which is ours to change.
        unsafe {
            if cell.read().is_null() {
                cell.write(parts::new_message(child, &mut self.arena)?);
            }
            Ok(MessageMut::from_raw(cell.read(), child, self.arena))
        }
    }

    /// Removes the element `at`; those behind it move up.
    ///
    /// # Errors
    /// There is no such element, or the arena is full.
    pub fn remove(&mut self, at: usize) -> Result<(), SetError> {
        let cell = self.element(at)?;
        let width = self.width();
        // SAFETY: the elements behind `at` end at `len`.
        unsafe {
            let list = &mut *self.cell;
            std::ptr::copy(cell.add(width), cell, (list.len as usize - at - 1) * width);
            list.len -= 1;
        }
        Ok(())
    }

    /// Drops the elements from `len` on.
    pub fn truncate(&mut self, len: usize) {
        // SAFETY: ours to change.
        let list = unsafe { &mut *self.cell };
        list.len = list.len.min(u32::try_from(len).unwrap_or(u32::MAX));
    }

    /// Drops all elements.
    pub fn clear(&mut self) {
        self.truncate(0);
    }
}
