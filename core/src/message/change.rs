//! Changing a message.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::checked::{self, SetError};
use super::read::own;
use super::{ListMut, MapMut, MessageRef, Value, cells, copy, read_unknown};
use crate::memory::slots::{Storage, StrSlot};
use crate::memory::{Arena, ArenaFull, parts, unknown};
use crate::program::{FieldSlot, Layout, SlotPresence};

/// A message in memory, borrowed to be changed. What it takes up comes from the arena, and goes back to it only
/// when the arena is reset: a value that is replaced leaves its memory behind unless the new one fits into it.
///
/// After an error of memory ([`SetError::ArenaFull`]) the message is still sound: the field in question is as it was,
/// or unset.
///
/// ```
/// # let set = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/message.binpb"));
/// # let schema = protojit_core::schema::Schema::from_descriptor_set(&set[..])?;
/// # let programs = protojit_core::program::Programs::new(schema.shared().clone());
/// # let shape = programs.shape(schema.message("t.Person").unwrap().id());
/// use protojit_core::memory::Arena;
/// use protojit_core::message::{MessageMut, SetError, Value};
///
/// let slot = |name| shape.slot_named(name).ok_or("no such field");
/// let arena = Arena::new();
/// let mut person = MessageMut::new(&shape, &arena)?;
/// person.set_slot(slot("name")?, "Ada")?;
/// person.set_slot(slot("level")?, Value::Enum(1))?;
/// person.push(slot("emails")?, "ada@example.org")?;
/// person.map(slot("labels")?)?.insert("team", "analysis")?;
/// let mut address = person.mutable(slot("address")?)?; // made, since it is not set
/// address.set_slot(address.layout().slot_named("zip").ok_or("no such field")?, 1234)?;
/// assert_eq!(person.set_slot(slot("id")?, "one"), Err(SetError::WrongKind));
/// assert_eq!(
///     format!("{person:?}"),
///     "Person { name: \"Ada\", address: Address { zip: 1234 }, emails: [\"ada@example.org\"], \
///      labels: {\"team\": \"analysis\"}, level: ONE }"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MessageMut<'a> {
    ptr: NonNull<u8>,
    layout: &'a Layout,
    arena: &'a Arena,
    memory: PhantomData<&'a mut [u64]>,
}

