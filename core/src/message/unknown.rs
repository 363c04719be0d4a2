//! Reading unknown fields.

use std::marker::PhantomData;

use crate::memory::slots::{ListSlot, StrSlot};
use crate::wire::{MAX_FIELD_NUMBER, WireType, read_varint};

/// The unknown fields of a message, in the order in which they came.
///
/// ```
/// # let set = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/message.binpb"));
/// # let schema = protojit_core::schema::Schema::from_descriptor_set(&set[..])?;
/// # let programs = protojit_core::program::Programs::new(schema.shared().clone());
/// # let shape = programs.shape(schema.message("t.Person").unwrap().id());
/// use protojit_core::message::{Message, UnknownValue};
///
/// let mut message = Message::new(shape);
/// message.as_mut().add_unknown(b"\x98\x06\x2a")?; // number 99, a varint
/// let unknown = message.as_ref().unknown_fields();
/// assert_eq!(unknown.iter().map(|field| (field.number, field.value)).collect::<Vec<_>>(), [(99, UnknownValue::Varint(42))]);
/// assert_eq!(unknown.runs().collect::<Vec<_>>(), [b"\x98\x06\x2a"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct UnknownFields<'a> {
    cell: ListSlot,
    memory: PhantomData<&'a [u64]>,
}

// SAFETY: a shared borrow of bytes that nobody changes during `'a`.
unsafe impl Send for UnknownFields<'_> {}
// SAFETY: as above.
unsafe impl Sync for UnknownFields<'_> {}

impl<'a> UnknownFields<'a> {
    /// # Safety
    /// The unknown fields of a message that is live and unchanged for `'a`.
    #[inline]
    pub(super) unsafe fn new(cell: ListSlot) -> Self {
        UnknownFields { cell, memory: PhantomData }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.cell.len == 0
    }

    /// The wire bytes, in runs of one or more whole fields. Their concatenation is what an encoder writes.
    #[inline]
    pub fn runs(self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        // SAFETY: the cell of unknown fields is a list of `StrSlot`s, live as `new` was promised.
        unsafe { self.cell.elements::<'a, StrSlot>().iter().map(|run| run.bytes()) }
    }

    /// Number of bytes.
    pub fn byte_len(self) -> usize {
        self.runs().map(<[u8]>::len).sum()
    }

    /// The fields, parsed.
    #[inline]
    pub fn iter(self) -> UnknownIter<'a> {
        UnknownIter { fields: self, run: 0, at: 0 }
    }
}

impl std::fmt::Debug for UnknownFields<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for UnknownFields<'_> {
    /// Equal bytes, wherever the runs end.
    fn eq(&self, other: &Self) -> bool {
        self.byte_len() == other.byte_len() && self.runs().flatten().eq(other.runs().flatten())
    }
}

impl<'a> IntoIterator for UnknownFields<'a> {
    type Item = UnknownField<'a>;
    type IntoIter = UnknownIter<'a>;

    fn into_iter(self) -> UnknownIter<'a> {
        self.iter()
    }
}

/// An unknown field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UnknownField<'a> {
    /// The number.
    pub number: u32,
    /// The value.
    pub value: UnknownValue<'a>,
    /// The whole field as it came, tag included.
    pub bytes: &'a [u8],
}

/// The value of an unknown field, as far as the wire tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownValue<'a> {
    /// A varint.
    Varint(u64),
    /// Four bytes.
    Fixed32(u32),
    /// Eight bytes.
    Fixed64(u64),
    /// A string, bytes, a message or packed numbers.
    Len(&'a [u8]),
    /// A group: the fields in it.
    Group(&'a [u8]),
}

impl UnknownValue<'_> {
    /// The wire type.
    pub fn wire_type(self) -> WireType {
        match self {
            UnknownValue::Varint(_) => WireType::Varint,
            UnknownValue::Fixed32(_) => WireType::Fixed32,
            UnknownValue::Fixed64(_) => WireType::Fixed64,
            UnknownValue::Len(_) => WireType::Len,
            UnknownValue::Group(_) => WireType::StartGroup,
        }
    }
}

