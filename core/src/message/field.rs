//! Typed handles: a field is looked up and its type compared once ([`resolve`](super::resolve)), then it is an offset.

use std::fmt;
use std::marker::PhantomData;

use super::cells;
use super::types::sealed::{Key, Scalar, Single};
use super::types::{List, Map, Msg, Settable, TypedMap};
use super::{ListMut, ListRef, MapMut, MapRef, MessageMut, MessageRef, SetError, Value};
use crate::memory::map::MapTable;
use crate::memory::parts;
use crate::memory::slots::{ListSlot, Storage};
use crate::program::{FieldSlot, Layout, LayoutId, Path, SlotPresence};

/// How many messages a handle's path may lead through.
pub const MOST_HOPS: usize = 16;

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

/// Where a field lies. Small, and without arrays, so that compilers keep it in registers.
///
/// Three ways lead to a field. *Quick*: it lies in the message itself, and one comparison tells that the layout is
/// right and this way is open. *One hop*: the same in a message that the message points to. *Far*: anything else.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Place {
    /// `layout` where the field is quick, else [`LayoutId::NONE`].
    pub(super) quick: LayoutId,
    /// The layout of the message that an access begins at.
    pub(super) layout: LayoutId,
    /// The field's slot: of that layout, or of the one at the end of the path.
    pub(super) slot: *const FieldSlot,
    /// The way to the message that the field is in, owned by the layout; null for the message itself.
    pub(super) path: *const Path,
    /// One hop: the offset of the pointer, else [`NO_HOP`].
    pub(super) hop: u32,
    /// The cell.
    pub(super) offset: u32,
    /// What tells that it is set.
    pub(super) probe: Probe,
}

/// [`Place::hop`] where the way is another.
pub(super) const NO_HOP: u32 = u32::MAX;

// SAFETY: the pointers are only followed while a layout with the identity `layout` is borrowed (`Place::slot`), and
// layouts are `Sync`.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

/// How to tell that a field is set: the word at `offset` in its message, under `mask`, is `word`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    offset: u32,
    mask: u32,
    word: u32,
}

impl Probe {
    /// `None` where one word does not tell.
    pub(super) fn of(slot: &FieldSlot) -> Option<Probe> {
        match slot.presence {
            SlotPresence::Hasbit { offset, mask } => Some(Probe { offset, mask, word: mask }),
            SlotPresence::Case { offset } => Some(Probe { offset, mask: u32::MAX, word: slot.number }),
            _ => None,
        }
    }

    /// # Safety
    /// `message` is a live message of the layout of the slot that this was made of, which lies on no page.
    #[inline]
    unsafe fn is_set(&self, message: *const u8) -> bool {
        // SAFETY: as promised to this function; the offset is within the message.
        unsafe { message.add(self.offset as usize).cast::<u32>().read() & self.mask == self.word }
    }
}

impl Place {
    /// The field's slot.
    ///
    /// # Safety
    /// The layout that `self.layout` names is borrowed for `'a`. There is only ever one of an identity, so it is the
    /// one that the handle was made of, and it keeps its paths and the layouts alive that it refers to.
    #[inline]
    pub(super) unsafe fn slot<'a>(&self) -> &'a FieldSlot {
        // SAFETY: as promised to this function.
        unsafe { &*self.slot }
    }

    /// The way to the message that the field is in.
    ///
    /// # Safety
    /// As [`Place::slot`].
    #[inline]
    pub(super) unsafe fn path<'a>(&self) -> Option<&'a Path> {
        // SAFETY: as promised to this function.
        unsafe { self.path.as_ref() }
    }
}

/// Where an access that is not quick reads: passed by value, so that a [`Place`] need not be in memory.
#[derive(Clone, Copy, Debug)]
pub struct Far {
    path: *const Path,
    slot: *const FieldSlot,
}

