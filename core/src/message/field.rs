//! Typed handles: a field is looked up and its type compared once ([`resolve`](super::resolve)), then it is an offset.

use std::fmt;
use std::marker::PhantomData;

use super::cells;
use super::map::entry_defs;
use super::types::sealed::{Key, Scalar, Single};
use super::types::{List, Map, Msg, Settable, TypedMap};
use super::{ListMut, ListRef, MapMut, MapRef, MessageMut, MessageRef, SetError, Value};
use crate::memory::map::MapTable;
use crate::memory::parts;
use crate::memory::slots::{ListSlot, Storage};
use crate::program::{FieldSlot, Layout, LayoutId, NO_CASE, SlotPresence};

/// How many messages a handle's path may lead through.
pub const MOST_HOPS: usize = 4;

/// A field of messages of one layout, with its type: what [`MessageRef::get`] takes.
///
/// Made by [`Layout::field`] and its relatives, which compare the type; afterwards an access compares the layout's
/// identity and loads. `T` is one of `i32`, `u32`, `i64`, `u64`, `f32`, `f64`, `bool`, [`Str`](super::Str),
/// [`Bytes`](super::Bytes), [`Enum`](super::Enum), each of them in an `Option` to tell what is not set from what is
/// the default, [`Msg`], a [`List`] of any of these or a [`Map`].
///
/// ```
/// use protojit_core::memory::Arena;
/// use protojit_core::message::{Field, MessageMut, Str};
/// # use protojit_core::{program::Programs, schema::Schema};
/// # let schema = Schema::from_descriptor_set(&b"\x0a\x30\x0a\x0atiny.proto\x22\x1a\x0a\x04Tiny\x12\x12\x0a\x04name\
/// #     \x18\x01\x20\x01\x28\x09\x52\x04name\x62\x06proto3"[..]).unwrap();
/// # let programs = Programs::new(schema.shared().clone());
/// // syntax = "proto3"; message Tiny { string name = 1; }
/// let shape = programs.shape(schema.message("Tiny").unwrap().id());
/// let name: Field<Str> = shape.str("name")?;
/// assert!(shape.i32("name").is_err());
///
/// let arena = Arena::new();
/// let mut message = MessageMut::new(&shape, &arena)?;
/// message.set(name, "Ada")?;
/// assert_eq!(message.as_ref().get(name), "Ada");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Field<T> {
    pub(super) place: Place,
    pub(super) of: PhantomData<fn() -> T>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field<{}>({:?})", std::any::type_name::<T>(), self.place.layout)
    }
}

/// One step down a path: the cell of a singular message.
#[derive(Clone, Copy)]
pub(super) struct Hop {
    pub(super) offset: u32,
    /// [`NO_CASE`] outside of oneofs.
    pub(super) case_offset: u32,
    pub(super) number: u32,
    pub(super) page: u16,
}

/// Where a field lies.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Place {
    /// The layout of the message that the path begins at.
    pub(super) layout: LayoutId,
    /// The layout of the message that the field is in, reachable from the one that `layout` names.
    pub(super) parent: *const Layout,
    /// The field's position there.
    pub(super) slot: u32,
    pub(super) offset: u32,
    pub(super) presence: SlotPresence,
    pub(super) page: u16,
    pub(super) hops: u8,
    /// What is not set reads from its cell (which is zero) all the same.
    pub(super) plain: bool,
    pub(super) path: [Hop; MOST_HOPS],
}

