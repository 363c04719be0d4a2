//! Encode programs: how a shape is written.

use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use crate::memory::map::EntryLayout;
use crate::schema::model::{FieldKey, MessageId, SchemaData};

use super::layout::{Layout, SlotPresence};
use super::ops::{Cardinality, ValueKind};
use super::unit::{Child, UnitRef};

/// What an encode does with what the specification leaves open. Part of a program's key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EncodeOptions {
    /// Sort map entries by key, so that equal messages give equal bytes. Off by default: insertion order.
    pub deterministic: bool,
    /// Refuse messages that lack required fields (default), or write partial ones.
    pub check_required: bool,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        EncodeOptions { deterministic: false, check_required: true }
    }
}

/// How one message is written.
#[repr(C)]
pub struct EncodeProgram {
    /// Compiled code for this program, null until there is any.
    pub entry: AtomicPtr<()>,
    /// Operations, ascending by number. Unknown fields come behind all of them.
    pub ops: Box<[EncodeOp]>,
    /// The shape that is read.
    pub layout: Child<Layout>,
    /// `message_set_wire_format`.
    pub message_set: bool,
    /// The options.
    pub options: EncodeOptions,
    /// Maps, by [`EncodeOp::aux`].
    pub maps: Box<[EncodeMapOp]>,
    /// The schema.
    pub schema: Arc<SchemaData>,
    /// The message.
    pub message: MessageId,
    /// Keeps the shapes alive that `layout` points to.
    pub(super) shape: UnitRef<Layout>,
}

impl EncodeProgram {
    /// The shape that is read.
    #[inline]
    pub fn shape(&self) -> &UnitRef<Layout> {
        &self.shape
    }
}

impl std::fmt::Debug for EncodeProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EncodeProgram({}, {} ops)", self.schema.message(self.message).full_name, self.ops.len())
    }
}

/// How one field is written.
#[derive(Debug)]
#[repr(C)]
pub struct EncodeOp {
    /// The tag's bytes as written, in the low bytes (little-endian): with the packed wire type where packed.
    pub tag_bytes: u64,
    /// How many of them, 1 to 5.
    pub tag_len: u8,
    /// The value or element.
    pub kind: ValueKind,
    /// One, list or map.
    pub cardinality: Cardinality,
    /// Lists of numbers: written packed.
    pub packed: bool,
    /// Its absence is an error.
    pub required: bool,
    /// 0 for the message itself, else the cold page, counted from 1.
    pub page: u16,
    /// Offset of the cell from the start of its part.
    pub offset: u32,
    /// The number.
    pub number: u32,
    /// When it is set.
    pub presence: SlotPresence,
    /// The same for the table interpreter, one test for all that is kept outside of the cell.
    pub test: SetTest,
    /// The rest: set only where the bits of the cell are not zero (strings: where they are not empty).
    pub implicit: bool,
    /// `tag_bytes` in the high bytes: a word that ends where the tag does.
    pub tag_word: u64,
    /// Maps: position in [`EncodeProgram::maps`].
    pub aux: u32,
    /// The field.
    pub key: FieldKey,
    /// Messages: the program of the sub-message.
    pub child: Child<EncodeProgram>,
}

/// The word at `offset` of the field's part, masked, is `expected`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct SetTest {
    /// Offset of the word.
    pub offset: u32,
    /// The bits that count; none where there is nothing to test.
    pub mask: u32,
    /// What they are where the field is set.
    pub expected: u32,
}

impl SetTest {
    /// The test for a presence, of the field with this number.
    pub fn of(presence: SlotPresence, number: u32) -> SetTest {
        match presence {
            SlotPresence::Hasbit { offset, mask } => SetTest { offset, mask, expected: mask },
            SlotPresence::Case { offset } => SetTest { offset, mask: u32::MAX, expected: number },
            _ => SetTest { offset: 0, mask: 0, expected: 0 },
        }
    }
}

/// How the entries of a map are written.
#[derive(Debug)]
pub struct EncodeMapOp {
    /// The entry in memory.
    pub entry: EntryLayout,
    /// The key.
    pub key: ValueKind,
    /// Keys compare as signed numbers (deterministic order).
    pub key_signed: bool,
    /// The value.
    pub value: ValueKind,
    /// Message values: the program.
    pub child: Child<EncodeProgram>,
}