impl<'a> MessageMut<'a> {
    /// A new, empty message in `arena`.
    ///
    /// # Errors
    /// The arena is full.
    #[inline]
    pub fn new(layout: &'a Layout, mut arena: &'a Arena) -> Result<MessageMut<'a>, ArenaFull> {
        let ptr = parts::new_message(layout, &mut arena)?;
        // SAFETY: zeros are an empty message, in memory that nobody else has.
        Ok(unsafe { MessageMut::from_raw(ptr, layout, arena) })
    }

    /// A message at an address.
    ///
    /// # Safety
    /// As [`MessageRef::from_raw`], and nobody else reads or changes the message, or what it points to, during `'a`
    /// (borrowed strings may be read by others). All of that outlives what `arena` holds now or is part of it.
    #[inline]
    pub const unsafe fn from_raw(ptr: *mut u8, layout: &'a Layout, arena: &'a Arena) -> MessageMut<'a> {
        // SAFETY: messages do not lie at address 0.
        let ptr = unsafe { NonNull::new_unchecked(ptr) };
        MessageMut { ptr, layout, arena, memory: PhantomData }
    }

    /// The address of the message itself.
    #[inline]
    pub const fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// Its layout.
    #[inline]
    pub const fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// The arena that it grows in.
    #[inline]
    pub const fn arena(&self) -> &'a Arena {
        self.arena
    }

    /// The message, to be read.
    #[inline]
    pub const fn as_ref(&self) -> MessageRef<'_> {
        // SAFETY: live, and while it is borrowed from `self` nobody changes it.
        unsafe { MessageRef::from_raw(self.ptr.as_ptr(), self.layout) }
    }

    /// The message, from now on only to be read.
    #[inline]
    pub const fn freeze(self) -> MessageRef<'a> {
        // SAFETY: live for `'a`, and the only way to change it ends here.
        unsafe { MessageRef::from_raw(self.ptr.as_ptr(), self.layout) }
    }

    /// A shorter borrow, to be handed on.
    #[inline]
    pub const fn reborrow(&mut self) -> MessageMut<'_> {
        MessageMut { ptr: self.ptr, layout: self.layout, arena: self.arena, memory: PhantomData }
    }

    /// The part of the slot, made where it does not exist.
    fn part(&mut self, slot: &FieldSlot) -> Result<*mut u8, ArenaFull> {
        // SAFETY: this message, of this layout, is ours to change; callers pass slots of this layout.
        unsafe { parts::part_mut(self.as_ptr(), self.layout, slot.page, &mut self.arena) }
    }

    /// Sets a singular field. Strings and bytes are copied.
    ///
    /// # Errors
    /// The value is not of the field's kind (lists, maps and messages have methods of their own), the string is not
    /// UTF-8, the closed enum does not declare the number, or the arena is full.
    ///
    /// # Panics
    /// The slot is of another layout.
    #[track_caller]
    pub fn set_slot<'v>(&mut self, slot: &FieldSlot, value: impl Into<Value<'v>>) -> Result<(), SetError> {
        let slot = own(self.layout, slot);
        if !slot.is_singular() {
            return Err(SetError::WrongKind);
        }
        let raw = checked::check(&self.layout.schema, self.layout.field_def(slot), value.into())?;
        let part = self.part(slot)?;
        // SAFETY: the slot's part, in a message that is ours to change; `check` gave a value of the slot's storage,
        // and `vacate` leaves a value of that storage or zeros.
        unsafe {
            vacate(part, slot);
            checked::write(part.add(slot.offset as usize), raw, &mut self.arena)?;
            mark(part, slot);
        }
        Ok(())
    }

    /// Sets a singular string or bytes field to `bytes` without copying them.
    ///
    /// # Errors
    /// As [`MessageMut::set_slot`].
    ///
    /// # Panics
    /// The slot is of another layout.
    ///
    /// # Safety
    /// `bytes` live, unchanged, as long as the message or any message that contains it is read.
    #[track_caller]
    pub unsafe fn set_str_borrowed(&mut self, slot: &FieldSlot, bytes: &[u8]) -> Result<(), SetError> {
        let slot = own(self.layout, slot);
        if slot.storage != Storage::Str {
            return Err(SetError::WrongKind);
        }
        let bytes = match slot.kind {
            crate::schema::model::FieldKind::String => checked::check_utf8(self.layout.field_def(slot), bytes)?,
            _ => bytes,
        };
        let cell = StrSlot::borrowed(bytes).ok_or(ArenaFull { limit: self.arena.limit() })?;
        let part = self.part(slot)?;
        // SAFETY: the slot's part, in a message that is ours to change; its cell is a `StrSlot`.
        unsafe {
            vacate(part, slot);
            part.add(slot.offset as usize).cast::<StrSlot>().write(cell);
            mark(part, slot);
        }
        Ok(())
    }

    /// The singular message of a field, to be changed; made where it is not set.
    ///
    /// # Errors
    /// The field is no singular message, or the arena is full.
    ///
    /// # Panics
    /// The slot is of another layout.
    #[track_caller]
    pub fn mutable(&mut self, slot: &FieldSlot) -> Result<MessageMut<'_>, SetError> {
        self.reborrow().into_mutable(slot)
    }

    #[track_caller]
    pub(super) fn into_mutable(mut self, slot: &FieldSlot) -> Result<MessageMut<'a>, SetError> {
        let slot = own(self.layout, slot);
        if slot.storage != Storage::Message {
            return Err(SetError::WrongKind);
        }
        let child = cells::child_layout(&slot.child);
        let part = self.part(slot)?;
        // SAFETY: the slot's part, in a message that is ours to change; its cell is a pointer to a message of the
        // child's layout, or null.
        unsafe {
            let message = child_message(part, slot, child, &mut self.arena)?;
            Ok(MessageMut::from_raw(message, child, self.arena))
        }
    }

    /// A list, to be changed.
    ///
    /// # Errors
    /// The field is no list, or the arena is full.
    ///
    /// # Panics
    /// The slot is of another layout.
    #[track_caller]
    pub fn list(&mut self, slot: &FieldSlot) -> Result<ListMut<'_>, SetError> {
        self.reborrow().into_list(slot)
    }

    #[track_caller]
    pub(super) fn into_list(mut self, slot: &FieldSlot) -> Result<ListMut<'a>, SetError> {
        let slot = own(self.layout, slot);
        if slot.storage != Storage::List {
            return Err(SetError::WrongKind);
        }
        let part = self.part(slot)?;
        // SAFETY: the list's cell in its part, in a message that is ours to change.
        Ok(unsafe { ListMut::new(part.add(slot.offset as usize).cast(), self.layout, slot, self.arena) })
    }

    /// Appends to a list: as [`MessageMut::list`] and [`ListMut::push`].
    ///
    /// # Errors
    /// As those.
    ///
    /// # Panics
    /// The slot is of another layout.
    #[track_caller]
    pub fn push<'v>(&mut self, slot: &FieldSlot, value: impl Into<Value<'v>>) -> Result<(), SetError> {
        self.list(slot)?.push(value)
    }

    /// Appends an empty message to a list and gives it.
    ///
    /// # Errors
    /// The field is no list of messages, or the arena is full.
    ///
    /// # Panics
    /// The slot is of another layout.
    #[track_caller]
    pub fn push_message(&mut self, slot: &FieldSlot) -> Result<MessageMut<'_>, SetError> {
        self.list(slot)?.into_push_message()
    }

    /// A map, to be changed.
    ///
    /// # Errors
    /// The field is no map, or the arena is full.
    ///
    /// # Panics
    /// The slot is of another layout.
    #[track_caller]
    pub fn map(&mut self, slot: &FieldSlot) -> Result<MapMut<'_>, SetError> {
        self.reborrow().into_map(slot)
    }

    #[track_caller]
    pub(super) fn into_map(mut self, slot: &FieldSlot) -> Result<MapMut<'a>, SetError> {
        let slot = own(self.layout, slot);
        if slot.storage != Storage::Map {
            return Err(SetError::WrongKind);
        }
        let part = self.part(slot)?;
        // SAFETY: the map's cell in its part, in a message that is ours to change.
        Ok(unsafe { MapMut::new(part.add(slot.offset as usize).cast(), self.layout, slot, self.arena) })
    }

    /// Makes a field unset.
    ///
    /// # Panics
    /// The slot is of another layout.
    #[track_caller]
    pub fn clear_slot(&mut self, slot: &FieldSlot) {
        let slot = own(self.layout, slot);
        // SAFETY: this message is ours to change; all offsets of a slot lie in its part.
        unsafe {
            let part = parts::part(self.as_ptr(), slot.page).cast_mut();
            if !part.is_null() {
                clear_field(part, slot);
            }
        }
    }

    /// Makes everything unset, unknown fields too.
    pub fn clear(&mut self) {
        // SAFETY: the message's own memory, and ours to change; zeros are an empty message.
        unsafe { self.as_ptr().write_bytes(0, self.layout.size as usize) };
    }

    /// Drops the unknown fields.
    pub fn clear_unknown(&mut self) {
        // SAFETY: this message is ours to change; the cold part begins with the list of unknown fields.
        unsafe {
            if !parts::cold(self.as_ptr()).is_null()
                && let Ok(runs) = parts::unknown_mut(self.as_ptr(), self.layout, &mut self.arena)
            {
                (*runs).len = 0;
            }
        }
    }

    /// Appends unknown fields: the wire bytes of one or more whole fields, which are copied.
    ///
    /// # Errors
    /// The bytes are not that, or the arena is full.
    pub fn add_unknown(&mut self, bytes: &[u8]) -> Result<(), SetError> {
        let mut at = 0;
        while at < bytes.len() {
            read_unknown(bytes, &mut at).ok_or(SetError::MalformedUnknown)?;
        }
        if !bytes.is_empty() {
            // SAFETY: this message is ours to change.
            unsafe {
                let runs = parts::unknown_mut(self.as_ptr(), self.layout, &mut self.arena)?;
                unknown::push_copied(&mut *runs, bytes, &mut self.arena)?;
            }
        }
        Ok(())
    }

    /// Merges another message of the same layout into this one, as if its bytes were decoded behind this one's:
    /// what it has set replaces, lists and unknown fields are appended, messages merged, map entries replaced.
    ///
    /// # Errors
    /// The layouts differ, or the arena is full; then a part is merged.
    pub fn merge_from(&mut self, other: MessageRef<'_>) -> Result<(), SetError> {
        if self.layout.id != other.layout().id {
            return Err(SetError::OtherLayout);
        }
        // SAFETY: both are messages of this layout; this one is ours to change, so the other is apart from it.
        unsafe { copy::merge(self.as_ptr(), other.as_ptr(), self.layout, &mut self.arena)? };
        Ok(())
    }
}

