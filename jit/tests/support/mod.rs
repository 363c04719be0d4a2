//! What the arena's tests share: tiny functions to compile, and the kernel's view of
//! the arena's pages.

#![allow(dead_code)]

use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, Linkage, Module};
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

/// `fn(i64) -> i64` in the unit's calling convention.
pub fn unary(unit: &UnitBuilder) -> Signature {
    let mut signature = unit.make_signature();
    signature.params.push(AbiParam::new(types::I64));
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

/// Defines `name(x) = x + (1 + 2 + ... )`: `addends` additions in a row, so that its
/// size can be chosen.
pub fn define_adder(unit: &mut UnitBuilder, name: &str, addends: i64) -> Result<FuncId, McodeError> {
    let mut context = unit.make_context();
    context.func.signature = unary(unit);
    let mut scratch = FunctionBuilderContext::new();
    let mut body = FunctionBuilder::new(&mut context.func, &mut scratch);
    let block = body.create_block();
    body.append_block_params_for_function_params(block);
    body.switch_to_block(block);
    let mut sum = body.block_params(block)[0];
    for addend in 1..=addends {
        // Too wide for an immediate of the instruction, so each costs some bytes.
        let wide = body.ins().iconst(types::I64, addend | (1 << 40));
        sum = body.ins().iadd(sum, wide);
        sum = body.ins().iadd_imm_s(sum, -(1 << 40));
    }
    body.ins().return_(&[sum]);
    body.seal_all_blocks();
    body.finalize(unit.target_config());
    let id = unit.declare_function(name, Linkage::Local, &context.func.signature)?;
    unit.define_function(id, &mut context)?;
    Ok(id)
}

/// What `define_adder` computes, without its carry tricks.
pub fn added(x: i64, addends: i64) -> i64 {
    (1..=addends).fold(x, |sum, n| sum + (n | (1 << 40)) - (1 << 40))
}

/// Defines `name(x) = callee(x) + 1`.
pub fn define_caller(unit: &mut UnitBuilder, name: &str, callee: FuncId) -> Result<FuncId, McodeError> {
    let mut context = unit.make_context();
    context.func.signature = unary(unit);
    let mut scratch = FunctionBuilderContext::new();
    let mut body = FunctionBuilder::new(&mut context.func, &mut scratch);
    let block = body.create_block();
    body.append_block_params_for_function_params(block);
    body.switch_to_block(block);
    let x = body.block_params(block)[0];
    let callee = unit.declare_func_in_func(callee, body.func);
    let call = body.ins().call(callee, &[x]);
    let result = body.inst_results(call)[0];
    let more = body.ins().iadd_imm_s(result, 1);
    body.ins().return_(&[more]);
    body.seal_all_blocks();
    body.finalize(unit.target_config());
    let id = unit.declare_function(name, Linkage::Local, &context.func.signature)?;
    unit.define_function(id, &mut context)?;
    Ok(id)
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
