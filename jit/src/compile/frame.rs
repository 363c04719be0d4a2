//! The function of one program: set-up, dispatch and ends.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, Function, InstBuilder, JumpTableData, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch};
use protojit_core::memory::slots::Storage;
use protojit_core::program::{Cardinality, DecodeOp, DecodeProgram, SlotPresence};
use protojit_core::wire::{MAX_FIELD_NUMBER, MAX_TAG_LEN, WireType, tag};
use protojit_interp::decode::context::{CLOSED_BY_GROUP, DecodeCtx};

use super::code::{Built, Code, Kept, MEM, Part, Plan, arguments, c_signature};
use super::exits::Exit;
use super::skip::Skips;
use crate::helpers;
use crate::stubs::Saving;

/// Offsets of the context's fields.
pub(super) mod ctx {
    use super::DecodeCtx;
    use protojit_core::memory::Bump;
    use std::mem::offset_of;

    pub const BUMP_AT: i32 = (offset_of!(DecodeCtx, bump) + offset_of!(Bump, at)) as i32;
    pub const BUMP_END: i32 = (offset_of!(DecodeCtx, bump) + offset_of!(Bump, end)) as i32;
    pub const SAFE: i32 = offset_of!(DecodeCtx, safe) as i32;
    pub const END_GROUP: i32 = offset_of!(DecodeCtx, end_group) as i32;
    pub const MAYBE_MISSING: i32 = offset_of!(DecodeCtx, maybe_missing) as i32;
    pub const ANSWER: i32 = offset_of!(DecodeCtx, answer) as i32;
    pub const ANSWER_VALUE: i32 = offset_of!(DecodeCtx, answer_value) as i32;
}

/// Builds the function of a program.
pub(super) fn build(
    function: &mut Function,
    scratch: &mut FunctionBuilderContext,
    program: &DecodeProgram,
    plan: Plan<'_>,
) -> Built {
    function.signature = c_signature(plan.call, 4);
    let mut builder = FunctionBuilder::new(function, scratch);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let &[p, limit, message, depth] = builder.block_params(entry) else {
        return Built { helper_calls: 0, parts: Vec::new() };
    };
    let ctx = builder.ins().get_pinned_reg(types::I64);
    let safe = builder.ins().load(types::I64, MEM, ctx, ctx::SAFE);
    let edge = builder.ins().umin(limit, safe);

    let block = |builder: &mut FunctionBuilder<'_>, params: usize| {
        let block = builder.create_block();
        for _ in 0..params {
            builder.append_block_param(block, types::I64);
        }
        block
    };
    let handlers = program
        .ops
        .iter()
        .map(|op| Handlers {
            primary: block(&mut builder, 1),
            alternate: alternate_tag(op).map(|tag| (tag, block(&mut builder, 1))),
        })
        .collect();
    let blocks = Blocks {
        dispatch: block(&mut builder, 1),
        resume: block(&mut builder, 1),
        edge: block(&mut builder, 1),
        end: block(&mut builder, 1),
        step: block(&mut builder, 1),
        fail: block(&mut builder, 0),
    };
    let exits = Vec::new();
    let state = Decode { program, limit, message, depth: Kept::Register(depth), edge, handlers, blocks, exits };
    let mut frame = Code::new(builder, plan, ctx::ANSWER, state);
    for at in 0..frame.s.handlers.len() {
        frame.belongs(frame.s.handlers[at].primary, Part::Field(at));
    }
    frame.belongs(frame.s.blocks.dispatch, Part::Frame);
    if program.ops.iter().any(calls) {
        frame.s.depth = Kept::Aside(frame.put_aside(depth));
    }
    frame.jump_resume(p, program.first);
    frame.emit_dispatch();
    frame.emit_handlers();
    frame.begin(Part::Frame);
    frame.emit_ends();
    frame.emit_exits();
    frame.finish(plan.config)
}

/// Whether the handler of a field makes ordinary calls: for sub-messages, maps and packed lists.
fn calls(op: &DecodeOp) -> bool {
    op.kind.is_message() || op.cardinality == Cardinality::Map || alternate_tag(op).is_some()
}

/// The other tag that a repeated number is accepted with: unpacked where it is written packed, and the reverse.
fn alternate_tag(op: &DecodeOp) -> Option<u32> {
    let repeated_number = op.cardinality == Cardinality::List && op.kind.is_packable();
    let unpacked = tag(op.number, op.kind.wire_type());
    let other = if op.tag == unpacked { tag(op.number, WireType::Len) } else { unpacked };
    repeated_number.then_some(other)
}