// SAFETY: `parent` is only followed while a layout with the identity `layout` is borrowed (`parent_layout`), and
// layouts are `Sync`.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Place {
    /// The layout of the message that the field is in.
    ///
    /// # Safety
    /// The layout that `self.layout` names is borrowed for `'a`. There is only ever one of an identity, so it is the
    /// one that the handle was made of, and it keeps the layouts alive that it refers to.
    #[inline]
    unsafe fn parent<'a>(&self) -> &'a Layout {
        // SAFETY: as promised to this function.
        unsafe { &*self.parent }
    }

    /// # Safety
    /// As [`Place::parent`].
    #[inline]
    unsafe fn slot<'a>(&self) -> &'a FieldSlot {
        // SAFETY: as promised to this function; the position was found in this very layout.
        unsafe { self.parent().fields.get_unchecked(self.slot as usize) }
    }

    /// The part with the field's cell, null where the field is not set.
    ///
    /// # Safety
    /// `message` is a live message of the layout that `self.layout` names.
    #[inline]
    unsafe fn part(&self, message: *const u8) -> *const u8 {
        // SAFETY: as promised to this function; `follow` gives a message of the parent's layout.
        unsafe {
            let message = if self.hops == 0 { message } else { self.follow(message) };
            if message.is_null() || self.page == 0 { message } else { parts::part(message, self.page) }
        }
    }

    /// The message at the end of the path, null where one on the way is not set.
    ///
    /// # Safety
    /// As [`Place::part`].
    #[inline]
    unsafe fn follow(&self, mut message: *const u8) -> *const u8 {
        for hop in &self.path[..(self.hops as usize).min(MOST_HOPS)] {
            // SAFETY: every hop was made of a slot of the layout of the message before it.
            unsafe {
                let part = parts::part(message, hop.page);
                if part.is_null()
                    || hop.case_offset != NO_CASE
                        && part.add(hop.case_offset as usize).cast::<u32>().read() != hop.number
                {
                    return std::ptr::null();
                }
                message = part.add(hop.offset as usize).cast::<*const u8>().read();
            }
            if message.is_null() {
                break;
            }
        }
        message
    }

    /// Whether the field is set in this part.
    ///
    /// # Safety
    /// `part` came from [`Place::part`], is not null, and the layout is borrowed as for [`Place::parent`].
    #[inline]
    unsafe fn is_set(&self, part: *const u8) -> bool {
        // SAFETY: as promised to this function; the offsets are those of the slot.
        unsafe {
            match self.presence {
                SlotPresence::Hasbit { offset, mask } => part.add(offset as usize).cast::<u32>().read() & mask != 0,
                _ => cells::is_set(part, self.slot()),
            }
        }
    }
}

/// The types a [`Field`] can have: see there.
pub trait FieldType: sealed::Read {
    /// What is read.
    type Value<'a>;

    #[doc(hidden)]
    fn value<'a>(out: Self::Out<'a>) -> Self::Value<'a>;
}

pub(super) mod sealed {
    use super::*;

    pub trait Read: 'static {
        type Out<'a>;

        fn fits(layout: &Layout, slot: &FieldSlot) -> bool;

        /// For error messages.
        fn name() -> String;

        /// # Safety
        /// `message` is live and unchanged for `'a`, of the layout that the place names, which is borrowed for `'a`;
        /// the place is that of a field that fits.
        unsafe fn read<'a>(message: *const u8, place: &Place) -> Self::Out<'a>;
    }
}

macro_rules! field_type {
    (<$($param:ident: $bound:ident),*> $ty:ty, $out:ty, |$layout:ident, $slot:ident| $fits:expr, $name:expr, |$message:ident, $place:ident| $read:expr) => {
        impl<$($param: $bound),*> FieldType for $ty {
            type Value<'a> = $out;

            #[inline]
            fn value<'a>(out: Self::Out<'a>) -> Self::Value<'a> {
                out
            }
        }

        impl<$($param: $bound),*> sealed::Read for $ty {
            type Out<'a> = $out;

            fn fits($layout: &Layout, $slot: &FieldSlot) -> bool {
                $fits
            }

            fn name() -> String {
                $name
            }

            #[inline]
            unsafe fn read<'a>($message: *const u8, $place: &Place) -> $out {
                // SAFETY: as promised to this function.
                unsafe { $read }
            }
        }
    };
}

