//! Small compiled functions that every unit of a Runtime uses.
//!
//! * The **entry thunk** saves the pinned register, puts the context there and calls compiled code.
//! * **Saving stubs** have a calling convention that preserves every register. They wrap the cold helpers: a
//!   frame can call them without spilling what it holds, which is what keeps its hot path free of stack traffic.
//! * The **interpreter shim** has the ABI of compiled code and stands in the entry slot of a program that has none.

use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, Linkage, Module};
use protojit_core::program::DecodeProgram;
use protojit_interp::decode::context::DecodeCtx;
use protojit_interp::encode::EncodeCtx;

use crate::JitError;
use crate::helpers;
use crate::mcode::{CodeUnit, MachineCodeArena, Symbols, UnitBuilder};

/// Calls compiled code: `(p, limit, message, depth, context, entry)`, the first four in the order the entry takes them in.
pub type EntryThunk = unsafe extern "C" fn(*const u8, *const u8, *mut u8, u64, *mut DecodeCtx, *const ()) -> *const u8;

/// Calls compiled encode: `(at, message, depth, context, entry)`.
pub type EncodeThunk = unsafe extern "C" fn(*mut u8, *const u8, u64, *mut EncodeCtx, *const ()) -> *mut u8;

/// Calls compiled decode as `thunk` does, without the way through it where the host's convention is known here.
///
/// # Safety
/// `entry` is compiled code, or the shim, of the runtime that `thunk` is of, and lives on; the other arguments are what it
/// may be called with.
#[inline(always)]
pub unsafe fn enter_decode(
    thunk: EntryThunk,
    p: *const u8,
    limit: *const u8,
    message: *mut u8,
    depth: u64,
    ctx: *mut DecodeCtx,
    entry: *const (),
) -> *const u8 {
    #[cfg(all(target_arch = "x86_64", unix))]
    {
        let _ = thunk;
        let behind;
        // SAFETY: as promised to this function. Compiled code has the platform's convention and expects the context in the
        // pinned register, r15, which it and its helpers leave as it is.
        unsafe {
            std::arch::asm!(
                "call {entry}",
                entry = in(reg) entry,
                in("rdi") p,
                in("rsi") limit,
                in("rdx") message,
                in("rcx") depth,
                in("r15") ctx,
                out("rax") behind,
                clobber_abi("C"),
            );
        }
        behind
    }
    #[cfg(not(all(target_arch = "x86_64", unix)))]
    // SAFETY: as promised to this function.
    unsafe {
        thunk(p, limit, message, depth, ctx, entry)
    }
}

/// Calls compiled encode, as [`enter_decode`].
///
/// # Safety
/// As [`enter_decode`].
#[inline(always)]
pub unsafe fn enter_encode(
    thunk: EncodeThunk,
    at: *mut u8,
    message: *const u8,
    depth: u64,
    ctx: *mut EncodeCtx,
    entry: *const (),
) -> *mut u8 {
    #[cfg(all(target_arch = "x86_64", unix))]
    {
        let _ = thunk;
        let begin;
        // SAFETY: as in `enter_decode`.
        unsafe {
            std::arch::asm!(
                "call {entry}",
                entry = in(reg) entry,
                in("rdi") at,
                in("rsi") message,
                in("rdx") depth,
                in("r15") ctx,
                out("rax") begin,
                clobber_abi("C"),
            );
        }
        begin
    }
    #[cfg(not(all(target_arch = "x86_64", unix)))]
    // SAFETY: as promised to this function.
    unsafe {
        thunk(at, message, depth, ctx, entry)
    }
}

/// A helper behind a register-saving stub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saving {
    /// [`helpers::step_saving`]: program, p, limit, message, depth.
    Step,
    /// [`helpers::grow`]: list, element size.
    Grow,
    /// [`helpers::alloc`]: size.
    Alloc,
    /// [`helpers::utf8`]: bytes, length.
    Utf8,
    /// [`helpers::varint`]: p.
    Varint,
    /// [`helpers::encode_room`]: position, bytes.
    EncodeRoom,
    /// [`helpers::encode_unknown`]: message, position.
    EncodeUnknown,
    /// [`helpers::encode_varint`]: position, value.
    EncodeVarint,
    /// [`helpers::copy`]: source, target, length.
    Copy,
}

impl Saving {
    /// All of them.
    pub const ALL: [Saving; 9] = [
        Saving::Step,
        Saving::Grow,
        Saving::Alloc,
        Saving::Utf8,
        Saving::Varint,
        Saving::EncodeRoom,
        Saving::EncodeUnknown,
        Saving::EncodeVarint,
        Saving::Copy,
    ];

