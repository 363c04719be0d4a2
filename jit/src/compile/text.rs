//! Functions as text for people: intermediate code and assembly, each block under the name of the field that it belongs to.

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{DebugTag, Function, InstBuilder};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_frontend::FunctionBuilderContext;
use protojit_core::program::Unit;

use super::code::{Names, Part, Plan};
use super::{Program, Site};
use crate::JitError;
use crate::host::Cpu;
use crate::stubs::Saving;

/// The intermediate code of the function of the program at position `at`, for this processor.
///
/// # Errors
/// The host is not supported.
pub fn clif<P: Program>(unit: &Unit<P>, at: usize, cpu: Cpu) -> Result<String, JitError> {
    let isa = crate::host::native_isa(cpu, false)?;
    let Some(function) = Annotated::build(unit, at, &isa) else { return Ok(String::new()) };
    let text = function.function.display().to_string();
    // "block12(v3: i64):", "block12 cold:"
    let block = |line: &str| {
        let digits = line.strip_prefix("block")?.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok().filter(|_| line.ends_with(':'))
    };
    Ok(with_comments(&text, |line| block(line).map(|number| function.part_of(number))))
}

/// The machine code of the function of the program at position `at`, for this processor, as assembly. Addresses of helpers
/// and of other functions are not filled in.
///
/// # Errors
/// The host is not supported, or the compiler refuses.
pub fn asm<P: Program>(unit: &Unit<P>, at: usize, cpu: Cpu) -> Result<String, JitError> {
    let isa = crate::host::native_isa(cpu, false)?;
    let Some(mut function) = Annotated::build(unit, at, &isa) else { return Ok(String::new()) };
    function.mark_blocks();
    let names = std::mem::take(&mut function.part_names);
    let mut context = Context::for_function(function.function);
    context.set_disasm(true);
    let compiled = context.compile(&*isa, &mut ControlPlane::default());
    let compiled = compiled.map_err(|error| JitError::Host(error.inner.to_string()))?;
    let text = compiled.vcode.as_deref().unwrap_or_default();
    // The marks take no bytes: a line for the mark, and one that shows its tag. They become comments.
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let tag = line.trim_start().strip_prefix("; ^-- debug @").and_then(|rest| rest.split_once("User("));
        let tag = tag.and_then(|(_, tag)| tag.split(')').next()?.parse().ok());
        match tag {
            Some(tag) => {
                let name = names.get::<usize>(tag).map_or("", String::as_str);
                out.extend(["  ; ", name, "\n"]);
            }
            None if line.trim() == "sequence_point" => {}
            None => out.extend([line, "\n"]),
        }
    }
    Ok(out)
}

/// Text with a comment behind each line that begins a block.
fn with_comments<'n>(text: &str, name: impl Fn(&str) -> Option<&'n str>) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    for line in text.lines() {
        out.push_str(line);
        if let Some(name) = name(line) {
            out.push_str(" ; ");
            out.push_str(name);
        }
        out.push('\n');
    }
    out
}

/// A function with the parts that its blocks belong to.
struct Annotated {
    function: Function,
    parts: Vec<(u32, Part)>,
    /// The frame's, then those of the operations.
    part_names: Vec<String>,
}

impl Annotated {
    fn build<P: Program>(unit: &Unit<P>, at: usize, isa: &OwnedTargetIsa) -> Option<Annotated> {
        let program = unit.members().get(at)?;
        let stubs: Vec<u32> = (0..).take(Saving::ALL.len()).collect();
        let first = stubs.len() as u32;
        let programs = unit.members().iter().map(|program| std::ptr::from_ref(program).addr()).zip(first..).collect();
        let names = Names { programs, stubs };
        let mut function = Function::new();
        let plan = Plan {
            names: &names,
            call: isa.default_call_conv(),
            config: isa.frontend_config(),
            exits: None,
            sabotage: &[],
        };
        let scratch = &mut FunctionBuilderContext::new();
        let parts = program.build(Site { function: &mut function, scratch, plan }).0.parts;
        let (schema, message) = program.schema();
        let fields: Vec<_> = schema.fields_of(message).into_iter().map(|(_, field)| field).collect();
        let operation = |at: usize| {
            let number = program.number(at);
            let name = fields.iter().find(|field| field.number == number).map_or("", |field| &*field.name);
            format!("{name} = {number}")
        };
        let operations = (0..program.fields()).map(operation);
        let part_names = std::iter::once("frame".to_owned()).chain(operations).collect();
        Some(Annotated { function, parts, part_names })
    }

    fn part_at(&self, block: u32) -> usize {
        let behind = self.parts.iter().rposition(|&(first, _)| first <= block);
        match behind.map(|at| self.parts[at].1) {
            Some(Part::Field(at)) => at + 1,
            Some(Part::Frame) | None => 0,
        }
    }

    fn part_of(&self, block: u32) -> &str {
        self.part_names.get(self.part_at(block)).map_or("", String::as_str)
    }

    /// Puts a mark that names its part at the beginning of each block.
    fn mark_blocks(&mut self) {
        let blocks: Vec<_> = self.function.layout.blocks().collect();
        for block in blocks {
            let part = self.part_at(block.as_u32());
            let mut cursor = FuncCursor::new(&mut self.function).at_first_insertion_point(block);
            let mark = cursor.ins().sequence_point();
            self.function.debug_tags.set(mark, [DebugTag::User(part as u32)]);
        }
    }
}
