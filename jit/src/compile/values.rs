//! Reading varints, lengths and text.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};

use super::code::MEM;
use super::exits::Exit;
use super::frame::{Frame, ctx};
use crate::stubs::Saving;

const CONTINUATION: i64 = 0x8080_8080_8080_8080_u64 as i64;

impl Frame<'_, '_> {
    /// A varint `skip` bytes behind `p`: its 64 bits, and the position behind it. Lengths up to three have branches of their
    /// own: the position behind is then what the branch predictor expects, which is mostly right, since the values of a field are
    /// mostly alike, and not a result that the next field waits for. Longer ones are read eight bytes at once.
    pub fn varint(&mut self, p: Value, skip: i32) -> (Value, Value) {
        let done = self.block(&[types::I64, types::I64]);
        let longer = self.cold_block(&[]);
        let first = self.b.ins().uload8(types::I64, MEM, p, skip);
        let behind = self.add(p, i64::from(skip) + 1);
        let short = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, first, 0x80);
        self.branch(short, (done, &[first, behind]), (longer, &[]));
        self.b.switch_to_block(longer);
        let (two, not_two) = (self.cold_block(&[]), self.cold_block(&[]));
        let (three, more) = (self.cold_block(&[]), self.cold_block(&[]));
        let word = self.load(types::I64, p, skip);
        let low = self.b.ins().band_imm_u(word, 0x7f);
        let second = self.b.ins().ushr_imm_u(word, 1);
        let second = self.b.ins().band_imm_u(second, 0x3f80);
        let value = self.b.ins().bor(low, second);
        let continued = self.b.ins().band_imm_u(word, 0x8000);
        self.branch(continued, (not_two, &[]), (two, &[]));
        self.b.switch_to_block(two);
        let behind = self.add(p, i64::from(skip) + 2);
        self.jump(done, &[value, behind]);
        self.b.switch_to_block(not_two);
        let continued = self.b.ins().band_imm_u(word, 0x80_0000);
        self.branch(continued, (more, &[]), (three, &[]));
        self.b.switch_to_block(three);
        let third = self.b.ins().ushr_imm_u(word, 2);
        let third = self.b.ins().band_imm_u(third, 0x1f_c000);
        let value = self.b.ins().bor(value, third);
        let behind = self.add(p, i64::from(skip) + 3);
        self.jump(done, &[value, behind]);
        self.b.switch_to_block(more);
        self.count(Exit::LongVarint);
        let (value, behind) = self.swar_varint(p, skip);
        self.jump(done, &[value, behind]);
        let [value, behind] = self.switch_to(done);
        (value, behind)
    }

    /// A varint of any length `skip` bytes behind `p`: up to eight bytes by one load, longer ones by the helper.
    pub fn swar_varint(&mut self, p: Value, skip: i32) -> (Value, Value) {
        let done = self.block(&[types::I64, types::I64]);
        let (slow, fast) = (self.cold_block(&[]), self.cold_block(&[]));
        let word = self.load(types::I64, p, skip);
        let inverted = self.b.ins().bnot(word);
        let continuation = self.constant(CONTINUATION);
        let stops = self.b.ins().band(inverted, continuation);
        self.branch(stops, (fast, &[]), (slow, &[]));

        self.b.switch_to_block(fast);
        // All bits up to the first stop bit.
        let below = self.b.ins().iadd_imm_s(stops, -1);
        let mask = self.b.ins().bxor(stops, below);
        let mut value = self.b.ins().band(word, mask);
        // Join the groups of seven bits, two and two.
        for (keep, shift) in [(0x007f_007f_007f_007f_u64, 1), (0x0000_3fff_0000_3fff, 2), (0x0000_0000_0fff_ffff, 4)] {
            let keep_low = self.constant(keep as i64);
            let keep_high = self.constant((keep << (7 * shift)) as i64);
            // Before the first step the upper group still sits one bit higher per byte.
            let low = self.b.ins().band(value, keep_low);
            let shifted = self.b.ins().ushr_imm_u(value, shift);
            let high = self.b.ins().band(shifted, keep_high);
            value = self.b.ins().bor(low, high);
        }
        let stop = self.b.ins().ctz(stops);
        let len = self.b.ins().ushr_imm_u(stop, 3);
        let last = self.b.ins().iadd(p, len);
        let behind = self.add(last, i64::from(skip) + 1);
        self.jump(done, &[value, behind]);

        self.b.switch_to_block(slow);
        let at = self.add(p, skip.into());
        let behind = self.call_stub(Saving::Varint, &[at]);
        let value = self.load_ctx(types::I64, ctx::ANSWER_VALUE);
        self.branch(behind, (done, &[value, behind]), (self.s.blocks.fail, &[]));

        let [value, behind] = self.switch_to(done);
        (value, behind)
    }

    /// A length `skip` bytes behind `p`, its value's first byte, and the value's end, which lies within the frame.
    pub fn length(&mut self, p: Value, skip: i32) -> (Value, Value, Value) {
        let done = self.block(&[types::I64, types::I64]);
        let longer = self.cold_block(&[]);
        let first = self.b.ins().uload8(types::I64, MEM, p, skip);
        let behind = self.add(p, i64::from(skip) + 1);
        let short = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, first, 0x80);
        self.branch(short, (done, &[first, behind]), (longer, &[]));

        self.b.switch_to_block(longer);
        let (two, slow) = (self.cold_block(&[]), self.cold_block(&[]));
        let second = self.b.ins().uload8(types::I64, MEM, p, skip + 1);
        let ends = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, second, 0x80);
        self.branch(ends, (two, &[]), (slow, &[]));
        self.b.switch_to_block(two);
        // The first byte's continuation bit counts 128, which is one too many of the second.
        let high = self.b.ins().ishl_imm_u(second, 7);
        let sum = self.b.ins().iadd(first, high);
        let len = self.add(sum, -0x80);
        let behind = self.add(p, i64::from(skip) + 2);
        self.jump(done, &[len, behind]);

        self.b.switch_to_block(slow);
        self.count(Exit::LongVarint);
        let at = self.add(p, skip.into());
        let behind = self.call_stub(Saving::Varint, &[at]);
        let len = self.load_ctx(types::I64, ctx::ANSWER_VALUE);
        let read = self.cold_block(&[]);
        self.branch(behind, (read, &[]), (self.s.blocks.fail, &[]));
        self.b.switch_to_block(read);
        // No sum of an address and 31 bits wraps.
        let huge = self.b.ins().ushr_imm_u(len, 31);
        self.branch(huge, (self.s.blocks.fail, &[]), (done, &[len, behind]));

        let [len, start] = self.switch_to(done);
        let end = self.b.ins().iadd(start, len);
        let beyond = self.compare(IntCC::UnsignedGreaterThan, end, self.s.limit);
        self.fail_if(beyond);
        (len, start, end)
    }

    /// Checks that `len` bytes at `start` are UTF-8: ASCII inline, everything else by the helper.
    pub fn check_utf8(&mut self, start: Value, len: Value, end: Value) {
        let done = self.b.create_block();
        let (short, long) = (self.b.create_block(), self.cold_block(&[]));
        let slow = self.cold_block(&[]);
        let is_long = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, len, 32);
        self.branch(is_long, (long, &[]), (short, &[]));

        // Two loads, of which only the bits below `len` count. The slack behind every tag covers them.
        self.b.switch_to_block(short);
        let one = self.constant(1);
        let bit = self.b.ins().ishl(one, len);
        let mask = self.add(bit, -1);
        let low = self.high_bits(start, 0);
        let high = self.high_bits(start, 16);
        let high = self.b.ins().ishl_imm_u(high, 16);
        let bits = self.b.ins().bor(low, high);
        let bits = self.b.ins().band(bits, mask);
        self.branch(bits, (slow, &[]), (done, &[]));

        self.check_long_ascii(long, start, end, slow, done);

        self.b.switch_to_block(slow);
        self.count(Exit::NonAscii);
        let answer = self.call_stub(Saving::Utf8, &[start, len]);
        self.branch(answer, (done, &[]), (self.s.blocks.fail, &[]));
        self.b.switch_to_block(done);
    }

    /// More than 32 bytes: 32 at a time, the last 32 overlapping.
    fn check_long_ascii(&mut self, long: Block, start: Value, end: Value, slow: Block, done: Block) {
        let body = self.cold_block(&[types::I64]);
        let (next, tail) = (self.cold_block(&[]), self.cold_block(&[]));
        self.b.switch_to_block(long);
        let last = self.add(end, -32);
        self.jump(body, &[start]);
        let [at] = self.switch_to(body);
        let bits = self.high_bits_of_32(at);
        self.branch(bits, (slow, &[]), (next, &[]));
        self.b.switch_to_block(next);
        let at = self.add(at, 32);
        let more = self.compare(IntCC::UnsignedLessThan, at, last);
        self.branch(more, (body, &[at]), (tail, &[]));
        self.b.switch_to_block(tail);
        let bits = self.high_bits_of_32(last);
        self.branch(bits, (slow, &[]), (done, &[]));
    }

    fn high_bits(&mut self, at: Value, offset: i32) -> Value {
        let bytes = self.load(types::I8X16, at, offset);
        self.b.ins().vhigh_bits(types::I64, bytes)
    }

    fn high_bits_of_32(&mut self, at: Value) -> Value {
        let low = self.load(types::I8X16, at, 0);
        let high = self.load(types::I8X16, at, 16);
        let both = self.b.ins().bor(low, high);
        self.b.ins().vhigh_bits(types::I64, both)
    }
}
