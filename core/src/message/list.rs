//! Reading lists.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::cells;
use super::{MessageRef, StrRef, ValueRef};
use crate::memory::slots::{ListSlot, Storage, StrSlot};
use crate::program::FieldSlot;
use crate::schema::model::FieldKind;

/// A repeated field, borrowed. Lists of numbers are slices.
///
/// ```
/// # let set = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/message.binpb"));
/// # let schema = protojit_core::schema::Schema::from_descriptor_set(&set[..])?;
/// # let programs = protojit_core::program::Programs::new(schema.shared().clone());
/// # let shape = programs.shape(schema.message("t.Person").unwrap().id());
/// use protojit_core::message::Message;
///
/// let scores = shape.slot_named("scores").ok_or("no such field")?;
/// let mut message = Message::new(shape.clone());
/// let mut person = message.as_mut();
/// person.list(scores)?.extend([3, 4])?;
/// let list = message.as_ref().get_slot(scores).as_list().ok_or("no list")?;
/// assert_eq!(list.as_i32s(), Some(&[3, 4][..]));
/// assert_eq!(list.iter().filter_map(|value| value.as_i32()).sum::<i32>(), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct ListRef<'a> {
    cell: ListSlot,
    slot: &'a FieldSlot,
    memory: PhantomData<&'a [u64]>,
}

// SAFETY: a shared borrow of elements that nobody changes during `'a`.
unsafe impl Send for ListRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for ListRef<'_> {}

macro_rules! slices {
    ($($(#[$doc:meta])* $name:ident -> $ty:ty: $kind:pat,)*) => {
        impl<'a> ListRef<'a> {
            $(
                $(#[$doc])*
                #[inline]
                pub fn $name(self) -> Option<&'a [$ty]> {
                    match self.slot.kind {
                        // SAFETY: the elements of a list of this kind are stored as this type; bools are 0 or 1.
                        $kind => Some(unsafe { self.cell.elements() }),
                        _ => None,
                    }
                }
            )*
        }
    };
}

slices! {
    /// The elements of a list of `bool`, `None` for other kinds.
    as_bools -> bool: FieldKind::Bool,
    /// The elements of a list of `int32`, `sint32` or `sfixed32`, `None` for other kinds (enums too).
    as_i32s -> i32: FieldKind::Int32 | FieldKind::Sint32 | FieldKind::Sfixed32,
    /// The elements of a list of `uint32` or `fixed32`, `None` for other kinds.
    as_u32s -> u32: FieldKind::Uint32 | FieldKind::Fixed32,
    /// The elements of a list of `int64`, `sint64` or `sfixed64`, `None` for other kinds.
    as_i64s -> i64: FieldKind::Int64 | FieldKind::Sint64 | FieldKind::Sfixed64,
    /// The elements of a list of `uint64` or `fixed64`, `None` for other kinds.
    as_u64s -> u64: FieldKind::Uint64 | FieldKind::Fixed64,
    /// The elements of a list of `float`, `None` for other kinds.
    as_f32s -> f32: FieldKind::Float,
    /// The elements of a list of `double`, `None` for other kinds.
    as_f64s -> f64: FieldKind::Double,
    /// The numbers of a list of enums, `None` for other kinds.
    as_enums -> i32: FieldKind::Enum(_),
}

impl<'a> ListRef<'a> {
    /// # Safety
    /// The cell of this slot, which is a list, of a message that is live and unchanged for `'a`.
    #[inline]
    pub(super) unsafe fn new(cell: ListSlot, slot: &'a FieldSlot) -> Self {
        ListRef { cell, slot, memory: PhantomData }
    }

    pub(super) fn empty(slot: &'a FieldSlot) -> Self {
        ListRef { cell: ListSlot { ptr: NonNull::dangling().as_ptr(), len: 0, cap: 0 }, slot, memory: PhantomData }
    }

    /// # Safety
    /// The elements are `T`s.
    #[inline]
    pub(super) unsafe fn elements<T: Copy>(self) -> &'a [T] {
        // SAFETY: as promised to this function and to `new`.
        unsafe { self.cell.elements() }
    }

    /// # Safety
    /// The elements are strings.
    #[inline]
    pub(super) unsafe fn strings(self) -> Strings<'a> {
        Strings { list: self }
    }

    /// # Safety
    /// The elements are `bytes`.
    #[inline]
    pub(super) unsafe fn byte_strings(self) -> ByteStrings<'a> {
        ByteStrings { list: self }
    }

    /// # Safety
    /// The elements are messages.
    #[inline]
    pub(super) unsafe fn messages(self) -> Messages<'a> {
        Messages { list: self }
    }

    /// Number of elements.
    #[inline]
    pub fn len(self) -> usize {
        self.cell.len as usize
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.cell.len == 0
    }

    /// The field.
    #[inline]
    pub fn slot(self) -> &'a FieldSlot {
        self.slot
    }

    /// The kind of the elements.
    #[inline]
    pub fn kind(self) -> FieldKind {
        self.slot.kind
    }

    /// The element `at`, `None` beyond the end.
    #[inline]
    pub fn get(self, at: usize) -> Option<ValueRef<'a>> {
        if at >= self.len() {
            return None;
        }
        let size = self.slot.element.size() as usize;
        // SAFETY: elements are as wide as their storage, and there are more than `at`.
        Some(unsafe { cells::read(self.cell.ptr.add(at * size), self.slot.kind, &self.slot.child) })
    }

    /// The elements.
    #[inline]
    pub fn iter(self) -> ListIter<'a> {
        ListIter { list: self, at: 0, end: self.len() }
    }

    /// The elements of a list of strings, `None` for other kinds.
    #[inline]
    pub fn as_strs(self) -> Option<Strings<'a>> {
        (self.slot.kind == FieldKind::String).then_some(Strings { list: self })
    }

    /// The elements of a list of `bytes`, `None` for other kinds.
    #[inline]
    pub fn as_byte_strings(self) -> Option<ByteStrings<'a>> {
        (self.slot.kind == FieldKind::Bytes).then_some(ByteStrings { list: self })
    }

    /// The elements of a list of messages, `None` for other kinds.
    #[inline]
    pub fn as_messages(self) -> Option<Messages<'a>> {
        (self.slot.element == Storage::Message).then_some(Messages { list: self })
    }
}

