//! The function of one encode program.
//!
//! A message is written back to front before a position `at`: `(at, message, depth) -> at`, null after an error. Fields
//! are visited by falling number. Room is checked once for each run of fields of bounded size (numbers), once per string
//! together with the run that follows it, and once behind a sub-message. Behind each check at least [`ROOM`] bytes more
//! are free than what is going to be written, so that tags and varints may be stored by whole words.
//!
//! Where the room cannot grow (a slice), the function fails and the interpreter writes the message to the byte.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, Function, InstBuilder, Type, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use protojit_core::memory::slots::{ListSlot, Storage, StrSlot};
use protojit_core::program::{
    COLD_OFFSET, Cardinality, EncodeOp, EncodeProgram, PAGES_OFFSET, Sabotage, SlotPresence, ValueKind,
};
use protojit_core::wire::WireType;
use protojit_interp::encode::{EncodeCtx, ROOM};

use super::code::{Built, Code, Kept, MEM, Part, Plan, c_signature};
use super::exits::Exit;
use crate::helpers;
use crate::stubs::Saving;

const ANSWER: i32 = std::mem::offset_of!(EncodeCtx, answer) as i32;
const BEGIN: i32 = std::mem::offset_of!(EncodeCtx, begin) as i32;
const END: i32 = std::mem::offset_of!(EncodeCtx, end) as i32;
const ENTRY: i32 = std::mem::offset_of!(EncodeProgram, entry) as i32;

const LIST_PTR: i32 = std::mem::offset_of!(ListSlot, ptr) as i32;
const LIST_LEN: i32 = std::mem::offset_of!(ListSlot, len) as i32;
const STR_PTR: i32 = std::mem::offset_of!(StrSlot, ptr) as i32;
const STR_LEN: i32 = std::mem::offset_of!(StrSlot, len) as i32;

/// The longest run of bounded fields that one check covers.
const LONGEST_RUN: i64 = 1024;

/// What an encode function holds besides its code.
pub(super) struct Encode<'p> {
    pub program: &'p EncodeProgram,
    message: Value,
    depth: Kept,
    pub fail: Block,
    /// As `fail`, with a position that is of no use any more.
    missing: Block,
}

pub(super) type Frame<'f, 'p> = Code<'f, 'p, Encode<'p>>;

/// Builds the function of a program.
pub(super) fn build(
    function: &mut Function,
    scratch: &mut FunctionBuilderContext,
    program: &EncodeProgram,
    plan: Plan<'_>,
) -> Built {
    function.signature = c_signature(plan.call, 3);
    let mut builder = FunctionBuilder::new(function, scratch);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let &[at, message, depth] = builder.block_params(entry) else {
        return Built { helper_calls: 0, parts: Vec::new() };
    };
    let (fail, missing) = (builder.create_block(), builder.create_block());
    builder.append_block_param(missing, types::I64);
    let state = Encode { program, message, depth: Kept::Register(depth), fail, missing };
    let mut frame = Code::new(builder, plan, ANSWER, state);
    if program.ops.iter().any(|op| op.kind.is_message() || op.cardinality == Cardinality::Map) {
        frame.s.depth = Kept::Aside(frame.put_aside(depth));
    }
    let at = frame.emit_fields(at);
    frame.begin(Part::Frame);
    frame.b.ins().return_(&[at]);
    frame.b.set_cold_block(missing);
    frame.b.switch_to_block(missing);
    frame.jump(fail, &[]);
    frame.b.set_cold_block(fail);
    frame.b.switch_to_block(fail);
    let null = frame.constant(0);
    frame.b.ins().return_(&[null]);
    frame.finish(plan.config)
}

/// The most bytes that a field of bounded size takes, `None` where it has no bound.
fn bound(op: &EncodeOp, program: &EncodeProgram) -> Option<i64> {
    let value = match op.kind {
        _ if op.cardinality != Cardinality::Singular || program.message_set => return None,
        ValueKind::String | ValueKind::Bytes | ValueKind::Message | ValueKind::Group => return None,
        ValueKind::Bool => 1,
        ValueKind::Fixed32 => 4,
        ValueKind::Fixed64 => 8,
        ValueKind::Uint32 | ValueKind::Sint32 => 5,
        _ => 10,
    };
    Some(i64::from(op.tag_len) + value)
}