/// The fields of [`UnknownFields`].
#[derive(Clone, Debug)]
pub struct UnknownIter<'a> {
    fields: UnknownFields<'a>,
    run: usize,
    at: usize,
}

impl<'a> Iterator for UnknownIter<'a> {
    type Item = UnknownField<'a>;

    fn next(&mut self) -> Option<UnknownField<'a>> {
        loop {
            let run = self.fields.runs().nth(self.run)?;
            if self.at < run.len() {
                // Runs are whole fields: they were checked when they were kept.
                return read_unknown(run, &mut self.at);
            }
            (self.run, self.at) = (self.run + 1, 0);
        }
    }
}

/// Reads one whole field of any type at `*at` and moves `*at` behind it; `None` where there is none, also where
/// it is malformed or cut short.
///
/// ```
/// use protojit_core::message::{UnknownValue, read_unknown};
/// let field = read_unknown(b"\x08\x96\x01", &mut 0).unwrap();
/// assert_eq!((field.number, field.value), (1, UnknownValue::Varint(150)));
/// assert_eq!(read_unknown(b"\x08", &mut 0), None);
/// ```
pub fn read_unknown<'a>(bytes: &'a [u8], at: &mut usize) -> Option<UnknownField<'a>> {
    let begin = *at;
    let mut end = begin;
    let (number, wire_type) = read_tag(bytes, &mut end)?;
    let value = match wire_type {
        WireType::StartGroup => {
            let content = end;
            let close = skip_group(bytes, &mut end, number)?;
            UnknownValue::Group(&bytes[content..close])
        }
        _ => read_value(bytes, &mut end, wire_type)?,
    };
    *at = end;
    Some(UnknownField { number, value, bytes: &bytes[begin..end] })
}

fn read_tag(bytes: &[u8], at: &mut usize) -> Option<(u32, WireType)> {
    let tag = u32::try_from(read_varint(bytes, at)?).ok()?;
    let number = tag >> 3;
    if number == 0 || number > MAX_FIELD_NUMBER {
        return None;
    }
    Some((number, WireType::of_tag(tag)?))
}

/// A value that is no group.
fn read_value<'a>(bytes: &'a [u8], at: &mut usize, wire_type: WireType) -> Option<UnknownValue<'a>> {
    let mut take = |len: usize| {
        let end = at.checked_add(len)?;
        let value = bytes.get(*at..end)?;
        *at = end;
        Some(value)
    };
    Some(match wire_type {
        WireType::Varint => UnknownValue::Varint(read_varint(bytes, at)?),
        WireType::Fixed32 => UnknownValue::Fixed32(u32::from_le_bytes(take(4)?.try_into().ok()?)),
        WireType::Fixed64 => UnknownValue::Fixed64(u64::from_le_bytes(take(8)?.try_into().ok()?)),
        WireType::Len => {
            let len = usize::try_from(read_varint(bytes, at)?).ok()?;
            let end = at.checked_add(len)?;
            let value = bytes.get(*at..end)?;
            *at = end;
            UnknownValue::Len(value)
        }
        WireType::StartGroup | WireType::EndGroup => return None,
    })
}

/// Moves `*at` behind the end of the group `number` and gives where its content ends.
fn skip_group(bytes: &[u8], at: &mut usize, number: u32) -> Option<usize> {
    let mut open = vec![number];
    loop {
        let before = *at;
        match read_tag(bytes, at)? {
            (number, WireType::StartGroup) => open.push(number),
            (number, WireType::EndGroup) => {
                if open.pop() != Some(number) {
                    return None;
                }
                if open.is_empty() {
                    return Some(before);
                }
            }
            (_, wire_type) => _ = read_value(bytes, at, wire_type)?,
        }
    }
}
