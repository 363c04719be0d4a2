//! The handler of map fields.
//!
//! Nearly every entry on the wire is a key, then a value, then its end. Those are read here; all others (fields missing,
//! repeated, unknown, or in another order) are left to the interpreter. The entry goes into the map only when all of it
//! was read, so that leaving is possible up to then.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use protojit_core::program::{DecodeOp, MapOp, ValueKind};
use protojit_core::wire::tag;

use super::code::Aside;
use super::exits::Exit;
use super::fields::{Cell, Content};
use super::frame::Frame;
use crate::helpers;

/// A value that was put aside.
#[derive(Clone, Copy)]
enum ContentAside {
    Number(Aside),
    Text(Aside, Aside),
}

impl Frame<'_, '_> {
    /// Entries, as long as the map's tag repeats.
    pub fn emit_map(&mut self, op: &DecodeOp, start: Value) {
        let program = self.s.program;
        let map = &program.maps[op.aux as usize];
        let Cell { base, offset } = self.cell(op, start);
        let entry = self.block(&[types::I64]);
        self.jump(entry, &[start]);
        let [start] = self.switch_to(entry);
        // An entry is a level of nesting, a message in it another.
        let depth = self.depth();
        let at_bottom = self.is_zero(depth);
        self.fail_if(at_bottom);

        let (_, key_at, end) = self.length(start, op.tag_len.into());
        // All of the entry must lie below the edge: then its tags and numbers can be loaded.
        let beyond = self.compare(IntCC::UnsignedGreaterThan, end, self.s.edge);
        self.leave_if(beyond, start);
        // What follows an empty entry is none of its fields.
        let no_key = self.compare(IntCC::Equal, key_at, end);
        self.leave_if(no_key, start);
        let key_at = self.expect_tag(tag(1, map.key.wire_type()), key_at, start);
        let (key, value_at) = self.read_value(map.key, None, start, key_at, 0);
        let no_value = self.compare(IntCC::UnsignedGreaterThanOrEqual, value_at, end);
        self.leave_if(no_value, start);
        let value_at = self.expect_tag(tag(2, map.value.wire_type()), value_at, start);

        let cell = offset.into();
        let end_aside = self.put_aside(end);
        if map.value.is_message() {
            self.emit_message_value(map, key, base, cell, start, value_at, end);
        } else {
            let enums = (map.value == ValueKind::ClosedEnum).then_some(&map.enums);
            let (value, behind) = self.read_value(map.value, enums, start, value_at, 0);
            let other = self.compare(IntCC::NotEqual, behind, end);
            self.leave_if(other, start);
            let aside = self.put_content_aside(value);
            let slot = self.insert(map, key, base, cell);
            let value = self.take_content_back(aside);
            self.store_content(value, Cell { base: slot, offset: map.entry.value_offset as i32 });
        }
        let end = self.take_back(end_aside);

        let (more, leave) = (self.b.create_block(), self.b.create_block());
        let below = self.compare(IntCC::UnsignedLessThan, end, self.s.edge);
        self.branch_likely(below, (more, &[]), (self.s.blocks.edge, &[end]));
        self.b.switch_to_block(more);
        let (repeats, _) = self.compare_tag(end, op.tag);
        self.branch(repeats, (entry, &[end]), (leave, &[]));
        self.b.switch_to_block(leave);
        self.jump_predicted(end, op.next);
    }

    #[expect(clippy::too_many_arguments, reason = "what the entry is made of")]
    fn emit_message_value(
        &mut self,
        map: &MapOp,
        key: Content,
        base: Value,
        cell: i64,
        start: Value,
        value_at: Value,
        end: Value,
    ) {
        let Some(child) = map.child.get().filter(|_| map.value == ValueKind::Message) else {
            return self.leave_always(start);
        };
        let depth = self.depth();
        let too_deep = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, depth, 2);
        self.fail_if(too_deep);
        let (_, value, value_end) = self.length(value_at, 0);
        let other = self.compare(IntCC::NotEqual, value_end, end);
        self.leave_if(other, start);
        let message = self.allocate(child.size);
        let (key, aside) = (self.put_content_aside(key), self.put_aside(message));
        let ended = self.call_frame(child, value, end, message, 2);
        let wrong = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, ended, 0);
        self.fail_if(wrong);
        let key = self.take_content_back(key);
        // Not before: whatever goes wrong, no entry points nowhere, and memory is asked for as by the interpreter.
        let slot = self.insert(map, key, base, cell);
        let message = self.take_back(aside);
        self.store(message, slot, map.entry.value_offset as i32);
    }

    fn put_content_aside(&mut self, content: Content) -> ContentAside {
        match content {
            Content::Number(value) => ContentAside::Number(self.put_aside(value)),
            Content::Text(text, len) => ContentAside::Text(self.put_aside(text), self.put_aside(len)),
        }
    }

    fn take_content_back(&mut self, aside: ContentAside) -> Content {
        match aside {
            ContentAside::Number(value) => Content::Number(self.take_back(value)),
            ContentAside::Text(text, len) => Content::Text(self.take_back(text), self.take_back(len)),
        }
    }

    /// The entry for a key, new or there already.
    fn insert(&mut self, map: &MapOp, key: Content, base: Value, cell: i64) -> Value {
        let ctx = self.ctx();
        let cell = self.add(base, cell);
        let layout = self.constant(std::ptr::from_ref(&map.entry) as i64);
        let entry = match key {
            Content::Number(bits) => {
                let wide = self.b.func.dfg.value_type(bits) == types::I64;
                let bits = if wide { bits } else { self.b.ins().uextend(types::I64, bits) };
                self.call_helper(helpers::map_number as *const u8, &[ctx, cell, layout, bits])
            }
            Content::Text(text, len) => {
                self.call_helper(helpers::map_text as *const u8, &[ctx, cell, layout, text, len])
            }
        };
        let failed = self.is_zero(entry);
        self.fail_if(failed);
        entry
    }

    /// The position behind a tag that must be at `p`; otherwise the field at `start` is the interpreter's.
    fn expect_tag(&mut self, tag: u32, p: Value, start: Value) -> Value {
        let (matches, behind) = self.compare_tag(p, tag);
        let differs = self.is_zero(matches);
        self.leave_if(differs, start);
        behind
    }

    /// Leaves the field at `start` to the interpreter where `condition` holds.
    fn leave_if(&mut self, condition: Value, start: Value) {
        let next = self.b.create_block();
        let step = self.step_for(Exit::UnusualEntry);
        self.branch(condition, (step, &[start]), (next, &[]));
        self.b.switch_to_block(next);
    }

    fn leave_always(&mut self, start: Value) {
        let unreachable = self.b.create_block();
        let step = self.step_for(Exit::UnusualEntry);
        self.jump(step, &[start]);
        self.b.switch_to_block(unreachable);
    }
}
