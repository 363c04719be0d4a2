//! The handlers of fields.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use protojit_core::memory::list;
use protojit_core::memory::slots::{ListSlot, StrSlot};
use protojit_core::program::{
    COLD_OFFSET, Cardinality, DecodeOp, DecodeProgram, EnumSet, NO_CASE, PAGES_OFFSET, Sabotage, ValueKind,
};
use protojit_core::wire::tag;
use protojit_interp::decode::context::CLOSED_BY_GROUP;

use super::code::{MEM, Part};
use super::exits::Exit;
use super::frame::{Frame, ctx};
use crate::helpers;
use crate::stubs::Saving;

const LIST_PTR: i32 = std::mem::offset_of!(ListSlot, ptr) as i32;
const LIST_LEN: i32 = std::mem::offset_of!(ListSlot, len) as i32;
const STR_PTR: i32 = std::mem::offset_of!(StrSlot, ptr) as i32;
const STR_LEN: i32 = std::mem::offset_of!(StrSlot, len) as i32;

/// Bytes of a list's first memory: as the growing helper's.
const fn first_bytes(size: i64) -> i64 {
    list::first_room(size as usize) as i64 * size
}

/// Closed enums with more ranges than this are checked by the interpreter.
const INLINE_ENUM_RANGES: usize = 4;

/// A cell in memory: the base of its part, and the offset from there.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    pub base: Value,
    pub offset: i32,
}

/// A value as it is stored.
#[derive(Clone, Copy)]
pub(super) enum Content {
    /// A number or bool of its storage's width.
    Number(Value),
    /// Where the bytes of a string lie, and how many.
    Text(Value, Value),
}

impl Frame<'_, '_> {
    pub fn emit_handlers(&mut self) {
        let program = self.s.program;
        for (at, op) in program.ops.iter().enumerate() {
            self.begin(Part::Field(at));
            let unpacked = tag(op.number, op.kind.wire_type());
            let blocks = [Some((op.tag, self.s.handlers[at].primary)), self.s.handlers[at].alternate];
            for (tag, block) in blocks.into_iter().flatten() {
                let [start] = self.switch_to(block);
                if program.message_set {
                    // Items are groups of their own; the interpreter reads them.
                    let step = self.step_for(Exit::MessageSet);
                    self.jump(step, &[start]);
                } else if self.sabotage(at) == Sabotage::Fail {
                    self.jump(self.s.blocks.fail, &[]);
                } else {
                    self.emit_handler(op, tag == unpacked, start);
                }
            }
        }
    }

    fn emit_handler(&mut self, op: &DecodeOp, unpacked: bool, start: Value) {
        match op.cardinality {
            Cardinality::Map => self.emit_map(op, start),
            Cardinality::List if op.kind.is_packable() && !unpacked => {
                let (ctx, program) = (self.ctx(), self.program_address());
                let operation = self.constant(std::ptr::from_ref(op) as i64);
                let p = self.add(start, op.tag_len.into());
                let arguments = [ctx, program, operation, p, self.s.limit, self.s.message];
                let behind = self.call_helper(helpers::packed as *const u8, &arguments);
                let failed = self.is_zero(behind);
                self.fail_if(failed);
                self.jump_resume(behind, op.next);
            }
            Cardinality::List if op.kind.is_message() => self.emit_message_list(op, start),
            Cardinality::List => self.emit_list(op, start),
            Cardinality::Singular if op.kind.is_message() => {
                let cell = self.cell(op, start);
                let behind = self.emit_message(op, cell, start);
                self.jump_resume(behind, op.next);
            }
            Cardinality::Singular => {
                let cell = self.cell(op, start);
                let behind = self.emit_value(op, cell, start);
                if self.field().is_none_or(|at| self.sabotage(at) == Sabotage::None) {
                    self.set_present(op, cell.base);
                }
                self.jump_resume(behind, op.next);
            }
        }
    }