/// The blocks that handle a field. Parameter: where its tag begins. The tag has its shortest form; the interpreter takes
/// fields with longer ones.
pub(super) struct Handlers {
    pub primary: Block,
    /// The other accepted tag, and its block.
    pub alternate: Option<(u32, Block)>,
}

/// Blocks that all fields share. All but `fail` take a position.
pub(super) struct Blocks {
    /// At the beginning of a field below `edge`: find its handler.
    pub dispatch: Block,
    /// Between two fields, anywhere.
    pub resume: Block,
    /// Between two fields, at or behind `edge`.
    pub edge: Block,
    /// The frame's end: the value to return.
    pub end: Block,
    /// At the beginning of a field that the interpreter takes.
    pub step: Block,
    /// Returns null.
    pub fail: Block,
}

/// What a decode function holds besides its code.
pub(super) struct Decode<'p> {
    pub program: &'p DecodeProgram,
    pub limit: Value,
    pub message: Value,
    depth: Kept,
    pub edge: Value,
    pub handlers: Vec<Handlers>,
    pub blocks: Blocks,
    /// Blocks that count before they go on, of instrumented code: still to be filled.
    exits: Vec<CountingExit>,
}

/// A block with a position as parameter that counts a slow exit and goes on to another.
struct CountingExit {
    block: Block,
    field: Option<usize>,
    exit: Exit,
    to: Block,
}

/// The function of a decode program being built.
pub(super) type Frame<'f, 'p> = Code<'f, 'p, Decode<'p>>;

impl Frame<'_, '_> {
    /// Goes to `fail` where `condition` holds.
    pub fn fail_if(&mut self, condition: Value) {
        let next = self.b.create_block();
        self.branch(condition, (self.s.blocks.fail, &[]), (next, &[]));
        self.b.switch_to_block(next);
    }

    /// Where to leave a field to the interpreter, with the position of its tag, and for what reason.
    pub fn step_for(&mut self, exit: Exit) -> Block {
        self.counted(self.field(), exit, self.s.blocks.step)
    }

    /// A block that counts an exit and goes on to `to`; `to` itself, unless the compile is instrumented.
    fn counted(&mut self, field: Option<usize>, exit: Exit, to: Block) -> Block {
        if !self.counts_exits() {
            return to;
        }
        let block = self.cold_block(&[types::I64]);
        self.s.exits.push(CountingExit { block, field, exit, to });
        block
    }

    fn emit_exits(&mut self) {
        for CountingExit { block, field, exit, to } in std::mem::take(&mut self.s.exits) {
            let [p] = self.switch_to(block);
            self.count_of(field, exit);
            self.jump(to, &[p]);
        }
    }

    pub fn program_address(&mut self) -> Value {
        let address = std::ptr::from_ref(self.s.program) as i64;
        self.constant(address)
    }

    /// The levels of nesting that are left.
    pub fn depth(&mut self) -> Value {
        self.fetch(self.s.depth)
    }

    /// Runs the frame of a sub-message, so many levels down, and gives what it returns.
    pub fn call_frame(
        &mut self,
        child: *const DecodeProgram,
        p: Value,
        limit: Value,
        message: Value,
        levels: i64,
    ) -> Value {
        let depth = self.depth();
        let depth = self.b.ins().iadd_imm_s(depth, -levels);
        self.call_program(child.cast(), crate::stubs::ENTRY_OFFSET, &[p, limit, message, depth])
    }

    // Dispatch.

    /// Between two fields at `p`: to the handler of the operation `predicted` if its tag is next, else to dispatch, or
    /// to the edge.
    pub fn jump_resume(&mut self, p: Value, predicted: u32) {
        let inside = self.b.create_block();
        let below = self.compare(IntCC::UnsignedLessThan, p, self.s.edge);
        self.branch_likely(below, (inside, &[]), (self.s.blocks.edge, &[p]));
        self.b.switch_to_block(inside);
        self.jump_predicted(p, predicted);
    }

    /// As [`Frame::jump_resume`], for a position known to be below the edge.
    pub fn jump_predicted(&mut self, p: Value, predicted: u32) {
        let Some(op) = self.s.program.ops.get(predicted as usize) else {
            return self.jump(self.s.blocks.dispatch, &[p]);
        };
        let handler = self.s.handlers[predicted as usize].primary;
        let (matches, _) = self.compare_tag(p, op.tag);
        self.branch_likely(matches, (handler, &[p]), (self.s.blocks.dispatch, &[p]));
    }

