//! Copying the bytes of strings.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};

use super::encode::Frame;
use crate::stubs::Saving;

impl Frame<'_, '_> {
    /// Copies `len` bytes, neither reading nor writing others: two overlapping moves up to 32 bytes, a loop of moves up to
    /// a kilobyte, else the library's copy.
    pub fn copy(&mut self, from: Value, to: Value, len: Value) {
        let done = self.b.create_block();
        for (least, ty) in [(16, types::I8X16), (8, types::I64), (4, types::I32)] {
            let (fits, shorter) = (self.b.create_block(), self.b.create_block());
            let enough = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, len, least);
            self.branch(enough, (fits, &[]), (shorter, &[]));
            self.b.switch_to_block(fits);
            if least == 16 {
                let (two, many) = (self.b.create_block(), self.b.create_block());
                let long = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, len, 32);
                self.branch(long, (many, &[]), (two, &[]));
                self.copy_long(many, from, to, len, done);
                self.b.switch_to_block(two);
            }
            let first = self.load(ty, from, 0);
            let skip = self.add(len, -least);
            let last_from = self.b.ins().iadd(from, skip);
            let last = self.load(ty, last_from, 0);
            self.store(first, to, 0);
            let last_to = self.b.ins().iadd(to, skip);
            self.store(last, last_to, 0);
            self.jump(done, &[]);
            self.b.switch_to_block(shorter);
        }
        // One to three bytes: the first, the middle and the last.
        let some = self.b.create_block();
        self.branch(len, (some, &[]), (done, &[]));
        self.b.switch_to_block(some);
        let half = self.b.ins().ushr_imm_u(len, 1);
        let last = self.add(len, -1);
        let mut moves = Vec::new();
        for offset in [None, Some(half), Some(last)] {
            let (from, to) = match offset {
                None => (from, to),
                Some(offset) => (self.b.ins().iadd(from, offset), self.b.ins().iadd(to, offset)),
            };
            moves.push((self.load(types::I8, from, 0), to));
        }
        for (byte, to) in moves {
            self.store(byte, to, 0);
        }
        self.jump(done, &[]);
        self.b.switch_to_block(done);
    }

    fn copy_long(&mut self, many: Block, from: Value, to: Value, len: Value, done: Block) {
        let (inline, huge) = (self.b.create_block(), self.cold_block(&[]));
        let turn = self.block(&[types::I64]);
        let tail = self.b.create_block();
        self.b.switch_to_block(many);
        let beyond = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, len, 1024);
        self.branch(beyond, (huge, &[]), (inline, &[]));
        self.b.switch_to_block(huge);
        self.count(super::exits::Exit::LongText);
        self.call_stub(Saving::Copy, &[from, to, len]);
        self.jump(done, &[]);

        self.b.switch_to_block(inline);
        let last = self.add(len, -32);
        let zero = self.constant(0);
        self.jump(turn, &[zero]);
        let [offset] = self.switch_to(turn);
        self.copy_32(from, to, offset);
        let next = self.add(offset, 32);
        let more = self.compare(IntCC::UnsignedLessThan, next, last);
        self.branch(more, (turn, &[next]), (tail, &[]));
        self.b.switch_to_block(tail);
        self.copy_32(from, to, last);
        self.jump(done, &[]);
    }

    fn copy_32(&mut self, from: Value, to: Value, offset: Value) {
        let from = self.b.ins().iadd(from, offset);
        let to = self.b.ins().iadd(to, offset);
        let low = self.load(types::I8X16, from, 0);
        let high = self.load(types::I8X16, from, 16);
        self.store(low, to, 0);
        self.store(high, to, 16);
    }
}