field_type!(<T: Scalar> T, T::Out<'a>,
    |_layout, slot| slot.is_singular() && T::fits(slot.kind),
    T::NAME.to_owned(),
    |message, place| {
        let part = place.part(message);
        if !part.is_null() && (place.plain || place.is_set(part)) {
            T::load(part.add(place.offset as usize))
        } else {
            default_of::<T>(place)
        }
    }
);

field_type!(<T: Scalar> Option<T>, Option<T::Out<'a>>,
    |layout, slot| <T as sealed::Read>::fits(layout, slot),
    T::NAME.to_owned(),
    |message, place| {
        let part = place.part(message);
        (!part.is_null() && place.is_set(part))
            .then(|| T::load(part.add(place.offset as usize)))
    }
);

field_type!(<> Msg, Option<MessageRef<'a>>,
    |_layout, slot| slot.storage == Storage::Message,
    Msg::NAME.to_owned(),
    |message, place| {
        let part = place.part(message);
        (!part.is_null() && place.is_set(part))
            .then(|| cells::read_message(part.add(place.offset as usize), &place.slot().child))
    }
);

field_type!(<T: Single> List<T>, T::Slice<'a>,
    |_layout, slot| slot.storage == Storage::List && T::fits(slot.kind),
    format!("repeated {}", T::NAME),
    |message, place| {
        let part = place.part(message);
        let cell = match part.is_null() {
            true => ListSlot { ptr: std::ptr::null_mut(), len: 0, cap: 0 },
            false => part.add(place.offset as usize).cast::<ListSlot>().read(),
        };
        match T::of_list(ListRef::new(cell, place.slot())) {
            Some(list) => list,
            None => unreachable!("the handle was typed by the list's kind"),
        }
    }
);

field_type!(<K: Key, V: Single> Map<K, V>, TypedMap<'a, K, V>,
    |layout, slot| slot.storage == Storage::Map && {
        let (key, value) = entry_defs(layout, slot);
        K::fits(key.kind) && V::fits(value.kind)
    },
    format!("map<{}, {}>", K::NAME, V::NAME),
    |message, place| {
        let part = place.part(message);
        let table = match part.is_null() {
            true => std::ptr::null(),
            false => part.add(place.offset as usize).cast::<*const MapTable>().read(),
        };
        TypedMap::new(MapRef::new(table, place.parent(), place.slot()))
    }
);

/// # Safety
/// As [`Place::parent`].
#[cold]
#[inline(never)]
unsafe fn default_of<'a, T: Scalar>(place: &Place) -> T::Out<'a> {
    // SAFETY: as promised to this function.
    let (layout, slot): (&'a Layout, &'a FieldSlot) = unsafe { (place.parent(), place.slot()) };
    match T::of(cells::default_value(layout, slot)) {
        Some(value) => value,
        None => unreachable!("the handle was typed by the field's kind"),
    }
}