    /// Whether the bytes at `p` are this tag in its shortest form, and the position behind them.
    pub fn compare_tag(&mut self, p: Value, tag: u32) -> (Value, Value) {
        let mut bytes = [0; protojit_core::wire::MAX_VARINT_LEN];
        let len = protojit_core::wire::write_varint(tag.into(), &mut bytes);
        let expected = i64::from_le_bytes(bytes[..8].try_into().unwrap_or_default());
        let found = match len {
            1 => self.load(types::I8, p, 0),
            2 => self.load(types::I16, p, 0),
            4 => self.load(types::I32, p, 0),
            3 => {
                let word = self.load(types::I32, p, 0);
                self.b.ins().band_imm_u(word, 0xff_ffff)
            }
            _ => {
                let word = self.load(types::I64, p, 0);
                let expected = self.constant(expected);
                let shifted = self.b.ins().bxor(word, expected);
                self.b.ins().ishl_imm_u(shifted, 24)
            }
        };
        let expected = if len == 5 { 0 } else { expected };
        let matches = match len {
            1 => self.b.ins().icmp_imm_s(IntCC::Equal, found, i64::from(expected as i8)),
            2 => self.b.ins().icmp_imm_s(IntCC::Equal, found, i64::from(expected as i16)),
            4 => self.b.ins().icmp_imm_s(IntCC::Equal, found, i64::from(expected as i32)),
            _ => self.b.ins().icmp_imm_u(IntCC::Equal, found, expected),
        };
        let behind = self.add(p, len as i64);
        (matches, behind)
    }

    /// All accepted tags with their handlers. Extensions of a MessageSet may have numbers that no tag holds: cut to 32 bits
    /// theirs would be those of others.
    fn accepted(&self) -> Vec<(u32, Block)> {
        let ops = self.s.program.ops.iter().zip(&self.s.handlers).filter(|(op, _)| op.number <= MAX_FIELD_NUMBER);
        ops.flat_map(|(op, handlers)| [Some((op.tag, handlers.primary)), handlers.alternate]).flatten().collect()
    }

    /// As [`Frame::accepted`], for dispatch: whatever it finds had not been predicted.
    fn accepted_by_dispatch(&mut self) -> Vec<(u32, Block)> {
        let mut accepted = self.accepted();
        if self.counts_exits() {
            for (tag, handler) in &mut accepted {
                let field = self.s.program.ops.iter().position(|op| op.number == *tag >> 3);
                *handler = self.counted(field, Exit::OutOfOrder, *handler);
            }
        }
        accepted
    }

    fn emit_dispatch(&mut self) {
        let [p] = self.switch_to(self.s.blocks.resume);
        self.jump_resume(p, u32::MAX);

        let [p] = self.switch_to(self.s.blocks.dispatch);
        let accepted = self.accepted_by_dispatch();
        let unknown = self.step_for(Exit::Unknown);
        let skips = self.declare_skips();
        let has_long = skips.is_some() || accepted.iter().any(|&(tag, _)| tag >= 0x80);
        let long = if has_long { self.block(&[types::I64]) } else { unknown };
        let group_end = self.cold_block(&[types::I64, types::I32]);
        let other = self.cold_block(&[types::I64, types::I32]);

        let first = self.b.ins().uload8(types::I32, MEM, p, 0);
        let highest = accepted.iter().map(|&(tag, _)| tag).filter(|&tag| tag < 0x80).max();
        if let Some(highest) = if skips.is_some() { Some(0x7f) } else { highest } {
            // Also end-group tags of the numbers in the table.
            let mut targets = vec![None; highest as usize + 1];
            for number in 1..=highest >> 3 {
                if let Some(target) = targets.get_mut((number << 3 | WireType::EndGroup as u32) as usize) {
                    *target = Some(group_end);
                }
            }
            for &(tag, handler) in accepted.iter().filter(|&&(tag, _)| tag < 0x80) {
                targets[tag as usize] = Some(handler);
            }
            let behind = self.add(p, 1);
            let mut table = Vec::new();
            for (tag, target) in (0..).zip(targets) {
                let skip = skips.filter(|_| tag >> 3 != 0 && self.s.program.op(tag >> 3).is_none());
                let call = match (target, skip.and_then(|skips| skips.of(tag & 7))) {
                    (Some(block), _) if block != group_end => (block, &[p][..]),
                    (None, Some(block)) => (block, &[behind][..]),
                    _ => (target.unwrap_or(other), &[p, first][..]),
                };
                table.push(self.b.func.dfg.block_call(call.0, &arguments(call.1)));
            }
            let default = self.b.func.dfg.block_call(other, &arguments(&[p, first]));
            let table = self.b.create_jump_table(JumpTableData::new(default, &table));
            self.b.ins().br_table(first, table);
        } else {
            self.jump(other, &[p, first]);
        }
        // What is beyond the table: a longer tag, an end-group tag, or an unknown field.
        let [p, first] = self.switch_to(other);
        let short = self.b.create_block();
        let continued = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, first, 0x80);
        self.branch(continued, (long, &[p]), (short, &[]));
        self.b.switch_to_block(short);
        let wire_type = self.b.ins().band_imm_u(first, 7);
        let ends = self.b.ins().icmp_imm_u(IntCC::Equal, wire_type, WireType::EndGroup as i64);
        self.branch(ends, (group_end, &[p, first]), (unknown, &[p]));

