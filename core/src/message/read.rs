//! Reading a message.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use super::cells;
use super::{UnknownFields, ValueRef};
use crate::memory::parts;
use crate::program::{FieldSlot, Layout, SlotPresence};
use crate::schema::model::{MessageDef, SchemaData};

/// A message in memory, borrowed: two words, to be copied freely and read from any thread.
///
/// It borrows the memory and the layout, not the arena as such. Fields are addressed by their [`FieldSlot`]s,
/// which come from [`Layout::slot`] or [`Layout::slot_named`] and are looked up once; by number or name, which
/// looks up each time; or, checked and typed, by [`Field`](super::Field) handles.
///
/// ```
/// # let set = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/message.binpb"));
/// # let schema = protojit_core::schema::Schema::from_descriptor_set(&set[..])?;
/// # let programs = protojit_core::program::Programs::new(schema.shared().clone());
/// # let shape = programs.shape(schema.message("t.Person").unwrap().id());
/// use protojit_core::memory::Arena;
/// use protojit_core::message::{MessageMut, MessageRef, ValueRef};
///
/// let arena = Arena::new();
/// let mut ada = MessageMut::new(&shape, &arena)?;
/// let name = shape.slot_named("name").ok_or("no such field")?;
/// ada.set_slot(name, "Ada")?;
/// let ada: MessageRef<'_> = ada.freeze();
///
/// assert!(ada.has(name));
/// assert_eq!(ada.get_slot(name).as_str().unwrap(), "Ada");
/// assert_eq!(ada.get_by_number(2), Some(ValueRef::I32(0))); // not set: the default
/// for (slot, value) in ada.set_fields() {
///     assert_eq!((slot.number, value), (1, ValueRef::Str("Ada".into())));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct MessageRef<'a> {
    ptr: NonNull<u8>,
    layout: &'a Layout,
    memory: PhantomData<&'a [u64]>,
}

// SAFETY: a shared borrow of memory that nobody changes during `'a` (`from_raw`), and of a layout, which is `Sync`.
unsafe impl Send for MessageRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for MessageRef<'_> {}

/// What absent messages point to: as long as the longest message that has no fields set. Bounded since fields
/// beyond [`HOT_BYTES`](crate::program::HOT_BYTES) lie on pages, which the empty message does not have.
static EMPTY: [u64; 64] = [0; 64];

impl<'a> MessageRef<'a> {
    /// A message at an address.
    ///
    /// # Safety
    /// `ptr` points to a message of this layout, made by a decoder or by [`MessageMut`](super::MessageMut). It,
    /// and all that it points to (also the input, where strings borrow it), stays alive and unchanged for `'a`.
    #[inline]
    pub const unsafe fn from_raw(ptr: *const u8, layout: &'a Layout) -> MessageRef<'a> {
        // SAFETY: messages do not lie at address 0.
        let ptr = unsafe { NonNull::new_unchecked(ptr.cast_mut()) };
        MessageRef { ptr, layout, memory: PhantomData }
    }

    /// The message of this layout in which nothing is set. Costs nothing.
    pub fn empty(layout: &'a Layout) -> MessageRef<'a> {
        assert!(layout.size as usize <= size_of_val(&EMPTY), "HOT_BYTES bounds the size of messages");
        // SAFETY: zeros are an empty message, the static is large enough for it, and is never written to.
        unsafe { MessageRef::from_raw(EMPTY.as_ptr().cast(), layout) }
    }

    /// The address of the message itself.
    #[inline]
    pub const fn as_ptr(self) -> *const u8 {
        self.ptr.as_ptr()
    }

    /// Its layout.
    #[inline]
    pub const fn layout(self) -> &'a Layout {
        self.layout
    }

    /// The schema of its layout.
    #[inline]
    pub fn schema(self) -> &'a Arc<SchemaData> {
        &self.layout.schema
    }

