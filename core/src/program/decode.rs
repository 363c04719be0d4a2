//! Decode programs: how wire bytes fill a shape.

use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use crate::memory::map::EntryLayout;
use crate::schema::model::{FieldKey, MessageId, SchemaData};

use super::layout::Layout;
use super::numbers::NumberTable;
use super::ops::{Access, Cardinality, EnumSet, Hasbit, Route, ValueKind};
use super::unit::{Child, UnitRef};

/// What a decode does with what the specification leaves open. Part of a program's key: options are compiled in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DecodeOptions {
    /// Keep the bytes of unknown fields (default), or drop them.
    pub keep_unknown: bool,
    /// Refuse strings that are not UTF-8 where the schema asks for the check (default), or keep their bytes.
    pub check_utf8: bool,
    /// Refuse messages that lack required fields (default), or accept partial ones.
    pub check_required: bool,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        DecodeOptions { keep_unknown: true, check_utf8: true, check_required: true }
    }
}

/// The entry of compiled code, as called from other units: `(p, limit, message, depth, program)`, with the
/// context in the pinned register. `depth` is the number of levels that may still be nested below this frame. The
/// return value is described at the interpreter's `decode_frame`.
pub type CompiledFrame = unsafe extern "C" fn(*const u8, *const u8, *mut u8, u64, *const DecodeProgram) -> *const u8;

/// How one message fills its shape.
#[repr(C)]
pub struct DecodeProgram {
    /// Compiled code for this program, null until there is any; callers in other units go through it. The
    /// engine that owns the slot publishes with `Release` and never takes back what callers may still run.
    pub entry: AtomicPtr<()>,
    /// Operations, ascending by number.
    pub ops: Box<[DecodeOp]>,
    /// Number to position in `ops`.
    pub numbers: NumberTable,
    /// The operation expected first, the lowest number; `u32::MAX` where there is none.
    pub first: u32,
    /// The shape that is filled.
    pub layout: Child<Layout>,
    /// Size of the message in bytes: `layout.size`.
    pub size: u32,
    /// Required fields that are checked when a frame ends (empty in partial mode): positions in the layout's fields.
    pub required: Box<[u32]>,
    /// Presence words of the message that must have all bits of a mask: required scalars.
    pub required_bits: Box<[Hasbit]>,
    /// `message_set_wire_format`.
    pub message_set: bool,
    /// The options.
    pub options: DecodeOptions,
    /// Closed enums, by [`DecodeOp::aux`].
    pub enums: Box<[EnumSet]>,
    /// Maps, by [`DecodeOp::aux`].
    pub maps: Box<[MapOp]>,
    /// The schema that wrote the bytes.
    pub schema: Arc<SchemaData>,
    /// The message that wrote the bytes.
    pub message: MessageId,
    /// Keeps the shapes alive that `layout` points to.
    pub(super) shape: UnitRef<Layout>,
}

impl DecodeProgram {
    /// The operation for a field number.
    #[inline]
    pub fn op(&self, number: u32) -> Option<&DecodeOp> {
        self.numbers.get(number).map(|at| &self.ops[at as usize])
    }

    /// The shape that is filled.
    #[inline]
    pub fn shape(&self) -> &UnitRef<Layout> {
        &self.shape
    }
}

impl std::fmt::Debug for DecodeProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DecodeProgram({}, {} ops)", self.schema.message(self.message).full_name, self.ops.len())
    }
}

/// What happens to one field.
#[derive(Debug)]
#[repr(C)]
pub struct DecodeOp {
    /// The tag expected first: with the packed wire type where the schema says packed.
    pub tag: u32,
    /// The number.
    pub number: u32,
    /// Position of the operation expected next when this field does not repeat; `u32::MAX` at the end.
    pub next: u32,
    /// The value or element.
    pub kind: ValueKind,
    /// One, list or map.
    pub cardinality: Cardinality,
    /// 0 for the message itself, else the cold page, counted from 1.
    pub page: u16,
    /// Offset of the cell from the start of its part.
    pub offset: u32,
    /// The presence bit, in the same part.
    pub hasbit: Hasbit,
    /// Offset of the oneof's case word in the same part, else [`NO_CASE`](super::NO_CASE).
    pub case_offset: u32,
    /// Closed enums: position in [`DecodeProgram::enums`]. Maps: position in [`DecodeProgram::maps`].
    pub aux: u32,
    /// Position of the slot in the layout's fields.
    pub slot: u32,
    /// The bytes of `tag` as written, little-endian; 1 where it has five, which no masked word equals.
    pub tag_bytes: u32,
    /// Covers the bytes of `tag_bytes`; 0 where the tag has five.
    pub tag_mask: u32,
    /// How many bytes the tag has when written shortest, 1 to 5.
    pub tag_len: u8,
    /// What the table interpreter's main loop does.
    pub route: Route,
    /// What has to be done before the cell is written.
    pub access: Access,
    /// `next` is the position behind this operation's own.
    pub sequential: bool,
    /// The field, in the schema that wrote the bytes.
    pub key: FieldKey,
    /// Messages: the program of the sub-message.
    pub child: Child<DecodeProgram>,
}

/// How the entries of a map are read.
#[derive(Debug)]
pub struct MapOp {
    /// The entry in memory.
    pub entry: EntryLayout,
    /// The key.
    pub key: ValueKind,
    /// The value.
    pub value: ValueKind,
    /// Closed enum values: what they may be.
    pub enums: EnumSet,
    /// Message values: the program. A value that is absent is an empty message.
    pub child: Child<DecodeProgram>,
}