/// Where a field lies: its cell's part and the offset in it.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    pub base: Value,
    pub offset: i32,
}

/// A value to write: its kind, and the tag before it.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub kind: ValueKind,
    /// Little-endian.
    pub tag_bytes: u64,
    pub tag_len: u8,
}

impl Item {
    fn of(op: &EncodeOp) -> Item {
        Item { kind: op.kind, tag_bytes: op.tag_bytes, tag_len: op.tag_len }
    }
}

impl Frame<'_, '_> {
    fn emit_fields(&mut self, at: Value) -> Value {
        let program = self.s.program;
        let mut at = self.emit_unknown(at);
        // How much room the last check left for bounded fields.
        let mut room = 0;
        for (number, op) in program.ops.iter().enumerate().rev() {
            self.begin(Part::Field(number));
            match self.sabotage(number) {
                Sabotage::None => {}
                Sabotage::Lose => continue,
                Sabotage::Fail => {
                    let unreachable = self.block(&[types::I64]);
                    self.jump(self.s.fail, &[]);
                    at = self.switch_to::<1>(unreachable)[0];
                    continue;
                }
            }
            // What the bounded fields before this one need, so that a check here covers them.
            let run = |to: usize| run_before(program, to);
            match bound(op, program) {
                Some(bytes) => {
                    if room < bytes {
                        room = run(number + 1);
                        at = self.reserve(at, room);
                    }
                    room -= bytes;
                    at = self.emit_number(op, at);
                }
                None => {
                    room = run(number);
                    at = self.emit_variable(number, op, at, room);
                }
            }
        }
        at
    }

    /// The levels of nesting that are left.
    pub fn depth(&mut self) -> Value {
        self.fetch(self.s.depth)
    }

    /// Unknown fields come last, hence are written first.
    fn emit_unknown(&mut self, at: Value) -> Value {
        let done = self.block(&[types::I64]);
        let some = self.cold_block(&[]);
        let cold = self.load(types::I64, self.s.message, COLD_OFFSET as i32);
        self.branch(cold, (some, &[]), (done, &[at]));
        self.b.switch_to_block(some);
        self.count(Exit::Unknown);
        let answer = self.call_stub(Saving::EncodeUnknown, &[self.s.message, at]);
        self.branch(answer, (done, &[answer]), (self.s.fail, &[]));
        let [at] = self.switch_to(done);
        at
    }

    /// Makes sure that `bytes` and [`ROOM`] more can be written before `at`.
    pub fn reserve(&mut self, at: Value, bytes: i64) -> Value {
        let bytes = self.constant(bytes + ROOM as i64);
        self.reserve_dynamic(at, bytes)
    }

    fn reserve_dynamic(&mut self, at: Value, bytes: Value) -> Value {
        let done = self.block(&[types::I64]);
        let short = self.cold_block(&[]);
        let begin = self.load_ctx(types::I64, BEGIN);
        let room = self.b.ins().isub(at, begin);
        let enough = self.compare(IntCC::UnsignedGreaterThanOrEqual, room, bytes);
        self.branch(enough, (done, &[at]), (short, &[]));
        self.b.switch_to_block(short);
        self.count(Exit::BufferGrowth);
        let answer = self.call_stub(Saving::EncodeRoom, &[at, bytes]);
        self.branch(answer, (done, &[answer]), (self.s.fail, &[]));
        let [at] = self.switch_to(done);
        at
    }

    /// The field's cell. Goes to `unset` where its cold page is not there.
    pub fn cell(&mut self, op: &EncodeOp, unset: Block, at: Value) -> Cell {
        let offset = op.offset as i32;
        if op.page == 0 {
            return Cell { base: self.s.message, offset };
        }
        let (has_cold, has_page) = (self.b.create_block(), self.b.create_block());
        let cold = self.load(types::I64, self.s.message, COLD_OFFSET as i32);
        self.branch(cold, (has_cold, &[]), (unset, &[at]));
        self.b.switch_to_block(has_cold);
        let page = PAGES_OFFSET as i32 + 8 * (i32::from(op.page) - 1);
        let base = self.load(types::I64, cold, page);
        self.branch(base, (has_page, &[]), (unset, &[at]));
        self.b.switch_to_block(has_page);
        Cell { base, offset }
    }