    /// Its message's definition.
    #[inline]
    pub fn def(self) -> &'a MessageDef {
        self.layout.def()
    }

    /// The slot as a part of this message's own layout.
    #[inline]
    #[track_caller]
    fn own(self, slot: &FieldSlot) -> &'a FieldSlot {
        own(self.layout, slot)
    }

    /// The part that holds a slot's cell, null where nothing of it is set.
    #[inline]
    fn part(self, slot: &FieldSlot) -> *const u8 {
        // SAFETY: `from_raw`'s promise; callers pass slots of this layout.
        unsafe { parts::part(self.as_ptr(), slot.page) }
    }

    /// Whether the field is set: present, where presence is tracked; else not zero, not empty.
    ///
    /// # Panics
    /// The slot is of another layout.
    #[inline]
    #[track_caller]
    pub fn has(self, slot: &FieldSlot) -> bool {
        let slot = self.own(slot);
        let part = self.part(slot);
        // SAFETY: the part of this message that the slot lies in.
        !part.is_null() && unsafe { cells::is_set(part, slot) }
    }

    /// The field's value: its default where it is not set, for a message the empty one.
    ///
    /// # Panics
    /// The slot is of another layout.
    #[inline]
    #[track_caller]
    pub fn get_slot(self, slot: &FieldSlot) -> ValueRef<'a> {
        match self.get_set(slot) {
            Some(value) => value,
            None => cells::default_value(self.layout, self.own(slot)),
        }
    }

    /// The field's value, `None` where it is not set.
    ///
    /// # Panics
    /// The slot is of another layout.
    #[inline]
    #[track_caller]
    pub fn get_set(self, slot: &FieldSlot) -> Option<ValueRef<'a>> {
        self.value_of(self.own(slot))
    }

    #[inline]
    fn value_of(self, slot: &'a FieldSlot) -> Option<ValueRef<'a>> {
        let part = self.part(slot);
        // SAFETY: the part of this message that the slot lies in; the field is set.
        unsafe { (!part.is_null() && cells::is_set(part, slot)).then(|| cells::read_slot(part, slot)) }
    }

    /// The value of the field with this number, `None` where the layout has no such field.
    pub fn get_by_number(self, number: u32) -> Option<ValueRef<'a>> {
        self.layout.slot(number).map(|slot| self.get_slot(slot))
    }

    /// The value of the field with this name, `None` where the layout has no such field. Extensions go by their
    /// full name in brackets.
    pub fn get_by_name(self, name: &str) -> Option<ValueRef<'a>> {
        self.layout.slot_named(name).map(|slot| self.get_slot(slot))
    }

    /// The member of a oneof that is set, `None` where none is. `oneof` is a position in [`MessageDef::oneofs`].
    pub fn which_oneof(self, oneof: u32) -> Option<&'a FieldSlot> {
        let def = self.def();
        for &at in &def.oneofs.get(oneof as usize)?.fields {
            // Shapes may leave members out.
            let Some(slot) = self.layout.slot(def.fields[at as usize].number) else { continue };
            let part = self.part(slot);
            if part.is_null() {
                continue;
            }
            // SAFETY: the part of this message that the slot lies in.
            unsafe {
                match slot.presence {
                    SlotPresence::Case { offset } => {
                        // All members lie in one part and share the word.
                        return self.layout.slot(part.add(offset as usize).cast::<u32>().read());
                    }
                    _ if cells::is_set(part, slot) => return Some(slot),
                    _ => {}
                }
            }
        }
        None
    }

    /// As [`MessageRef::which_oneof`], by the oneof's name.
    pub fn which_oneof_named(self, name: &str) -> Option<&'a FieldSlot> {
        let at = self.def().oneofs.iter().position(|oneof| *oneof.name == *name)?;
        self.which_oneof(at as u32)
    }

    /// The fields that are set, ascending by number, with their values.
    #[inline]
    pub fn set_fields(self) -> SetFields<'a> {
        SetFields { message: self, rest: self.layout.fields.iter() }
    }

    /// The unknown fields.
    #[inline]
    pub fn unknown_fields(self) -> UnknownFields<'a> {
        // SAFETY: `from_raw`'s promise.
        unsafe { UnknownFields::new(parts::unknown(self.as_ptr())) }
    }

    /// Nothing is set, and there are no unknown fields.
    pub fn is_empty(self) -> bool {
        self.unknown_fields().is_empty() && self.set_fields().next().is_none()
    }
}

/// The slot as a part of `layout`.
#[inline]
#[track_caller]
pub(super) fn own<'a>(layout: &'a Layout, slot: &FieldSlot) -> &'a FieldSlot {
    let base = layout.fields.as_ptr();
    let distance = (&raw const *slot as usize).wrapping_sub(base as usize);
    if distance >= size_of_val::<[FieldSlot]>(&layout.fields) {
        foreign_slot(layout)
    }
    // A reference to a slot inside of the list can only be one of its elements.
    &layout.fields[distance / size_of::<FieldSlot>()]
}

#[cold]
#[inline(never)]
#[track_caller]
fn foreign_slot(layout: &Layout) -> ! {
    panic!("a field slot of another layout was used on a message {}", layout.def().full_name)
}

/// The fields of a message that are set: see [`MessageRef::set_fields`].
#[derive(Clone, Debug)]
pub struct SetFields<'a> {
    message: MessageRef<'a>,
    rest: std::slice::Iter<'a, FieldSlot>,
}

impl<'a> Iterator for SetFields<'a> {
    type Item = (&'a FieldSlot, ValueRef<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let message = self.message;
        self.rest.find_map(|slot| message.value_of(slot).map(|value| (slot, value)))
    }
}