impl<'a> MessageRef<'a> {
    /// The field's value; where it is not set its default, for types in an `Option` and messages `None`. Fields of a
    /// message that is not set are not set.
    ///
    /// # Panics
    /// The handle is of another layout.
    #[inline]
    #[track_caller]
    pub fn get<T: FieldType>(self, field: Field<T>) -> T::Value<'a> {
        if field.place.layout != self.layout().id {
            foreign_handle(self.layout());
        }
        // SAFETY: the handle is of this message's layout.
        unsafe { self.get_unchecked(field) }
    }

    /// As [`MessageRef::get`]; `None` where the handle is of another layout.
    #[inline]
    pub fn try_get<T: FieldType>(self, field: Field<T>) -> Option<T::Value<'a>> {
        // SAFETY: the handle is of this message's layout.
        (field.place.layout == self.layout().id).then(|| unsafe { self.get_unchecked(field) })
    }

    /// As [`MessageRef::get`], and compares nothing.
    ///
    /// # Safety
    /// The handle was made of this message's layout.
    #[inline]
    pub unsafe fn get_unchecked<T: FieldType>(self, field: Field<T>) -> T::Value<'a> {
        // SAFETY: this message is live and unchanged for `'a`, and borrows the layout that the handle is of.
        T::value(unsafe { T::read(self.as_ptr(), &field.place) })
    }

    /// Whether the field is set, as [`MessageRef::has`] tells.
    ///
    /// # Panics
    /// The handle is of another layout.
    #[inline]
    #[track_caller]
    pub fn is_set<T: FieldType>(self, field: Field<T>) -> bool {
        if field.place.layout != self.layout().id {
            foreign_handle(self.layout());
        }
        // SAFETY: the handle is of this message's layout.
        unsafe {
            let part = field.place.part(self.as_ptr());
            !part.is_null() && field.place.is_set(part)
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn foreign_handle(layout: &Layout) -> ! {
    panic!("a field handle of another layout was used on a message {}", layout.def().full_name)
}

impl<'a> MessageMut<'a> {
    /// Sets a field through its handle; messages on its path are made where they are not set. Strings and bytes are
    /// copied.
    ///
    /// # Errors
    /// As [`MessageMut::set_slot`], and where the handle is of another layout.
    pub fn set<T: Settable>(&mut self, field: Field<T>, value: T::Input<'_>) -> Result<(), SetError> {
        let (mut parent, slot) = self.parent(&field.place)?;
        let value = match value.into() {
            Value::I32(number) if T::ENUM => Value::Enum(number),
            value => value,
        };
        parent.set_slot(slot, value)
    }

    /// Makes a field unset through its handle.
    ///
    /// # Errors
    /// The handle is of another layout.
    pub fn unset<T: FieldType>(&mut self, field: Field<T>) -> Result<(), SetError> {
        if field.place.layout != self.layout().id {
            return Err(SetError::OtherLayout);
        }
        // SAFETY: the handle is of this message's layout; all of the message is ours to change.
        unsafe {
            let message = field.place.follow(self.as_ptr());
            if !message.is_null() {
                let layout = field.place.parent();
                MessageMut::from_raw(message.cast_mut(), layout, self.arena()).clear_slot(field.place.slot());
            }
        }
        Ok(())
    }

    /// The message of a field, to be changed; made, like those on its path, where it is not set.
    ///
    /// # Errors
    /// The arena is full, or the handle is of another layout.
    pub fn message(&mut self, field: Field<Msg>) -> Result<MessageMut<'_>, SetError> {
        let (parent, slot) = self.parent(&field.place)?;
        parent.into_mutable(slot)
    }

    /// The list of a field, to be changed. Messages on its path are made where they are not set.
    ///
    /// # Errors
    /// The arena is full, or the handle is of another layout.
    pub fn list_of<T: Single>(&mut self, field: Field<List<T>>) -> Result<ListMut<'_>, SetError> {
        let (parent, slot) = self.parent(&field.place)?;
        parent.into_list(slot)
    }

    /// The map of a field, to be changed. Messages on its path are made where they are not set.
    ///
    /// # Errors
    /// The arena is full, or the handle is of another layout.
    pub fn map_of<K: Key, V: Single>(&mut self, field: Field<Map<K, V>>) -> Result<MapMut<'_>, SetError> {
        let (parent, slot) = self.parent(&field.place)?;
        parent.into_map(slot)
    }

    /// The message at the end of a handle's path, made where it is not set, and the field's slot in it.
    fn parent(&mut self, place: &Place) -> Result<(MessageMut<'_>, &'a FieldSlot), SetError> {
        if place.layout != self.layout().id {
            return Err(SetError::OtherLayout);
        }
        let mut message = self.reborrow();
        for hop in &place.path[..place.hops as usize] {
            let slot = message.layout().slot(hop.number).ok_or(SetError::OtherLayout)?;
            message = message.into_mutable(slot)?;
        }
        // SAFETY: the place names this message's layout.
        Ok((message, unsafe { place.slot() }))
    }
}