    /// The symbol that units import.
    pub const fn name(self) -> &'static str {
        match self {
            Saving::Step => "stub_step",
            Saving::Grow => "stub_grow",
            Saving::Alloc => "stub_alloc",
            Saving::Utf8 => "stub_utf8",
            Saving::Varint => "stub_varint",
            Saving::EncodeRoom => "stub_encode_room",
            Saving::EncodeUnknown => "stub_encode_unknown",
            Saving::EncodeVarint => "stub_encode_varint",
            Saving::Copy => "stub_copy",
        }
    }

    /// Number of arguments, the context not counted.
    pub const fn arity(self) -> usize {
        match self {
            Saving::Step => 5,
            Saving::Copy => 3,
            Saving::Grow | Saving::Utf8 | Saving::EncodeRoom | Saving::EncodeUnknown | Saving::EncodeVarint => 2,
            Saving::Alloc | Saving::Varint => 1,
        }
    }

    fn helper(self) -> *const u8 {
        match self {
            Saving::Step => helpers::step_saving as *const u8,
            Saving::Grow => helpers::grow as *const u8,
            Saving::Alloc => helpers::alloc as *const u8,
            Saving::Utf8 => helpers::utf8 as *const u8,
            Saving::Varint => helpers::varint as *const u8,
            Saving::EncodeRoom => helpers::encode_room as *const u8,
            Saving::EncodeUnknown => helpers::encode_unknown as *const u8,
            Saving::EncodeVarint => helpers::encode_varint as *const u8,
            Saving::Copy => helpers::copy as *const u8,
        }
    }

    /// The signature of the stub.
    pub fn signature(self) -> Signature {
        let mut signature = Signature::new(CallConv::PreserveAll);
        signature.params.extend((0..self.arity()).map(|_| AbiParam::new(types::I64)));
        signature
    }
}

/// The stubs of one Runtime.
#[derive(Debug)]
pub struct Stubs {
    code: CodeUnit,
    thunk: EntryThunk,
    shim: *const (),
    encode_thunk: EncodeThunk,
    encode_shim: *const (),
    symbols: Symbols,
}

// SAFETY: the pointers are addresses inside `code`, which is `Send + Sync` and owned here.
unsafe impl Send for Stubs {}
// SAFETY: as above.
unsafe impl Sync for Stubs {}

impl Stubs {
    /// Compiles the stubs into the arena.
    ///
    /// # Errors
    /// The arena has no room, or sealing was refused.
    pub fn compile(arena: &MachineCodeArena, isa: &OwnedTargetIsa) -> Result<Stubs, JitError> {
        let mut unit = UnitBuilder::new(arena, isa.clone(), &Symbols::default())?;
        let call = isa.default_call_conv();
        let mut saving = Vec::new();
        for stub in Saving::ALL {
            saving.push((stub.name(), saving_stub(&mut unit, stub, call)?));
        }
        let thunk = entry_thunk(&mut unit, "thunk", 4, call)?;
        let shim = interpreter_shim(&mut unit, "shim", helpers::interpret as *const u8, 5, call)?;
        let encode_thunk = entry_thunk(&mut unit, "encode_thunk", 3, call)?;
        let encode_shim = interpreter_shim(&mut unit, "encode_shim", helpers::interpret_encode as *const u8, 4, call)?;
        let code = unit.seal()?;
        let address = |id| code.address(id).ok_or_else(|| JitError::Host("a stub has no address".to_owned()));
        let symbols: Vec<_> =
            saving.into_iter().map(|(name, id)| Ok((name, address(id)?))).collect::<Result<_, JitError>>()?;
        // SAFETY: the thunk was compiled with this very signature in the platform's C convention, and lives as long
        // as `code`, beside which it is stored.
        let thunk_fn = unsafe { std::mem::transmute::<*const u8, EntryThunk>(address(thunk)?) };
        // SAFETY: as above.
        let encode_thunk_fn = unsafe { std::mem::transmute::<*const u8, EncodeThunk>(address(encode_thunk)?) };
        Ok(Stubs {
            thunk: thunk_fn,
            shim: address(shim)?.cast(),
            encode_thunk: encode_thunk_fn,
            encode_shim: address(encode_shim)?.cast(),
            symbols: Symbols::new(symbols),
            code,
        })
    }

    /// The entry thunk.
    pub fn thunk(&self) -> EntryThunk {
        self.thunk
    }

    /// The interpreter shim, for the entry slots of programs without compiled code.
    pub fn shim(&self) -> *const () {
        self.shim
    }