impl Far {
    /// The part with the field's cell, null where there is none; the slot; and the layout it is of.
    ///
    /// # Safety
    /// From a place of the message's layout.
    unsafe fn find<'a>(self, message: MessageRef<'a>) -> (*const u8, &'a FieldSlot, &'a Layout) {
        let (mut at, mut layout) = (message.as_ptr(), message.layout());
        // SAFETY: as promised to this function, hence as in `Place::slot`; a path ends at a message of its layout.
        unsafe {
            let slot = &*self.slot;
            if let Some(path) = self.path.as_ref() {
                (at, layout) = (path.follow(at), path.end());
            }
            (if at.is_null() { at } else { parts::part(at, slot.page) }, slot, layout)
        }
    }

    /// As [`Far::find`], with null for the part where the field is not set.
    ///
    /// # Safety
    /// As [`Far::find`].
    unsafe fn find_set<'a>(self, message: MessageRef<'a>) -> (*const u8, &'a FieldSlot, &'a Layout) {
        // SAFETY: as promised to this function; the part is the slot's.
        unsafe {
            let (part, slot, layout) = self.find(message);
            let set = !part.is_null() && cells::is_set(part, slot);
            (if set { part } else { std::ptr::null() }, slot, layout)
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

        /// Whether the field is of this type.
        fn fits(slot: &FieldSlot) -> bool;

        /// For error messages.
        fn name() -> String;

        /// Whether [`Read::quick`] can read the field, where it lies on no page.
        fn is_quick(slot: &FieldSlot, zero_default: bool) -> bool;

        /// # Safety
        /// `message` is of the slot's layout, live and unchanged for `'a`, for which the layout that the place names
        /// is borrowed, too. The place is that of a field that fits and is quick, perhaps behind one hop.
        unsafe fn quick<'a>(message: *const u8, place: &Place) -> Self::Out<'a>;

        /// # Safety
        /// From a place of the message's layout, whose field fits.
        unsafe fn far<'a>(message: MessageRef<'a>, far: Far) -> Self::Out<'a>;
    }
}

macro_rules! field_type {
    (
        <$($param:ident: $bound:ident),*> $ty:ty, $out:ty, $name:expr,
        fits: |$slot:ident| $fits:expr,
        is_quick: |$quick_slot:ident, $zero:ident| $is_quick:expr,
        quick: |$message:ident, $place:ident| $quick:expr,
        far: |$far_message:ident, $far:ident| $read_far:expr,
    ) => {
        impl<$($param: $bound),*> FieldType for $ty {
            type Value<'a> = $out;

            #[inline]
            fn value<'a>(out: Self::Out<'a>) -> Self::Value<'a> {
                out
            }
        }

        impl<$($param: $bound),*> sealed::Read for $ty {
            type Out<'a> = $out;

            fn fits($slot: &FieldSlot) -> bool {
                $fits
            }

            fn name() -> String {
                $name
            }

            fn is_quick($quick_slot: &FieldSlot, $zero: bool) -> bool {
                $is_quick
            }

            #[inline]
            unsafe fn quick<'a>($message: *const u8, $place: &Place) -> $out {
                // SAFETY: as promised to this function.
                unsafe { $quick }
            }

            #[inline(never)]
            unsafe fn far<'a>($far_message: MessageRef<'a>, $far: Far) -> $out {
                // SAFETY: as promised to this function.
                unsafe { $read_far }
            }
        }
    };
}

field_type! {
    <T: Scalar> T, T::Out<'a>, T::NAME.to_owned(),
    fits: |slot| slot.is_singular() && T::fits(slot.kind),
    // A cell that is not set is zero, unless another member of a oneof lies there.
    is_quick: |slot, zero_default| zero_default && !matches!(slot.presence, SlotPresence::Case { .. }),
    quick: |message, place| T::load(message.add(place.offset as usize)),
    far: |message, far| {
        let (part, slot, layout) = far.find_set(message);
        if part.is_null() {
            match T::of(cells::default_value(layout, slot)) {
                Some(value) => value,
                None => unreachable!("the handle was typed by the field's kind"),
            }
        } else {
            T::load(part.add(slot.offset as usize))
        }
    },
}

field_type! {
    <T: Scalar> Option<T>, Option<T::Out<'a>>, T::NAME.to_owned(),
    fits: |slot| slot.is_singular() && T::fits(slot.kind),
    is_quick: |slot, _zero_default| Probe::of(slot).is_some(),
    quick: |message, place| {
        let set = place.probe.is_set(message);
        set.then(|| T::load(message.add(place.offset as usize)))
    },
    far: |message, far| {
        let (part, slot, _) = far.find_set(message);
        (!part.is_null()).then(|| T::load(part.add(slot.offset as usize)))
    },
}

field_type! {
    <> Msg, Option<MessageRef<'a>>, Msg::NAME.to_owned(),
    fits: |slot| slot.storage == Storage::Message,
    is_quick: |slot, _zero_default| slot.presence == SlotPresence::Pointer,
    quick: |message, place| {
        let target = message.add(place.offset as usize).cast::<*const u8>().read();
        (!target.is_null()).then(|| MessageRef::from_raw(target, cells::child_layout(&place.slot().child)))
    },
    far: |message, far| {
        let (part, slot, _) = far.find_set(message);
        (!part.is_null()).then(|| cells::read_message(part.add(slot.offset as usize), &slot.child))
    },
}