    /// The field's cell. The first field of a cold page is left to the interpreter, which allocates the page.
    pub fn cell(&mut self, op: &DecodeOp, start: Value) -> Cell {
        let offset = op.offset as i32;
        if op.page == 0 {
            return Cell { base: self.s.message, offset };
        }
        let (has_cold, has_page) = (self.b.create_block(), self.b.create_block());
        let step = self.step_for(Exit::ColdPage);
        let cold = self.load(types::I64, self.s.message, COLD_OFFSET as i32);
        self.branch(cold, (has_cold, &[]), (step, &[start]));
        self.b.switch_to_block(has_cold);
        let page = PAGES_OFFSET as i32 + 8 * (i32::from(op.page) - 1);
        let base = self.load(types::I64, cold, page);
        self.branch(base, (has_page, &[]), (step, &[start]));
        self.b.switch_to_block(has_page);
        Cell { base, offset }
    }

    /// Marks a singular field as set: presence bit or case word.
    fn set_present(&mut self, op: &DecodeOp, base: Value) {
        if op.case_offset != NO_CASE {
            let number = self.b.ins().iconst(types::I32, i64::from(op.number));
            self.store(number, base, op.case_offset as i32);
        }
        if op.hasbit.mask != 0 {
            let word = self.load(types::I32, base, op.hasbit.offset as i32);
            let word = self.b.ins().bor_imm_u(word, i64::from(op.hasbit.mask));
            self.store(word, base, op.hasbit.offset as i32);
        }
    }

    /// Reads one number, string or bytes behind the tag at `start` into a cell; gives the position behind it.
    fn emit_value(&mut self, op: &DecodeOp, cell: Cell, start: Value) -> Value {
        let program = self.s.program;
        let enums = program.enums.get(op.aux as usize).filter(|_| op.kind == ValueKind::ClosedEnum);
        let (content, behind) = self.read_value(op.kind, enums, start, start, op.tag_len.into());
        self.store_content(content, cell);
        behind
    }

    /// Reads one number, string or bytes `skip` bytes behind `p`; gives it as it is stored, and the position behind it. A closed enum's
    /// number that is not declared leaves to the interpreter, with the field at `start`.
    pub fn read_value(
        &mut self,
        kind: ValueKind,
        enums: Option<&EnumSet>,
        start: Value,
        p: Value,
        skip: i32,
    ) -> (Content, Value) {
        match kind {
            ValueKind::Fixed32 => (Content::Number(self.load(types::I32, p, skip)), self.add(p, i64::from(skip) + 4)),
            ValueKind::Fixed64 => (Content::Number(self.load(types::I64, p, skip)), self.add(p, i64::from(skip) + 8)),
            ValueKind::String | ValueKind::Bytes => {
                let (len, text, end) = self.length(p, skip);
                if kind == ValueKind::String {
                    self.check_utf8(text, len, end);
                }
                (Content::Text(text, len), end)
            }
            _ => {
                let (value, behind) = self.varint(p, skip);
                let value = match kind {
                    ValueKind::Bool => self.b.ins().icmp_imm_u(IntCC::NotEqual, value, 0),
                    ValueKind::Int64 => value,
                    ValueKind::Sint64 => self.unzigzag(value),
                    ValueKind::Sint32 => {
                        let value = self.b.ins().ireduce(types::I32, value);
                        self.unzigzag(value)
                    }
                    _ => self.b.ins().ireduce(types::I32, value),
                };
                if let Some(declared) = enums {
                    self.check_enum(value, declared, start);
                }
                (Content::Number(value), behind)
            }
        }
    }

    pub fn store_content(&mut self, content: Content, cell: Cell) {
        match content {
            Content::Number(value) => self.store(value, cell.base, cell.offset),
            Content::Text(text, len) => {
                self.store(text, cell.base, cell.offset + STR_PTR);
                // Eight bytes: the length, and a capacity of 0 for borrowed.
                self.store(len, cell.base, cell.offset + STR_LEN);
            }
        }
    }

