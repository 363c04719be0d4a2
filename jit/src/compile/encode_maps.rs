//! Writing maps, in the order of insertion: for each entry its value, its key, its length.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use protojit_core::memory::map::MapTable;
use protojit_core::program::{EncodeOp, EncodeProgram, ValueKind};
use protojit_core::wire::tag;

use super::code::MEM;
use super::encode::{Cell, Frame, Item, width};

const ENTRIES: i32 = offset_of!(MapTable, entries) as i32;
const LEN: i32 = offset_of!(MapTable, len) as i32;

impl Frame<'_, '_> {
    /// All entries of a map, last to first. Goes to `done` where there are none.
    pub fn emit_map(&mut self, op: &EncodeOp, at: Value, done: Block) -> Value {
        let map = &self.s.program.maps[op.aux as usize];
        let cell = self.cell(op, done, at);
        let table = self.load(types::I64, cell.base, cell.offset);
        let (exists, filled) = (self.b.create_block(), self.b.create_block());
        self.branch(table, (exists, &[]), (done, &[at]));
        self.b.switch_to_block(exists);
        let len = self.b.ins().uload32(MEM, table, LEN);
        self.branch(len, (filled, &[]), (done, &[at]));
        self.b.switch_to_block(filled);
        let deeper = self.b.create_block();
        let depth = self.depth();
        self.branch(depth, (deeper, &[]), (self.s.fail, &[]));
        self.b.switch_to_block(deeper);

        let first = self.load(types::I64, table, ENTRIES);
        let stride = i64::from(map.entry.stride);
        let bytes = self.b.ins().imul_imm_u(len, stride);
        let end = self.b.ins().iadd(first, bytes);
        let entry = self.block(&[types::I64, types::I64]);
        let all = self.block(&[types::I64]);
        self.jump(entry, &[at, end]);

        let [at, behind] = self.switch_to(entry);
        let here = self.add(behind, -stride);
        let aside = self.put_aside(here);
        let before = self.written(at);
        let before = self.put_aside(before);
        let value = Cell { base: here, offset: map.entry.value_offset as i32 };
        let at = self.write_content(2, map.value, map.child.get(), value, at);
        let here = self.take_back(aside);
        let at = self.write_content(1, map.key, None, Cell { base: here, offset: 0 }, at);
        let before = self.take_back(before);
        let item = Item { kind: ValueKind::Bytes, tag_bytes: op.tag_bytes, tag_len: op.tag_len };
        let at = self.write_length(item, before, at);
        let table = self.load(types::I64, cell.base, cell.offset);
        let first = self.load(types::I64, table, ENTRIES);
        let more = self.compare(IntCC::NotEqual, here, first);
        self.branch(more, (entry, &[at, here]), (all, &[at]));
        let [at] = self.switch_to(all);
        at
    }

    /// A key (number 1) or value (number 2), with its tag.
    fn write_content(
        &mut self,
        number: u32,
        kind: ValueKind,
        child: Option<&EncodeProgram>,
        cell: Cell,
        at: Value,
    ) -> Value {
        let item = Item { kind, tag_bytes: tag(number, kind.wire_type()).into(), tag_len: 1 };
        match kind {
            ValueKind::Message | ValueKind::Group => {
                let sub = self.load(types::I64, cell.base, cell.offset);
                self.write_message(item, child, sub, at, 2)
            }
            ValueKind::String | ValueKind::Bytes => {
                let (text, len) = self.load_text(cell);
                self.write_text(item, text, len, at)
            }
            _ => {
                let at = self.reserve(at, 0);
                let value = self.load(width(kind), cell.base, cell.offset);
                self.write_number(item, value, at)
            }
        }
    }
}