/// The message that a slot's pointer cell refers to, made where there is none; the field is set afterwards.
///
/// # Safety
/// `part` is the slot's part, in a live message that nobody else reads meanwhile; the slot is a singular message of
/// the layout `child`.
pub(super) unsafe fn child_message(
    part: *mut u8,
    slot: &FieldSlot,
    child: &Layout,
    from: &mut impl crate::memory::alloc::Alloc,
) -> Result<*mut u8, ArenaFull> {
    // SAFETY: as promised to this function; after `vacate` the cell is a pointer or zeros.
    unsafe {
        vacate(part, slot);
        let cell = part.add(slot.offset as usize).cast::<*mut u8>();
        let mut message = cell.read();
        if message.is_null() {
            message = parts::new_message(child, from)?;
            cell.write(message);
        }
        mark(part, slot);
        Ok(message)
    }
}

/// Makes way in a oneof: unless the slot is the member that is set, none is afterwards, and its cell is zero.
///
/// # Safety
/// `part` is the slot's part, in a live message that nobody else reads meanwhile.
#[inline]
pub(super) unsafe fn vacate(part: *mut u8, slot: &FieldSlot) {
    if let SlotPresence::Case { offset } = slot.presence {
        // SAFETY: as promised to this function; the cell is as wide as its storage.
        unsafe {
            let case = part.add(offset as usize).cast::<u32>();
            if case.read() != slot.number {
                case.write(0);
                part.add(slot.offset as usize).write_bytes(0, slot.storage.size() as usize);
            }
        }
    }
}