    fn unzigzag(&mut self, value: Value) -> Value {
        let half = self.b.ins().ushr_imm_u(value, 1);
        let bit = self.b.ins().band_imm_u(value, 1);
        let sign = self.b.ins().ineg(bit);
        self.b.ins().bxor(half, sign)
    }

    /// Leaves numbers that the enum does not declare to the interpreter.
    fn check_enum(&mut self, value: Value, declared: &EnumSet, start: Value) {
        let step = self.step_for(Exit::ClosedEnum);
        if declared.ranges.len() > INLINE_ENUM_RANGES {
            let unsure = self.b.create_block();
            self.jump(step, &[start]);
            return self.b.switch_to_block(unsure);
        }
        let known = self.b.create_block();
        for &(low, high) in &declared.ranges {
            let next = self.b.create_block();
            let low_value = self.b.ins().iconst(types::I32, i64::from(low));
            let above = self.b.ins().isub(value, low_value);
            let width = i64::from(high) - i64::from(low);
            let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, above, width);
            self.branch(inside, (known, &[]), (next, &[]));
            self.b.switch_to_block(next);
        }
        self.jump(step, &[start]);
        self.b.switch_to_block(known);
    }

    /// Repeated numbers, strings and bytes: as long as the tag repeats, the list's ends stay in registers.
    fn emit_list(&mut self, op: &DecodeOp, start: Value) {
        let size = i64::from(op.kind.storage().size());
        let shift = i64::from(size.trailing_zeros());
        let Cell { base, offset } = self.cell(op, start);
        // Parameters: tag, next element, end of the room.
        let element = self.block(&[types::I64; 3]);
        let body = self.block(&[types::I64; 3]);
        let grow = self.cold_block(&[types::I64; 3]);
        let leave = self.block(&[types::I64; 2]);

        let (next, room) = self.list_ends(base, offset, shift);
        self.jump(element, &[start, next, room]);

        let [start, next, room] = self.switch_to(element);
        // Also true of a list that borrows its elements: its capacity is 0.
        let full = self.compare(IntCC::UnsignedGreaterThanOrEqual, next, room);
        self.branch(full, (grow, &[start, next, room]), (body, &[start, next, room]));

        let [start, next, room] = self.switch_to(grow);
        let (first, more) = (self.cold_block(&[]), self.cold_block(&[]));
        self.branch(next, (more, &[]), (first, &[]));
        self.b.switch_to_block(first);
        let room_bytes = first_bytes(size);
        let new = self.first_room(base, offset, room_bytes, size);
        let end = self.add(new, room_bytes);
        self.jump(body, &[start, new, end]);
        self.b.switch_to_block(more);
        let ptr = self.load(types::I64, base, offset + LIST_PTR);
        let moved = self.cold_block(&[]);
        let room = self.extend_list(base, offset, size, ptr, room, moved);
        self.jump(body, &[start, next, room]);
        self.b.switch_to_block(moved);
        self.store_list_len(base, offset, next, shift);
        self.grow_list(base, offset, size);
        let (next, room) = self.list_ends(base, offset, shift);
        self.jump(body, &[start, next, room]);

        let [start, next, room] = self.switch_to(body);
        // A number that a closed enum does not declare leaves through the interpreter: the length must be true then.
        if op.kind == ValueKind::ClosedEnum {
            self.store_list_len(base, offset, next, shift);
        }
        let behind = self.emit_value(op, Cell { base: next, offset: 0 }, start);
        let next = self.add(next, size);
        let more = self.b.create_block();
        let below = self.compare(IntCC::UnsignedLessThan, behind, self.s.edge);
        self.branch_likely(below, (more, &[]), (leave, &[behind, next]));
        self.b.switch_to_block(more);
        let (repeats, _) = self.compare_tag(behind, tag(op.number, op.kind.wire_type()));
        self.branch(repeats, (element, &[behind, next, room]), (leave, &[behind, next]));

        let [behind, next] = self.switch_to(leave);
        self.store_list_len(base, offset, next, shift);
        self.jump_resume(behind, op.next);
    }

    /// Where the next element goes, and where the room ends.
    fn list_ends(&mut self, base: Value, offset: i32, shift: i64) -> (Value, Value) {
        let ptr = self.load(types::I64, base, offset + LIST_PTR);
        let len_cap = self.load(types::I64, base, offset + LIST_LEN);
        let len = self.b.ins().band_imm_u(len_cap, 0xffff_ffff);
        let cap = self.b.ins().ushr_imm_u(len_cap, 32);
        let mut end = |count: Value| {
            let bytes = if shift == 0 { count } else { self.b.ins().ishl_imm_u(count, shift) };
            self.b.ins().iadd(ptr, bytes)
        };
        (end(len), end(cap))
    }

    fn store_list_len(&mut self, base: Value, offset: i32, next: Value, shift: i64) {
        let ptr = self.load(types::I64, base, offset + LIST_PTR);
        let bytes = self.b.ins().isub(next, ptr);
        let len = if shift == 0 { bytes } else { self.b.ins().ushr_imm_u(bytes, shift) };
        let len = self.b.ins().ireduce(types::I32, len);
        self.store(len, base, offset + LIST_LEN);
    }

    /// A list's first memory: `bytes` from the arena. Gives its address.
    fn first_room(&mut self, base: Value, offset: i32, bytes: i64, size: i64) -> Value {
        let new = self.take(bytes);
        self.store(new, base, offset + LIST_PTR);
        // Length 0, and the capacity above it.
        let cap = self.constant((bytes / size) << 32);
        self.store(cap, base, offset + LIST_LEN);
        new
    }

    /// Makes a full list half as long again where it is the last thing in the arena's chunk, by as many bytes as [`list::reserve`]; gives
    /// the new end of its room. Goes to `moved` where it must move.
    fn extend_list(&mut self, base: Value, offset: i32, size: i64, ptr: Value, room: Value, moved: Block) -> Value {
        let (last, sane, fits) = (self.cold_block(&[]), self.cold_block(&[]), self.cold_block(&[]));
        let free = self.load_ctx(types::I64, ctx::BUMP_AT);
        let is_last = self.compare(IntCC::Equal, room, free);
        self.branch(is_last, (last, &[]), (moved, &[]));
        self.b.switch_to_block(last);
        let old = self.b.ins().isub(room, ptr);
        // Neither a list without room of its own nor one of a gigabyte.
        let below = self.add(old, -1);
        let unusual = self.b.ins().ushr_imm_u(below, 30);
        self.branch(unusual, (moved, &[]), (sane, &[]));
        self.b.switch_to_block(sane);
        let half = self.b.ins().ushr_imm_u(old, 1);
        let wanted = self.b.ins().iadd(old, half);
        let wanted = self.add(wanted, 63);
        let wanted = self.b.ins().band_imm_s(wanted, -64);
        let end = self.b.ins().iadd(ptr, wanted);
        let chunk_end = self.load_ctx(types::I64, ctx::BUMP_END);
        let beyond = self.compare(IntCC::UnsignedGreaterThan, end, chunk_end);
        self.branch(beyond, (moved, &[]), (fits, &[]));
        self.b.switch_to_block(fits);
        self.store_ctx(end, ctx::BUMP_AT);
        let cap = self.b.ins().ushr_imm_u(wanted, i64::from(size.trailing_zeros()));
        let cap = self.b.ins().ireduce(types::I32, cap);
        self.store(cap, base, offset + LIST_LEN + 4);
        end
    }

    /// Makes room for one more element by the helper.
    fn grow_list(&mut self, base: Value, offset: i32, size: i64) {
        let list = self.add(base, offset.into());
        self.count(Exit::ListGrowth);
        let bytes = self.constant(size);
        let answer = self.call_stub(Saving::Grow, &[list, bytes]);
        let failed = self.is_zero(answer);
        self.fail_if(failed);
    }

    /// Repeated messages. The list stays in memory, since the children's frames use the registers.
    fn emit_message_list(&mut self, op: &DecodeOp, start: Value) {
        let Cell { base, offset } = self.cell(op, start);
        let Some(child) = op.child.get() else { return self.jump(self.s.blocks.fail, &[]) };
        // Parameters: tag; tag, the list's memory.
        let element = self.block(&[types::I64]);
        let body = self.block(&[types::I64, types::I64]);
        let grow = self.cold_block(&[types::I64]);
        self.jump(element, &[start]);

        let [start] = self.switch_to(element);
        let len = self.load(types::I32, base, offset + LIST_LEN);
        let cap = self.load(types::I32, base, offset + LIST_LEN + 4);
        let full = self.compare(IntCC::UnsignedGreaterThanOrEqual, len, cap);
        let ptr = self.load(types::I64, base, offset + LIST_PTR);
        self.branch(full, (grow, &[start]), (body, &[start, ptr]));

        let [start] = self.switch_to(grow);
        let (first, more) = (self.cold_block(&[]), self.cold_block(&[]));
        self.branch(cap, (more, &[]), (first, &[]));
        self.b.switch_to_block(first);
        let new = self.first_room(base, offset, first_bytes(8), 8);
        self.jump(body, &[start, new]);
        self.b.switch_to_block(more);
        let ptr = self.load(types::I64, base, offset + LIST_PTR);
        let cap = self.b.ins().uextend(types::I64, cap);
        let bytes = self.b.ins().ishl_imm_u(cap, 3);
        let room = self.b.ins().iadd(ptr, bytes);
        let moved = self.cold_block(&[]);
        self.extend_list(base, offset, 8, ptr, room, moved);
        self.jump(body, &[start, ptr]);
        self.b.switch_to_block(moved);
        self.grow_list(base, offset, 8);
        let ptr = self.load(types::I64, base, offset + LIST_PTR);
        self.jump(body, &[start, ptr]);

        let [start, ptr] = self.switch_to(body);
        let (value, limit) = self.message_start(op, start);
        let message = self.allocate(child.size);
        let len = self.b.ins().uload32(MEM, base, offset + LIST_LEN);
        let at = self.b.ins().ishl_imm_u(len, 3);
        let at = self.b.ins().iadd(ptr, at);
        self.store(message, at, 0);
        let len = self.b.ins().ireduce(types::I32, len);
        let len = self.b.ins().iadd_imm_s(len, 1);
        self.store(len, base, offset + LIST_LEN);
        let behind = self.run_child(op, child, value, limit, message);

        let (more, leave) = (self.b.create_block(), self.b.create_block());
        let below = self.compare(IntCC::UnsignedLessThan, behind, self.s.edge);
        self.branch_likely(below, (more, &[]), (self.s.blocks.edge, &[behind]));
        self.b.switch_to_block(more);
        let (repeats, _) = self.compare_tag(behind, op.tag);
        self.branch(repeats, (element, &[behind]), (leave, &[]));
        self.b.switch_to_block(leave);
        self.jump_predicted(behind, op.next);
    }

    /// A singular message: into the one that is there, or into a new one.
    fn emit_message(&mut self, op: &DecodeOp, cell: Cell, start: Value) -> Value {
        let Cell { base, offset } = cell;
        let Some(child) = op.child.get() else { return start };
        let (value, limit) = self.message_start(op, start);
        let ready = self.block(&[types::I64]);
        let fresh = self.b.create_block();
        if op.case_offset == NO_CASE {
            let old = self.load(types::I64, base, offset);
            self.branch(old, (ready, &[old]), (fresh, &[]));
        } else {
            // In a oneof the cell holds a message only while the case says so.
            let case = self.load(types::I32, base, op.case_offset as i32);
            let old = self.load(types::I64, base, offset);
            let same = self.b.ins().icmp_imm_u(IntCC::Equal, case, i64::from(op.number));
            self.branch(same, (ready, &[old]), (fresh, &[]));
        }
        self.b.switch_to_block(fresh);
        let message = self.allocate(child.size);
        self.store(message, base, offset);
        self.set_present(op, base);
        self.jump(ready, &[message]);
        let [message] = self.switch_to(ready);
        self.run_child(op, child, value, limit, message)
    }

    /// Where a sub-message begins and the limit of its frame.
    fn message_start(&mut self, op: &DecodeOp, start: Value) -> (Value, Value) {
        if op.kind == ValueKind::Group {
            return (self.add(start, op.tag_len.into()), self.s.limit);
        }
        let (_, start, end) = self.length(start, op.tag_len.into());
        (start, end)
    }

    /// Runs a sub-message's frame and checks how it ended; gives the position behind it.
    fn run_child(&mut self, op: &DecodeOp, child: &DecodeProgram, p: Value, limit: Value, message: Value) -> Value {
        let depth = self.depth();
        let at_bottom = self.is_zero(depth);
        self.fail_if(at_bottom);
        let ended = self.call_frame(child, p, limit, message, 1);
        if op.kind == ValueKind::Group {
            let closed = self.constant(CLOSED_BY_GROUP as i64);
            let behind = self.b.ins().bxor(ended, closed);
            // Negative after an error, or where the frame ended without an end-group tag.
            let unclosed = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, behind, 0);
            self.fail_if(unclosed);
            let number = self.load_ctx(types::I32, ctx::END_GROUP);
            let other = self.b.ins().icmp_imm_u(IntCC::NotEqual, number, i64::from(op.number));
            self.fail_if(other);
            behind
        } else {
            // Null after an error, negative where an end-group tag ended it.
            let wrong = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, ended, 0);
            self.fail_if(wrong);
            ended
        }
    }

    /// `size` zero bytes (a multiple of eight) from the arena.
    pub fn allocate(&mut self, size: u32) -> Value {
        let at = self.take(size.into());
        let zero = self.zero_vector();
        let wide = size as i32 & !15;
        for offset in (0..wide).step_by(16) {
            self.store(zero, at, offset);
        }
        if !size.is_multiple_of(16) {
            let zero = self.constant(0);
            self.store(zero, at, wide);
        }
        at
    }

    /// `size` bytes (a multiple of eight) from the arena, not initialised.
    fn take(&mut self, size: i64) -> Value {
        let done = self.block(&[types::I64]);
        let (fits, full) = (self.b.create_block(), self.cold_block(&[]));
        let at = self.load_ctx(types::I64, ctx::BUMP_AT);
        let room_end = self.load_ctx(types::I64, ctx::BUMP_END);
        let end = self.add(at, size);
        let beyond = self.compare(IntCC::UnsignedGreaterThan, end, room_end);
        self.branch(beyond, (full, &[]), (fits, &[]));
        self.b.switch_to_block(fits);
        self.store_ctx(end, ctx::BUMP_AT);
        self.jump(done, &[at]);
        self.b.switch_to_block(full);
        self.count(Exit::ChunkGrowth);
        let bytes = self.constant(size);
        let answer = self.call_stub(Saving::Alloc, &[bytes]);
        self.branch(answer, (done, &[answer]), (self.s.blocks.fail, &[]));
        let [at] = self.switch_to(done);
        at
    }

    fn zero_vector(&mut self) -> Value {
        let zero = self.b.ins().iconst(types::I64, 0);
        self.b.ins().splat(types::I64X2, zero)
    }
}