impl<'a> IntoIterator for ListRef<'a> {
    type Item = ValueRef<'a>;
    type IntoIter = ListIter<'a>;

    fn into_iter(self) -> ListIter<'a> {
        self.iter()
    }
}

/// The elements of a [`ListRef`].
#[derive(Clone, Debug)]
pub struct ListIter<'a> {
    list: ListRef<'a>,
    at: usize,
    end: usize,
}

impl<'a> Iterator for ListIter<'a> {
    type Item = ValueRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<ValueRef<'a>> {
        if self.at == self.end {
            return None;
        }
        self.at += 1;
        self.list.get(self.at - 1)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.at, Some(self.end - self.at))
    }
}

impl DoubleEndedIterator for ListIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.at == self.end {
            return None;
        }
        self.end -= 1;
        self.list.get(self.end)
    }
}

impl ExactSizeIterator for ListIter<'_> {}

macro_rules! typed_lists {
    ($($(#[$doc:meta])* $name:ident, $iter:ident -> $item:ty: |$list:ident, $at:ident| $get:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a> {
            list: ListRef<'a>,
        }

        impl<'a> $name<'a> {
            /// Number of elements.
            #[inline]
            pub fn len(self) -> usize {
                self.list.len()
            }

            /// Whether there are none.
            #[inline]
            pub fn is_empty(self) -> bool {
                self.list.is_empty()
            }

            /// The element `at`, `None` beyond the end.
            #[inline]
            pub fn get(self, at: usize) -> Option<$item> {
                let ($list, $at) = (self.list, at);
                // SAFETY: below `len`; the list's kind was compared when this view was made.
                ($at < $list.len()).then(|| unsafe { $get })
            }

            /// The elements.
            #[inline]
            pub fn iter(self) -> $iter<'a> {
                $iter { list: self, at: 0 }
            }

            /// The list as such.
            #[inline]
            pub fn as_list(self) -> ListRef<'a> {
                self.list
            }
        }

        impl<'a> IntoIterator for $name<'a> {
            type Item = $item;
            type IntoIter = $iter<'a>;

            #[inline]
            fn into_iter(self) -> $iter<'a> {
                self.iter()
            }
        }

        #[doc = concat!("The elements of [`", stringify!($name), "`].")]
        #[derive(Clone, Debug)]
        pub struct $iter<'a> {
            list: $name<'a>,
            at: usize,
        }

        impl<'a> Iterator for $iter<'a> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                let item = self.list.get(self.at)?;
                self.at += 1;
                Some(item)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                let left = self.list.len() - self.at;
                (left, Some(left))
            }
        }

        impl ExactSizeIterator for $iter<'_> {}
    )*};
}

typed_lists! {
    /// A list of strings.
    Strings, StringsIter -> StrRef<'a>: |list, at| StrRef::new(list.cell.ptr.cast::<StrSlot>().add(at).read().bytes());
    /// A list of `bytes`.
    ByteStrings, ByteStringsIter -> &'a [u8]: |list, at| list.cell.ptr.cast::<StrSlot>().add(at).read().bytes();
    /// A list of messages.
    Messages, MessagesIter -> MessageRef<'a>:
        |list, at| cells::read_message(list.cell.ptr.add(at * size_of::<*const u8>()), &list.slot.child);
}
