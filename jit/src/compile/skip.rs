//! Skipping what a program does not take.
//!
//! Programs that keep unknown fields leave them to the interpreter, which collects runs of them. Those that drop them
//! (projections above all) skip them here: dispatch leads from the tag straight to the block for its wire type, which
//! looks at nothing but the framing. Groups, and fields whose number the program takes with another wire type, are the
//! interpreter's in any case.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use protojit_core::wire::WireType;

use super::frame::Frame;

/// The blocks that skip one value. Parameter: the position behind the tag.
#[derive(Clone, Copy)]
pub(super) struct Skips {
    varint: Block,
    fixed64: Block,
    len: Block,
    fixed32: Block,
}

impl Skips {
    /// The block for a wire type.
    pub fn of(&self, wire_type: u32) -> Option<Block> {
        match WireType::of_tag(wire_type) {
            Some(WireType::Varint) => Some(self.varint),
            Some(WireType::Fixed64) => Some(self.fixed64),
            Some(WireType::Len) => Some(self.len),
            Some(WireType::Fixed32) => Some(self.fixed32),
            _ => None,
        }
    }
}

impl Frame<'_, '_> {
    /// The blocks of a program that drops unknown fields, empty so far.
    pub fn declare_skips(&mut self) -> Option<Skips> {
        let program = self.s.program;
        if program.options.keep_unknown || program.message_set {
            return None;
        }
        let mut block = || self.block(&[types::I64]);
        Some(Skips { varint: block(), fixed64: block(), len: block(), fixed32: block() })
    }

    pub fn emit_skips(&mut self, skips: Skips) {
        let [p] = self.switch_to(skips.varint);
        let (_, behind) = self.varint(p, 0);
        self.jump_resume(behind, u32::MAX);

        let [p] = self.switch_to(skips.len);
        let (_, _, end) = self.length(p, 0);
        self.jump_resume(end, u32::MAX);

        for (block, width) in [(skips.fixed64, 8), (skips.fixed32, 4)] {
            let [p] = self.switch_to(block);
            let behind = self.add(p, width);
            self.jump_resume(behind, u32::MAX);
        }
    }

    /// Skips the field whose tag at `p` was read and is none that the program takes; `behind` is behind the tag.
    pub fn jump_skip(&mut self, skips: Skips, tag: Value, p: Value, behind: Value) {
        let wire_type = self.b.ins().band_imm_u(tag, 7);
        for (found, block) in [
            (WireType::Len, skips.len),
            (WireType::Varint, skips.varint),
            (WireType::Fixed64, skips.fixed64),
            (WireType::Fixed32, skips.fixed32),
        ] {
            let next = self.b.create_block();
            let matches = self.b.ins().icmp_imm_u(IntCC::Equal, wire_type, found as i64);
            self.branch(matches, (block, &[behind]), (next, &[]));
            self.b.switch_to_block(next);
        }
        self.jump(self.s.blocks.step, &[p]);
    }
}