/// Notes that the field is set, where that is not told by its value.
///
/// # Safety
/// As [`vacate`]; the cell holds a value of the slot's storage.
#[inline]
pub(super) unsafe fn mark(part: *mut u8, slot: &FieldSlot) {
    // SAFETY: as promised to this function.
    unsafe {
        match slot.presence {
            SlotPresence::Hasbit { offset, mask } => *part.add(offset as usize).cast::<u32>() |= mask,
            SlotPresence::Case { offset } => part.add(offset as usize).cast::<u32>().write(slot.number),
            _ => {}
        }
    }
}

/// Makes the field unset. Strings and lists keep their room for the next value.
///
/// # Safety
/// As [`vacate`].
unsafe fn clear_field(part: *mut u8, slot: &FieldSlot) {
    // SAFETY: as promised to this function.
    unsafe {
        let cell = part.add(slot.offset as usize);
        match slot.presence {
            SlotPresence::Hasbit { offset, mask } => *part.add(offset as usize).cast::<u32>() &= !mask,
            SlotPresence::Case { offset } => {
                let case = part.add(offset as usize).cast::<u32>();
                if case.read() != slot.number {
                    return;
                }
                case.write(0);
            }
            _ => {}
        }
        match slot.storage {
            // Both begin with a pointer, then the length, then the room.
            Storage::Str | Storage::List => (*cell.cast::<StrSlot>()).len = 0,
            storage => cell.write_bytes(0, storage.size() as usize),
        }
    }
}