field_type! {
    <T: Single> List<T>, T::Slice<'a>, format!("repeated {}", T::NAME),
    fits: |slot| slot.storage == Storage::List && T::fits(slot.kind),
    is_quick: |_slot, _zero_default| true,
    quick: |message, place| {
        let cell = message.add(place.offset as usize).cast::<ListSlot>().read();
        T::of_list(ListRef::new(cell, place.slot()))
    },
    far: |message, far| {
        let (part, slot, _) = far.find(message);
        T::of_list(match part.is_null() {
            true => ListRef::empty(slot),
            false => ListRef::new(part.add(slot.offset as usize).cast::<ListSlot>().read(), slot),
        })
    },
}

field_type! {
    <K: Key, V: Single> Map<K, V>, TypedMap<'a, K, V>, format!("map<{}, {}>", K::NAME, V::NAME),
    fits: |slot| slot.entry_kinds.is_some_and(|(key, value)| K::fits(key) && V::fits(value)),
    is_quick: |_slot, _zero_default| true,
    quick: |message, place| {
        let table = message.add(place.offset as usize).cast::<*const MapTable>().read();
        TypedMap::new(MapRef::new(table, place.slot()))
    },
    far: |message, far| {
        let (part, slot, _) = far.find(message);
        TypedMap::new(match part.is_null() {
            true => MapRef::empty(slot),
            false => MapRef::new(part.add(slot.offset as usize).cast::<*const MapTable>().read(), slot),
        })
    },
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
        let place = field.place;
        let id = self.layout().id;
        if place.quick == id {
            // SAFETY: the handle is of this message's layout, which is borrowed for `'a`, and quick.
            return T::value(unsafe { T::quick(self.as_ptr(), &place) });
        }
        if place.layout != id {
            foreign_handle(self.layout());
        }
        // SAFETY: the handle is of this message's layout.
        T::value(unsafe { read_behind::<T>(self, place) })
    }

    /// As [`MessageRef::get`]; `None` where the handle is of another layout.
    #[inline]
    pub fn try_get<T: FieldType>(self, field: Field<T>) -> Option<T::Value<'a>> {
        // SAFETY: the handle is of this message's layout.
        (field.place.layout == self.layout().id).then(|| unsafe { self.get_unchecked(field) })
    }

    /// As [`MessageRef::get`], and does not compare the layouts.
    ///
    /// # Safety
    /// The handle was made of this message's layout.
    #[inline]
    pub unsafe fn get_unchecked<T: FieldType>(self, field: Field<T>) -> T::Value<'a> {
        let place = field.place;
        // SAFETY: this message borrows the layout that the handle is of for `'a`.
        T::value(unsafe {
            match place.quick != LayoutId::NONE {
                true => T::quick(self.as_ptr(), &place),
                false => read_behind::<T>(self, place),
            }
        })
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
        let Place { path, slot, .. } = field.place;
        // SAFETY: the handle is of this message's layout.
        unsafe { !(Far { path, slot }).find_set(self).0.is_null() }
    }
}

/// Reads what is not quick.
///
/// # Safety
/// The handle was made of this message's layout.
#[inline]
unsafe fn read_behind<'a, T: FieldType>(message: MessageRef<'a>, place: Place) -> T::Out<'a> {
    // SAFETY: as promised to this function; one hop leads to a message of the slot's layout.
    unsafe {
        if place.hop != NO_HOP {
            let target = message.as_ptr().add(place.hop as usize).cast::<*const u8>().read();
            if !target.is_null() {
                return T::quick(target, &place);
            }
        }
        T::far(message, Far { path: place.path, slot: place.slot })
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
            match field.place.path() {
                None => self.clear_slot(field.place.slot()),
                Some(path) => {
                    let message = path.follow(self.as_ptr());
                    if !message.is_null() {
                        let mut message = MessageMut::from_raw(message.cast_mut(), path.end(), self.arena());
                        message.clear_slot(field.place.slot());
                    }
                }
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
        // SAFETY: the place names this message's layout.
        if let Some(path) = unsafe { place.path() } {
            for hop in path.hops() {
                let slot = message.layout().slot(hop.number).ok_or(SetError::OtherLayout)?;
                message = message.into_mutable(slot)?;
            }
        }
        // SAFETY: as above.
        Ok((message, unsafe { place.slot() }))
    }
}