    /// Where a field goes that is not set: on, or to the error where it is required.
    fn unset_block(&self, op: &EncodeOp, done: Block) -> Block {
        if op.required { self.s.missing } else { done }
    }

    /// Goes on where the field is set, to `unset` where it is not. Implicit presence is for the caller.
    fn check_presence(&mut self, op: &EncodeOp, cell: Cell, unset: Block, at: Value) {
        let set = self.b.create_block();
        let present = match op.presence {
            SlotPresence::Hasbit { offset, mask } => {
                let word = self.load(types::I32, cell.base, offset as i32);
                self.b.ins().band_imm_u(word, i64::from(mask))
            }
            SlotPresence::Case { offset } => {
                let case = self.load(types::I32, cell.base, offset as i32);
                self.b.ins().icmp_imm_u(IntCC::Equal, case, i64::from(op.number))
            }
            _ => return self.jump_to(set),
        };
        self.branch(present, (set, &[]), (unset, &[at]));
        self.b.switch_to_block(set);
    }

    fn jump_to(&mut self, block: Block) {
        self.jump(block, &[]);
        self.b.switch_to_block(block);
    }

    /// A number or bool; there is room.
    fn emit_number(&mut self, op: &EncodeOp, at: Value) -> Value {
        let done = self.block(&[types::I64]);
        let unset = self.unset_block(op, done);
        let cell = self.cell(op, unset, at);
        self.check_presence(op, cell, unset, at);
        let value = self.load(width(op.kind), cell.base, cell.offset);
        if op.presence == SlotPresence::NonZero {
            let set = self.b.create_block();
            self.branch(value, (set, &[]), (unset, &[at]));
            self.b.switch_to_block(set);
        }
        let at = self.write_number(Item::of(op), value, at);
        self.jump(done, &[at]);
        let [at] = self.switch_to(done);
        at
    }

    /// Writes a number with its tag; there is room.
    pub fn write_number(&mut self, item: Item, value: Value, at: Value) -> Value {
        match item.kind {
            ValueKind::Fixed32 | ValueKind::Fixed64 => {
                let at = self.add(at, -i64::from(item.kind.storage().size()));
                self.store(value, at, 0);
                return self.write_tag(item.tag_bytes, item.tag_len, at);
            }
            ValueKind::Bool if item.tag_len == 1 => {
                let word = self.b.ins().uextend(types::I32, value);
                return self.write_short(item, word, at);
            }
            _ => {}
        }
        let wide = match item.kind {
            ValueKind::Int32 | ValueKind::ClosedEnum => self.b.ins().sextend(types::I64, value),
            ValueKind::Uint32 | ValueKind::Bool => self.b.ins().uextend(types::I64, value),
            ValueKind::Sint32 => {
                let zigzag = self.zigzag(value, 31);
                self.b.ins().uextend(types::I64, zigzag)
            }
            ValueKind::Sint64 => self.zigzag(value, 63),
            _ => value,
        };
        let may_be_long = !matches!(item.kind, ValueKind::Uint32 | ValueKind::Sint32 | ValueKind::Bool);
        self.write_varint_field(item, wide, may_be_long, at)
    }

    fn zigzag(&mut self, value: Value, sign_shift: i64) -> Value {
        let doubled = self.b.ins().ishl_imm_u(value, 1);
        let sign = self.b.ins().sshr_imm_u(value, sign_shift);
        self.b.ins().bxor(doubled, sign)
    }

    /// A tag of one byte and a value of one byte (in the low bits of a 32-bit value), by one store.
    pub fn write_short(&mut self, item: Item, value: Value, at: Value) -> Value {
        let shifted = self.b.ins().ishl_imm_u(value, 8);
        let both = self.b.ins().bor_imm_u(shifted, item.tag_bytes as i64);
        let at = self.add(at, -2);
        self.b.ins().istore16(MEM, both, at, 0);
        at
    }

    /// A 64-bit value as a varint, with the operation's tag before it.
    pub fn write_varint_field(&mut self, item: Item, value: Value, may_be_long: bool, at: Value) -> Value {
        let done = self.block(&[types::I64]);
        let (one, more) = (self.b.create_block(), self.b.create_block());
        let short = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, value, 0x80);
        self.branch(short, (one, &[]), (more, &[]));