        let [p, first] = self.switch_to(group_end);
        let number = self.b.ins().ushr_imm_u(first, 3);
        let is_tag = self.b.create_block();
        // Number 0 is for the interpreter to refuse.
        self.branch(number, (is_tag, &[]), (unknown, &[p]));
        self.b.switch_to_block(is_tag);
        self.store_ctx(number, ctx::END_GROUP);
        let behind = self.add(p, 1);
        let closed = self.constant(CLOSED_BY_GROUP as i64);
        let position = self.b.ins().bor(behind, closed);
        self.jump(self.s.blocks.end, &[position]);

        if has_long {
            self.emit_long_dispatch(long, unknown, &accepted, skips);
        }
        if let Some(skips) = skips {
            self.emit_skips(skips);
        }
    }

    /// Tags of two bytes and more.
    fn emit_long_dispatch(&mut self, long: Block, unknown: Block, accepted: &[(u32, Block)], skips: Option<Skips>) {
        // Where the tag begins, the position behind it, the tag.
        let by_number = self.block(&[types::I64, types::I64, types::I32]);
        let three = accepted.iter().any(|&(tag, _)| tag >= 1 << 14);
        let longer = if three { self.block(&[types::I64]) } else { unknown };

        let [p] = self.switch_to(long);
        let word = self.b.ins().uload16(types::I32, MEM, p, 0);
        let two = self.b.create_block();
        let more = self.b.ins().band_imm_u(word, 0x8000);
        self.branch(more, (longer, &[p]), (two, &[]));
        self.b.switch_to_block(two);
        let low = self.b.ins().band_imm_u(word, 0x7f);
        let shifted = self.b.ins().ushr_imm_u(word, 1);
        let high = self.b.ins().band_imm_u(shifted, 0x3f80);
        let tag = self.b.ins().bor(low, high);
        let behind = self.add(p, 2);
        self.jump(by_number, &[p, behind, tag]);

        if three {
            // As any varint; what is longer than five bytes or 32 bits is no tag that is accepted.
            let [p] = self.switch_to(longer);
            let (value, behind) = self.swar_varint(p, 0);
            let mut high = self.b.ins().ushr_imm_u(value, 32);
            if skips.is_some() {
                // And none that is skipped, however small its number.
                let len = self.b.ins().isub(behind, p);
                let most = self.constant(MAX_TAG_LEN as i64);
                let long = self.compare(IntCC::UnsignedGreaterThan, len, most);
                let long = self.b.ins().uextend(types::I64, long);
                high = self.b.ins().bor(high, long);
            }
            let small = self.b.create_block();
            self.branch(high, (unknown, &[p]), (small, &[]));
            self.b.switch_to_block(small);
            let tag = self.b.ins().ireduce(types::I32, value);
            self.jump(by_number, &[p, behind, tag]);
        }

        let [p, behind, found] = self.switch_to(by_number);
        let number = self.b.ins().ushr_imm_u(found, 3);
        let mut switch = Switch::new();
        let mut cases: Vec<(Block, Vec<(u32, Block)>)> = Vec::new();
        for chunk in accepted.chunk_by(|a, b| a.0 >> 3 == b.0 >> 3) {
            if chunk[0].0 >= 0x80 {
                let case = self.b.create_block();
                switch.set_entry((chunk[0].0 >> 3).into(), case);
                cases.push((case, chunk.to_vec()));
            }
        }
        let none = if skips.is_some() { self.block(&[]) } else { self.cold_block(&[]) };
        switch.emit(&mut self.b, number, none);
        self.b.switch_to_block(none);
        match skips {
            Some(skips) => {
                let skip = self.b.create_block();
                // Overlong tags of short numbers may be those of known fields.
                let long = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, found, 0x80);
                self.branch(long, (skip, &[]), (unknown, &[p]));
                self.b.switch_to_block(skip);
                self.jump_skip(skips, found, p, behind);
            }
            None => self.jump(unknown, &[p]),
        }
        for (case, tags) in cases {
            self.b.switch_to_block(case);
            if three {
                // In its shortest form.
                let len = protojit_core::wire::varint_len(tags[0].0.into());
                let shortest = self.add(p, len as i64);
                let same = self.compare(IntCC::Equal, behind, shortest);
                let next = self.b.create_block();
                self.branch(same, (next, &[]), (unknown, &[p]));
                self.b.switch_to_block(next);
            }
            for (tag, handler) in tags {
                let next = self.b.create_block();
                let matches = self.b.ins().icmp_imm_u(IntCC::Equal, found, i64::from(tag));
                self.branch(matches, (handler, &[p]), (next, &[]));
                self.b.switch_to_block(next);
            }
            self.jump(unknown, &[p]);
        }
    }

    // Ends.

    fn emit_ends(&mut self) {
        // At or behind the edge.
        let finish = self.cold_block(&[]);
        let [p] = self.switch_to(self.s.blocks.edge);
        let at_limit = self.compare(IntCC::Equal, p, self.s.limit);
        self.branch(at_limit, (self.s.blocks.end, &[p]), (finish, &[]));
        self.b.switch_to_block(finish);
        self.count(Exit::InputEnd);
        let (ctx, program) = (self.ctx(), self.program_address());
        let depth = self.depth();
        let arguments = [ctx, program, p, self.s.limit, self.s.message, depth];
        let rest = self.call_helper(helpers::finish as *const u8, &arguments);
        self.b.ins().return_(&[rest]);

        // The frame's end.
        let [position] = self.switch_to(self.s.blocks.end);
        self.emit_required_check();
        self.b.ins().return_(&[position]);

        // A field for the interpreter.
        self.b.set_cold_block(self.s.blocks.step);
        let [p] = self.switch_to(self.s.blocks.step);
        let (program, depth) = (self.program_address(), self.depth());
        // Where the frame makes ordinary calls anyway, one more costs its hot path nothing.
        let answer = if self.s.program.ops.iter().any(calls) {
            let ctx = self.ctx();
            let arguments = [ctx, program, p, self.s.limit, self.s.message, depth];
            self.call_helper(helpers::step as *const u8, &arguments)
        } else {
            self.call_stub(Saving::Step, &[program, p, self.s.limit, self.s.message, depth])
        };
        let special = self.cold_block(&[]);
        let unusual = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, answer, 0);
        self.branch(unusual, (special, &[]), (self.s.blocks.resume, &[answer]));
        self.b.switch_to_block(special);
        // Null after an error, a position with the top bit after an end-group tag.
        self.branch(answer, (self.s.blocks.end, &[answer]), (self.s.blocks.fail, &[]));

        self.b.set_cold_block(self.s.blocks.fail);
        self.b.switch_to_block(self.s.blocks.fail);
        let null = self.constant(0);
        self.b.ins().return_(&[null]);
    }

    fn emit_required_check(&mut self) {
        if self.s.program.required.is_empty() {
            return;
        }
        let missing = self.cold_block(&[]);
        let complete = self.b.create_block();
        let check = |frame: &mut Self, present: Value| {
            let next = frame.b.create_block();
            frame.branch(present, (next, &[]), (missing, &[]));
            frame.b.switch_to_block(next);
        };
        for word in &self.s.program.required_bits {
            let bits = self.load(types::I32, self.s.message, word.offset as i32);
            let bits = self.b.ins().band_imm_u(bits, i64::from(word.mask));
            let all = self.b.ins().icmp_imm_u(IntCC::Equal, bits, i64::from(word.mask));
            check(self, all);
        }
        let layout = self.s.program.shape().clone();
        let mut cold = false;
        for &at in &self.s.program.required {
            let slot = &layout.fields[at as usize];
            cold |= slot.page != 0;
            if slot.page == 0 && slot.presence == SlotPresence::Pointer && slot.storage == Storage::Message {
                let pointer = self.load(types::I64, self.s.message, slot.offset as i32);
                check(self, pointer);
            }
        }
        // Required fields beyond the hot part (hundreds of them): the walk decides.
        self.jump(if cold { missing } else { complete }, &[]);
        self.b.switch_to_block(missing);
        let yes = self.b.ins().iconst(types::I32, 1);
        self.store_ctx(yes, ctx::MAYBE_MISSING);
        self.jump(complete, &[]);
        self.b.switch_to_block(complete);
    }
}
