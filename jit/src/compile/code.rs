//! Primitives for building functions: blocks, memory and calls.

use cranelift_codegen::ir::AtomicRmwOp;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, ExtFuncData, ExternalName, FuncRef, InstBuilder, MemFlagsData, SigRef, Signature,
    StackSlot, StackSlotData, StackSlotKind, Type, UserExternalName, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::FunctionBuilder;
use hashbrown::HashMap;
use protojit_core::program::Sabotage;

use super::exits::{Exit, ExitCounts};
use crate::stubs::Saving;

/// Loads and stores that cannot fault, of any alignment.
pub(super) const MEM: MemFlagsData = MemFlagsData::new().with_notrap();

/// Where the functions of a unit and its imports are.
pub(super) struct Names {
    /// Function ids by the address of the program.
    pub programs: HashMap<usize, u32>,
    /// Function ids of the stubs, in the order of [`Saving::ALL`].
    pub stubs: Vec<u32>,
}

/// What functions are built by.
#[derive(Clone, Copy)]
pub(super) struct Plan<'n> {
    pub names: &'n Names,
    pub call: CallConv,
    pub config: TargetFrontendConfig,
    pub exits: Option<&'n ExitCounts>,
    /// What to do to each field, in tests.
    pub sabotage: &'n [Sabotage],
}

/// A value that is needed at calls only, or seldom: in a register, or put aside.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    Register(Value),
    Aside(Aside),
}

/// A value in the frame's memory.
#[derive(Clone, Copy)]
pub(super) struct Aside {
    slot: StackSlot,
    ty: Type,
}

/// A C function of 64-bit integers.
pub(super) fn c_signature(call: CallConv, params: usize) -> Signature {
    let mut signature = Signature::new(call);
    signature.params.extend((0..params).map(|_| AbiParam::new(types::I64)));
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

pub(super) fn arguments(values: &[Value]) -> Vec<BlockArg> {
    values.iter().map(|&value| BlockArg::Value(value)).collect()
}

/// The part of a function that blocks belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Set-up, dispatch, ends.
    Frame,
    /// The operation at this position.
    Field(usize),
}

/// What a function was built to.
pub(super) struct Built {
    pub helper_calls: usize,
    /// Which part the blocks from this number on belong to, up to the next.
    pub parts: Vec<(u32, Part)>,
}

/// A function being built; `S` is what its kind holds besides.
pub(super) struct Code<'f, 'n, S> {
    pub b: FunctionBuilder<'f>,
    pub names: &'n Names,
    call: CallConv,
    /// Offset of the helpers' answer in the context.
    answer: i32,
    funcs: HashMap<u32, FuncRef>,
    signatures: HashMap<usize, SigRef>,
    helper_calls: usize,
    /// Where slow exits are counted, in an instrumented compile.
    exits: Option<&'n ExitCounts>,
    sabotage: &'n [Sabotage],
    part: Part,
    parts: Vec<(u32, Part)>,
    pub s: S,
}

impl<'f, 'n, S> Code<'f, 'n, S> {
    pub fn new(b: FunctionBuilder<'f>, plan: Plan<'n>, answer: i32, s: S) -> Self {
        let Plan { names, call, exits, sabotage, .. } = plan;
        let (funcs, signatures) = (HashMap::new(), HashMap::new());
        let parts = vec![(0, Part::Frame)];
        Code {
            b,
            names,
            call,
            answer,
            funcs,
            signatures,
            helper_calls: 0,
            exits,
            sabotage,
            part: Part::Frame,
            parts,
            s,
        }
    }

    /// Ends the function.
    pub fn finish(mut self, config: TargetFrontendConfig) -> Built {
        self.b.seal_all_blocks();
        self.b.finalize(config);
        Built { helper_calls: self.helper_calls, parts: self.parts }
    }

    // Parts and slow exits.

    /// What is built from here on belongs to this part.
    pub fn begin(&mut self, part: Part) {
        self.part = part;
        self.parts.push((self.b.func.dfg.num_blocks() as u32, part));
    }

    /// Blocks from this one on belong to this part: for those that were made before it began.
    pub fn belongs(&mut self, first: Block, part: Part) {
        self.parts.push((first.as_u32(), part));
    }

    /// What a test wants done to the field at this position.
    pub fn sabotage(&self, at: usize) -> Sabotage {
        self.sabotage.get(at).copied().unwrap_or(Sabotage::None)
    }

    /// Whether slow exits are counted.
    pub fn counts_exits(&self) -> bool {
        self.exits.is_some()
    }

    /// Counts a slow exit of the part being built; nothing, unless the compile is instrumented.
    pub fn count(&mut self, exit: Exit) {
        self.count_of(self.field(), exit);
    }

    /// As [`Code::count`], for another part.
    pub fn count_of(&mut self, field: Option<usize>, exit: Exit) {
        if let Some(exits) = self.exits {
            let (address, one) = (self.constant(exits.address(field, exit) as i64), self.constant(1));
            self.b.ins().atomic_rmw(types::I64, MEM, AtomicRmwOp::Add, address, one);
        }
    }

    /// The position of the field being built.
    pub fn field(&self) -> Option<usize> {
        match self.part {
            Part::Frame => None,
            Part::Field(at) => Some(at),
        }
    }

    // Blocks and jumps.

    pub fn block(&mut self, params: &[Type]) -> Block {
        let block = self.b.create_block();
        for &ty in params {
            self.b.append_block_param(block, ty);
        }
        block
    }

    pub fn cold_block(&mut self, params: &[Type]) -> Block {
        let block = self.block(params);
        self.b.set_cold_block(block);
        block
    }