        self.b.switch_to_block(one);
        let behind = if item.tag_len == 1 {
            let word = self.b.ins().ireduce(types::I32, value);
            self.write_short(item, word, at)
        } else {
            let at = self.add(at, -1);
            self.b.ins().istore8(MEM, value, at, 0);
            self.write_tag(item.tag_bytes, item.tag_len, at)
        };
        self.jump(done, &[behind]);

        // Two bytes have a branch of their own, as where they are read.
        self.b.switch_to_block(more);
        let (two, longer) = (self.b.create_block(), self.b.create_block());
        let small = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, value, 1 << 14);
        self.branch(small, (two, &[]), (longer, &[]));
        self.b.switch_to_block(two);
        let low = self.b.ins().band_imm_u(value, 0x7f);
        let high = self.b.ins().ishl_imm_u(value, 1);
        let high = self.b.ins().band_imm_u(high, 0x7f00);
        let both = self.b.ins().bor(low, high);
        let both = self.b.ins().bor_imm_u(both, 0x80);
        let behind = self.add(at, -2);
        self.b.ins().istore16(MEM, both, behind, 0);
        let behind = self.write_tag(item.tag_bytes, item.tag_len, behind);
        self.jump(done, &[behind]);

        self.b.switch_to_block(longer);
        let behind = self.write_long_varint(value, may_be_long, at);
        let behind = self.write_tag(item.tag_bytes, item.tag_len, behind);
        self.jump(done, &[behind]);
        let [at] = self.switch_to(done);
        at
    }

    /// A varint of two bytes and more; up to eight by one store.
    fn write_long_varint(&mut self, value: Value, may_be_long: bool, at: Value) -> Value {
        let done = self.block(&[types::I64]);
        if may_be_long {
            let (fits, long) = (self.b.create_block(), self.cold_block(&[]));
            let top = self.b.ins().ushr_imm_u(value, 56);
            self.branch(top, (long, &[]), (fits, &[]));
            self.b.switch_to_block(long);
            self.count(Exit::LongVarint);
            let answer = self.call_stub(Saving::EncodeVarint, &[at, value]);
            self.jump(done, &[answer]);
            self.b.switch_to_block(fits);
        }
        // Seven bits to each byte.
        let mut word = value;
        for (keep, shift) in [(0x0fff_ffff_u64, 4), (0x0000_3fff_0000_3fff, 2), (0x007f_007f_007f_007f, 1)] {
            let keep_low = self.constant(keep as i64);
            let keep_high = self.constant((keep << (7 * shift)) as i64);
            let low = self.b.ins().band(word, keep_low);
            let high = self.b.ins().band(word, keep_high);
            let high = self.b.ins().ishl_imm_u(high, shift);
            word = self.b.ins().bor(low, high);
        }
        // The length is (9 * bits + 64) / 64; `unused` the bits of the word that the varint leaves free, above it.
        let zeros = self.b.ins().clz(value);
        let nines = self.b.ins().imul_imm_u(zeros, 9);
        let sum = self.constant(9 * 64 + 64);
        let scaled = self.b.ins().isub(sum, nines);
        let len = self.b.ins().ushr_imm_u(scaled, 6);
        let bits = self.b.ins().ishl_imm_u(len, 3);
        let eight = self.constant(64);
        let unused = self.b.ins().isub(eight, bits);
        // All bytes but the last continue. What lies below the varint in the word is overwritten by what comes before it.
        let placed = self.b.ins().ishl(word, unused);
        let marks = self.constant(0x0080_8080_8080_8080);
        let marked = self.b.ins().bor(placed, marks);
        self.store(marked, at, -8);
        let behind = self.b.ins().isub(at, len);
        self.jump(done, &[behind]);
        let [at] = self.switch_to(done);
        at
    }

    fn write_tag(&mut self, bytes: u64, len: u8, at: Value) -> Value {
        let behind = self.add(at, -i64::from(len));
        match len {
            1 => {
                let tag = self.b.ins().iconst(types::I8, bytes as i64);
                self.store(tag, behind, 0);
            }
            2 => {
                let tag = self.b.ins().iconst(types::I16, bytes as i64);
                self.store(tag, behind, 0);
            }
            _ => {
                // The word's other bytes lie before the tag, where there is room.
                let tag = self.constant((bytes << (64 - 8 * u32::from(len))) as i64);
                self.store(tag, at, -8);
            }
        }
        behind
    }

    /// A field without a bound. Afterwards there is room for `run` bytes of bounded fields.
    fn emit_variable(&mut self, number: usize, op: &EncodeOp, at: Value, run: i64) -> Value {
        let program = self.s.program;
        let done = self.block(&[types::I64]);
        let by_helper = program.message_set
            || (op.cardinality == Cardinality::Map && program.options.deterministic)
            || (op.cardinality == Cardinality::List && op.packed);
        let behind = if by_helper {
            self.emit_helper(number, op, at, done)
        } else if op.cardinality == Cardinality::Map {
            self.emit_map(op, at, done)
        } else if op.cardinality == Cardinality::List {
            self.emit_list(op, at, done)
        } else {
            let unset = self.unset_block(op, done);
            let cell = self.cell(op, unset, at);
            self.check_presence(op, cell, unset, at);
            if op.kind.is_message() {
                let sub = self.load(types::I64, cell.base, cell.offset);
                if op.presence == SlotPresence::Pointer {
                    let set = self.b.create_block();
                    self.branch(sub, (set, &[]), (unset, &[at]));
                    self.b.switch_to_block(set);
                }
                self.write_message(Item::of(op), op.child.get(), sub, at, 1)
            } else {
                let (text, len) = self.load_text(cell);
                if op.presence == SlotPresence::NonZero {
                    let set = self.b.create_block();
                    self.branch(len, (set, &[]), (unset, &[at]));
                    self.b.switch_to_block(set);
                }
                self.write_text(Item::of(op), text, len, at)
            }
        };
        self.jump(done, &[behind]);
        let [at] = self.switch_to(done);
        if run == 0 { at } else { self.reserve(at, run) }
    }

    pub fn load_text(&mut self, cell: Cell) -> (Value, Value) {
        let text = self.load(types::I64, cell.base, cell.offset + STR_PTR);
        let len = self.b.ins().uload32(MEM, cell.base, cell.offset + STR_LEN);
        (text, len)
    }

    /// A field that the interpreter's helper writes: packed lists, sorted maps, message sets.
    fn emit_helper(&mut self, number: usize, op: &EncodeOp, at: Value, done: Block) -> Value {
        if op.cardinality == Cardinality::List {
            return self.emit_packed(op, at, done);
        }
        if op.cardinality != Cardinality::Singular {
            let cell = self.cell(op, done, at);
            let set = self.b.create_block();
            let filled = self.load(types::I64, cell.base, cell.offset);
            self.branch(filled, (set, &[]), (done, &[at]));
            self.b.switch_to_block(set);
        }
        self.count(Exit::Interpreted);
        let ctx = self.ctx();
        let program = self.constant(std::ptr::from_ref(self.s.program) as i64);
        let number = self.constant(number as i64);
        let depth = self.depth();
        let arguments = [ctx, program, number, self.s.message, at, depth];
        let behind = self.call_helper(helpers::encode_one as *const u8, &arguments);
        self.fail_if_null(behind);
        behind
    }

    fn emit_packed(&mut self, op: &EncodeOp, at: Value, done: Block) -> Value {
        let cell = self.cell(op, done, at);
        let len = self.load(types::I32, cell.base, cell.offset + LIST_LEN);
        let some = self.b.create_block();
        self.branch(len, (some, &[]), (done, &[at]));
        self.b.switch_to_block(some);
        let ctx = self.ctx();
        let operation = self.constant(std::ptr::from_ref(op) as i64);
        let list = self.add(cell.base, cell.offset.into());
        let behind = self.call_helper(helpers::encode_packed as *const u8, &[ctx, operation, list, at]);
        self.fail_if_null(behind);
        behind
    }

    fn fail_if_null(&mut self, at: Value) {
        let next = self.b.create_block();
        self.branch(at, (next, &[]), (self.s.fail, &[]));
        self.b.switch_to_block(next);
    }

    /// The elements of an unpacked list, last to first.
    fn emit_list(&mut self, op: &EncodeOp, at: Value, done: Block) -> Value {
        let cell = self.cell(op, done, at);
        let size = i64::from(op.kind.storage().size());
        let len = self.b.ins().uload32(MEM, cell.base, cell.offset + LIST_LEN);
        let some = self.b.create_block();
        self.branch(len, (some, &[]), (done, &[at]));
        self.b.switch_to_block(some);
        let first = self.load(types::I64, cell.base, cell.offset + LIST_PTR);
        let bytes = self.b.ins().imul_imm_u(len, size);
        let end = self.b.ins().iadd(first, bytes);
        let element = self.block(&[types::I64, types::I64]);
        let all = self.block(&[types::I64]);
        self.jump(element, &[at, end]);

        let [at, behind_element] = self.switch_to(element);
        let here = self.add(behind_element, -size);
        let at = if op.kind.is_message() {
            let sub = self.load(types::I64, here, 0);
            self.write_message(Item::of(op), op.child.get(), sub, at, 1)
        } else if matches!(op.kind, ValueKind::String | ValueKind::Bytes) {
            let (text, len) = self.load_text(Cell { base: here, offset: 0 });
            self.write_text(Item::of(op), text, len, at)
        } else {
            let at = self.reserve(at, 0);
            let value = self.load(width(op.kind), here, 0);
            self.write_number(Item::of(op), value, at)
        };
        let more = self.compare(IntCC::NotEqual, here, first);
        self.branch(more, (element, &[at, here]), (all, &[at]));
        let [at] = self.switch_to(all);
        at
    }

    /// A sub-message with its tag, so many levels down.
    pub fn write_message(
        &mut self,
        item: Item,
        child: Option<&EncodeProgram>,
        sub: Value,
        at: Value,
        levels: i64,
    ) -> Value {
        let Some(child) = child else { return at };
        let child = std::ptr::from_ref(child).cast();
        let deeper = self.b.create_block();
        let depth = self.depth();
        let too_deep = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, depth, levels);
        self.branch(too_deep, (self.s.fail, &[]), (deeper, &[]));
        self.b.switch_to_block(deeper);
        let depth = self.b.ins().iadd_imm_s(depth, -levels);
        if item.kind == ValueKind::Group {
            let at = self.reserve(at, 0);
            let to_end = WireType::EndGroup as u64 - WireType::StartGroup as u64;
            let at = self.write_tag(item.tag_bytes + to_end, item.tag_len, at);
            let at = self.call_program(child, ENTRY, &[at, sub, depth]);
            self.fail_if_null(at);
            let at = self.reserve(at, 0);
            return self.write_tag(item.tag_bytes, item.tag_len, at);
        }
        let before = self.written(at);
        let before = self.put_aside(before);
        let at = self.call_program(child, ENTRY, &[at, sub, depth]);
        self.fail_if_null(at);
        let before = self.take_back(before);
        self.write_length(item, before, at)
    }

    /// How many bytes are written. Positions move when the room grows, this does not.
    pub fn written(&mut self, at: Value) -> Value {
        let end = self.load_ctx(types::I64, END);
        self.b.ins().isub(end, at)
    }

    /// The length of all that was written since `before`, and the tag.
    pub fn write_length(&mut self, item: Item, before: Value, at: Value) -> Value {
        let at = self.reserve(at, 0);
        let written = self.written(at);
        let len = self.b.ins().isub(written, before);
        self.write_varint_field(item, len, false, at)
    }

    /// A string with its length and tag.
    pub fn write_text(&mut self, item: Item, text: Value, len: Value, at: Value) -> Value {
        let bytes = self.add(len, ROOM as i64);
        let at = self.reserve_dynamic(at, bytes);
        let to = self.b.ins().isub(at, len);
        self.copy(text, to, len);
        self.write_varint_field(item, len, false, to)
    }
}

/// Bytes that the bounded fields directly before position `to` take at most, as far as one check may cover.
fn run_before(program: &EncodeProgram, to: usize) -> i64 {
    let mut sum = 0;
    for op in program.ops[..to].iter().rev() {
        match bound(op, program) {
            Some(bytes) if sum + bytes <= LONGEST_RUN => sum += bytes,
            _ => break,
        }
    }
    sum
}

/// The type that a number of this kind is loaded as.
pub(super) fn width(kind: ValueKind) -> Type {
    match kind.storage() {
        Storage::Bool => types::I8,
        Storage::Bits32 => types::I32,
        _ => types::I64,
    }
}
