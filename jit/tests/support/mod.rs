//! What the arena's tests share: tiny functions to compile, and the kernel's view of
//! the arena's pages.

#![allow(dead_code)]

use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, Signature, Value, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{DataId, FuncId, Linkage, Module};
use protojit_jit::mcode::{CodeUnit, MachineCodeArena, McodeError, Symbols, UnitBuilder};

/// The instruction set of this machine with the flags that compiled codecs use.
pub fn native_isa(verifier: bool) -> OwnedTargetIsa {
    native_isa_with(verifier, &[])
}

/// [`native_isa`] with some flags set differently.
pub fn native_isa_with(verifier: bool, more: &[(&str, &str)]) -> OwnedTargetIsa {
    let mut flags = settings::builder();
    let usual = [
        ("opt_level", "none"),
        ("is_pic", "false"),
        ("enable_pinned_reg", "true"),
        ("preserve_frame_pointers", "false"),
        ("enable_verifier", if verifier { "true" } else { "false" }),
    ];
    for (name, value) in usual.iter().chain(more) {
        flags.set(name, value).unwrap();
    }
    let builder = cranelift_native::builder().unwrap();
    builder.finish(settings::Flags::new(flags)).unwrap()
}

/// [`native_isa`] with guarded branch targets.
#[cfg(target_arch = "aarch64")]
pub fn guarded_isa() -> OwnedTargetIsa {
    let mut builder = cranelift_native::builder().unwrap();
    builder.enable("use_bti").unwrap();
    builder.finish(native_isa(true).flags().clone()).unwrap()
}

/// `fn(i64) -> i64` in the unit's calling convention.
pub fn unary(unit: &UnitBuilder) -> Signature {
    let mut signature = unit.make_signature();
    signature.params.push(AbiParam::new(types::I64));
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

/// Defines a `fn(i64) -> i64` that returns what `emit` makes of the argument.
pub fn define(
    unit: &mut UnitBuilder,
    name: &str,
    emit: impl FnOnce(&mut UnitBuilder, &mut FunctionBuilder, Value) -> Value,
) -> Result<FuncId, McodeError> {
    let mut context = unit.make_context();
    context.func.signature = unary(unit);
    let mut scratch = FunctionBuilderContext::new();
    let mut body = FunctionBuilder::new(&mut context.func, &mut scratch);
    let block = body.create_block();
    body.append_block_params_for_function_params(block);
    body.switch_to_block(block);
    let argument = body.block_params(block)[0];
    let result = emit(unit, &mut body, argument);
    body.ins().return_(&[result]);
    body.seal_all_blocks();
    body.finalize(unit.target_config());
    let id = unit.declare_function(name, Linkage::Local, &context.func.signature)?;
    unit.define_function(id, &mut context)?;
    Ok(id)
}

/// Defines `name(x) = x + (1 + 2 + ...)`: `addends` additions in a row, so that its
/// size can be chosen.
pub fn define_adder(unit: &mut UnitBuilder, name: &str, addends: i64) -> Result<FuncId, McodeError> {
    define(unit, name, |_, body, x| {
        (1..=addends).fold(x, |sum, addend| {
            // Too wide for an immediate of the instruction, so each costs some bytes.
            let wide = body.ins().iconst(types::I64, addend | WIDE);
            let sum = body.ins().iadd(sum, wide);
            body.ins().iadd_imm_s(sum, -WIDE)
        })
    })
}

const WIDE: i64 = 1 << 40;

/// What `define_adder` computes.
pub fn added(x: i64, addends: i64) -> i64 {
    x + addends * (addends + 1) / 2
}

/// Defines `name(x) = callee(x) + 1`.
pub fn define_caller(unit: &mut UnitBuilder, name: &str, callee: FuncId) -> Result<FuncId, McodeError> {
    define(unit, name, |unit, body, x| {
        let callee = unit.declare_func_in_func(callee, body.func);
        let call = body.ins().call(callee, &[x]);
        let result = body.inst_results(call)[0];
        body.ins().iadd_imm_s(result, 1)
    })
}

/// Defines `name(x)` = the 64-bit number at offset `x` of a data object.
pub fn define_load(unit: &mut UnitBuilder, name: &str, object: DataId) -> Result<FuncId, McodeError> {
    define(unit, name, |unit, body, x| {
        let object = unit.declare_data_in_func(object, body.func);
        let start = body.ins().symbol_value(types::I64, object);
        let address = body.ins().iadd(start, x);
        body.ins().load(types::I64, MemFlagsData::new(), address, 0)
    })
}

/// A sealed unit with one adder.
pub fn adder_unit(
    arena: &MachineCodeArena,
    isa: &OwnedTargetIsa,
    addends: i64,
) -> Result<(CodeUnit, FuncId), McodeError> {
    let mut unit = UnitBuilder::new(arena, isa.clone(), &Symbols::default())?;
    let id = define_adder(&mut unit, "adder", addends)?;
    Ok((unit.seal()?, id))
}

/// Calls a compiled `fn(i64) -> i64`.
pub fn run(unit: &CodeUnit, function: FuncId, x: i64) -> i64 {
    let entry = unit.address(function).expect("a function of this unit");
    // SAFETY: every function of these tests has this signature, and the unit is borrowed.
    let entry: extern "C" fn(i64) -> i64 = unsafe { std::mem::transmute(entry) };
    entry(x)
}

/// A mapping of this process that lies in the arena, and its permissions.
#[derive(Debug)]
pub struct Mapping {
    pub start: usize,
    pub end: usize,
    pub read: bool,
    pub write: bool,
    pub execute: bool,
}

/// The kernel's mappings inside the arena, in order and cut to its range.
#[cfg(target_os = "linux")]
pub fn mappings(arena: &MachineCodeArena) -> Vec<Mapping> {
    let range = arena.address_range();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let parse = |line: &str| {
        let (addresses, rest) = line.split_once(' ').unwrap();
        let (start, end) = addresses.split_once('-').unwrap();
        let flags = rest.as_bytes();
        Mapping {
            start: usize::from_str_radix(start, 16).unwrap().max(range.start),
            end: usize::from_str_radix(end, 16).unwrap().min(range.end),
            read: flags[0] == b'r',
            write: flags[1] == b'w',
            execute: flags[2] == b'x',
        }
    };
    let all = maps.lines().map(parse);
    let ours: Vec<Mapping> = all.filter(|map| map.start < map.end).collect();
    let covered: usize = ours.iter().map(|map| map.end - map.start).sum();
    assert_eq!(covered, range.len(), "the arena is mapped in full: {ours:?}");
    for map in &ours {
        assert!(!(map.write && map.execute), "writable and executable: {map:?}");
    }
    ours
}

/// Bytes of the arena that are (writable, executable); fails if any is both.
#[cfg(target_os = "linux")]
pub fn writable_and_executable(arena: &MachineCodeArena) -> (usize, usize) {
    let mut sums = (0, 0);
    for map in mappings(arena) {
        let len = map.end - map.start;
        sums.0 += if map.write { len } else { 0 };
        sums.1 += if map.execute { len } else { 0 };
    }
    sums
}

/// Permissions of the page at an address of the arena.
#[cfg(target_os = "linux")]
pub fn access_at(arena: &MachineCodeArena, address: usize) -> String {
    let maps = mappings(arena);
    let map = maps.iter().find(|map| (map.start..map.end).contains(&address)).unwrap();
    let letter = |set, letter| if set { letter } else { '-' };
    [letter(map.read, 'r'), letter(map.write, 'w'), letter(map.execute, 'x')].iter().collect()
}