    /// The entry thunk of encode.
    pub fn encode_thunk(&self) -> EncodeThunk {
        self.encode_thunk
    }

    /// The interpreter shim of encode.
    pub fn encode_shim(&self) -> *const () {
        self.encode_shim
    }

    /// The names that units import.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Bytes of machine code.
    pub fn code_bytes(&self) -> usize {
        self.code.code_bytes()
    }
}

fn c_signature(call: CallConv, params: usize, returns: usize) -> Signature {
    let mut signature = Signature::new(call);
    signature.params.extend((0..params).map(|_| AbiParam::new(types::I64)));
    signature.returns.extend((0..returns).map(|_| AbiParam::new(types::I64)));
    signature
}

/// Defines a function of one block.
fn define(
    unit: &mut UnitBuilder,
    name: &str,
    signature: Signature,
    body: impl FnOnce(&mut FunctionBuilder<'_>, &[cranelift_codegen::ir::Value]),
) -> Result<FuncId, JitError> {
    let mut context = unit.make_context();
    context.func.signature = signature;
    let mut scratch = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut scratch);
    let block = builder.create_block();
    builder.append_block_params_for_function_params(block);
    builder.switch_to_block(block);
    let params = builder.block_params(block).to_vec();
    body(&mut builder, &params);
    builder.seal_all_blocks();
    builder.finalize(unit.target_config());
    let id = unit.declare_function(name, Linkage::Export, &context.func.signature)?;
    unit.define_function(id, &mut context)?;
    Ok(id)
}

fn saving_stub(unit: &mut UnitBuilder, stub: Saving, call: CallConv) -> Result<FuncId, JitError> {
    define(unit, stub.name(), stub.signature(), |builder, params| {
        let signature = builder.import_signature(c_signature(call, params.len() + 1, 0));
        let callee = builder.ins().iconst(types::I64, stub.helper() as i64);
        let ctx = builder.ins().get_pinned_reg(types::I64);
        let arguments: Vec<_> = std::iter::once(ctx).chain(params.iter().copied()).collect();
        builder.ins().call_indirect(signature, callee, &arguments);
        builder.ins().return_(&[]);
    })
}

/// `(arguments..., context, entry)`, of which `arguments` go to the entry.
fn entry_thunk(unit: &mut UnitBuilder, name: &str, arguments: usize, call: CallConv) -> Result<FuncId, JitError> {
    define(unit, name, c_signature(call, arguments + 2, 1), |builder, params| {
        let signature = builder.import_signature(c_signature(call, arguments, 1));
        let old = builder.ins().get_pinned_reg(types::I64);
        builder.ins().set_pinned_reg(params[arguments]);
        let call = builder.ins().call_indirect(signature, params[arguments + 1], &params[..arguments]);
        let result = builder.inst_results(call)[0];
        builder.ins().set_pinned_reg(old);
        builder.ins().return_(&[result]);
    })
}

/// `(arguments..., program)`, as compiled callers call it: the helper gets the context and the program first.
fn interpreter_shim(
    unit: &mut UnitBuilder,
    name: &str,
    helper: *const u8,
    params: usize,
    call: CallConv,
) -> Result<FuncId, JitError> {
    define(unit, name, c_signature(call, params, 1), |builder, values| {
        let signature = builder.import_signature(c_signature(call, params + 1, 1));
        let callee = builder.ins().iconst(types::I64, helper as i64);
        let ctx = builder.ins().get_pinned_reg(types::I64);
        let arguments: Vec<_> =
            [ctx, values[params - 1]].into_iter().chain(values[..params - 1].iter().copied()).collect();
        let call = builder.ins().call_indirect(signature, callee, &arguments);
        let result = builder.inst_results(call)[0];
        builder.ins().return_(&[result]);
    })
}

/// The offset of a program's entry slot, which compiled callers load.
pub const ENTRY_OFFSET: i32 = std::mem::offset_of!(DecodeProgram, entry) as i32;

#[cfg(test)]
mod tests {
    use super::*;

    /// What a Runtime pays for having stubs of its own, which lie within reach of its code.
    #[test]
    fn the_stubs_are_small() {
        let arena = MachineCodeArena::reserve(1 << 20).unwrap();
        let isa = crate::host::native_isa(crate::host::Cpu::Host, false).unwrap();
        let started = std::time::Instant::now();
        let stubs = Stubs::compile(&arena, &isa).unwrap();
        println!("{} bytes of stubs in {:?}", stubs.code_bytes(), started.elapsed());
        assert!(stubs.code_bytes() < 16 << 10);
    }
}