    /// Continues in `block`; gives its parameters.
    pub fn switch_to<const N: usize>(&mut self, block: Block) -> [Value; N] {
        self.b.switch_to_block(block);
        let params = self.b.block_params(block);
        std::array::from_fn(|at| params[at])
    }

    pub fn jump(&mut self, block: Block, values: &[Value]) {
        let values = arguments(values);
        self.b.ins().jump(block, &values);
    }

    pub fn branch(&mut self, condition: Value, then: (Block, &[Value]), otherwise: (Block, &[Value])) {
        let (a, b) = (arguments(then.1), arguments(otherwise.1));
        self.b.ins().brif(condition, then.0, &a, otherwise.0, &b);
    }

    /// As [`Code::branch`], where `rare` is seldom taken: what the edge needs (moves, a jump) then lies away from the code that runs,
    /// which can go on without a jump.
    pub fn branch_likely(&mut self, condition: Value, likely: (Block, &[Value]), rare: (Block, &[Value])) {
        let edge = self.cold_block(&[]);
        self.branch(condition, likely, (edge, &[]));
        self.b.switch_to_block(edge);
        self.jump(rare.0, rare.1);
    }

    pub fn compare(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        self.b.ins().icmp(condition, a, b)
    }

    pub fn is_zero(&mut self, value: Value) -> Value {
        self.b.ins().icmp_imm_u(IntCC::Equal, value, 0)
    }

    pub fn add(&mut self, value: Value, more: i64) -> Value {
        if more == 0 { value } else { self.b.ins().iadd_imm_s(value, more) }
    }

    // Memory.

    pub fn ctx(&mut self) -> Value {
        self.b.ins().get_pinned_reg(types::I64)
    }

    pub fn load(&mut self, ty: Type, base: Value, offset: i32) -> Value {
        self.b.ins().load(ty, MEM, base, offset)
    }

    pub fn store(&mut self, value: Value, base: Value, offset: i32) {
        self.b.ins().store(MEM, value, base, offset);
    }

    pub fn load_ctx(&mut self, ty: Type, offset: i32) -> Value {
        let ctx = self.ctx();
        self.load(ty, ctx, offset)
    }

    pub fn store_ctx(&mut self, value: Value, offset: i32) {
        let ctx = self.ctx();
        self.store(value, ctx, offset);
    }

    pub fn constant(&mut self, value: i64) -> Value {
        self.b.ins().iconst(types::I64, value)
    }

    /// Puts a value aside, into the frame's memory. The register allocator keeps what is live across a call in one of few registers,
    /// or spills it, and with it everything that shares its register: the position, mostly. What is needed again only
    /// after a call, or seldom, is better put aside by hand.
    pub fn put_aside(&mut self, value: Value) -> Aside {
        let ty = self.b.func.dfg.value_type(value);
        let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 4));
        self.b.ins().stack_store(types::I64, value, slot, 0);
        Aside { slot, ty }
    }

    /// The value that was put aside.
    pub fn take_back(&mut self, aside: Aside) -> Value {
        self.b.ins().stack_load(types::I64, aside.ty, aside.slot, 0)
    }

    /// A value, wherever it is kept.
    pub fn fetch(&mut self, kept: Kept) -> Value {
        match kept {
            Kept::Register(value) => value,
            Kept::Aside(aside) => self.take_back(aside),
        }
    }

    // Calls.

    /// Calls the function of a program: directly within its unit, else through its entry slot, which lies at its address
    /// plus `entry`. Foreign callees get their program as one more argument.
    pub fn call_program(&mut self, program: *const (), entry: i32, arguments: &[Value]) -> Value {
        let call = match self.names.programs.get(&program.addr()) {
            Some(&id) => {
                let func = self.func_ref(id, c_signature(self.call, arguments.len()));
                self.b.ins().call(func, arguments)
            }
            None => {
                let program = self.constant(program as i64);
                let entry = self.load(types::I64, program, entry);
                let signature = self.signature(arguments.len() + 1);
                let arguments: Vec<Value> = arguments.iter().copied().chain([program]).collect();
                self.b.ins().call_indirect(signature, entry, &arguments)
            }
        };
        self.b.inst_results(call)[0]
    }

    /// Calls a helper behind its saving stub and gives the answer.
    pub fn call_stub(&mut self, stub: Saving, arguments: &[Value]) -> Value {
        self.helper_calls += 1;
        let at = Saving::ALL.iter().position(|&other| other == stub).unwrap_or(0);
        let func = self.func_ref(self.names.stubs[at], stub.signature());
        self.b.ins().call(func, arguments);
        self.load_ctx(types::I64, self.answer)
    }

    /// Calls a helper by address, in the platform's convention.
    pub fn call_helper(&mut self, helper: *const u8, arguments: &[Value]) -> Value {
        self.helper_calls += 1;
        let signature = self.signature(arguments.len());
        let callee = self.constant(helper as i64);
        let call = self.b.ins().call_indirect(signature, callee, arguments);
        self.b.inst_results(call)[0]
    }

    pub fn signature(&mut self, params: usize) -> SigRef {
        let call = self.call;
        let b = &mut self.b;
        *self.signatures.entry(params).or_insert_with(|| b.import_signature(c_signature(call, params)))
    }

    pub fn func_ref(&mut self, id: u32, signature: Signature) -> FuncRef {
        if let Some(&func) = self.funcs.get(&id) {
            return func;
        }
        let signature = self.b.import_signature(signature);
        let name = self.b.func.declare_imported_user_function(UserExternalName { namespace: 0, index: id });
        // Near calls: everything lies in one reservation.
        let data = ExtFuncData { name: ExternalName::user(name), signature, colocated: true, patchable: false };
        let func = self.b.import_function(data);
        self.funcs.insert(id, func);
        func
    }
}
