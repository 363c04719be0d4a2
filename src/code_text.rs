//! Compiled code as text, for people.

use crate::engine::Fallback;
use crate::message_type::MessageType;
use crate::trace::Direction;

/// How compiled code is written down.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum CodeForm {
    /// The compiler's intermediate code (Cranelift IR), before registers are allocated.
    Clif,
    /// Machine code as assembly. Addresses of helpers and of other functions are left open.
    Asm,
}

impl MessageType {
    /// The code that this type is compiled to, in one direction: each block under the name and number of the field that it
    /// belongs to. Made anew for the runtime's processor, also where the type is interpreted; the text is for people and
    /// differs from release to release.
    ///
    /// ```
    /// use protojit::{CodeForm, Direction, Runtime};
    /// // A file descriptor set: message "P" with "string n = 1".
    /// let set = b"\x0a\x1b\x0a\x01f\x22\x0e\x0a\x01P\x12\x09\x0a\x01n\x18\x01 \x01(\x09b\x06proto3";
    /// let ty = Runtime::new().register(set)?.message("P")?;
    /// # if cfg!(feature = "jit") {
    /// let text = ty.code_text(Direction::Decode, CodeForm::Clif)?;
    /// assert!(text.contains("; n = 1"));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no compiler for this machine.
    pub fn code_text(&self, direction: Direction, form: CodeForm) -> Result<String, Fallback> {
        #[cfg(feature = "jit")]
        {
            use protojit_core::program::UnitRef;
            use protojit_jit::compile::{Program, asm, clif};
            use protojit_jit::host::Cpu;

            fn text<P: Program>(program: &UnitRef<P>, form: CodeForm, cpu: Cpu) -> Result<String, Fallback> {
                let text = match form {
                    CodeForm::Clif => clif(program.unit(), program.index(), cpu),
                    CodeForm::Asm => asm(program.unit(), program.index(), cpu),
                };
                text.map_err(|error| Fallback { reason: error.reason(), detail: error.to_string() })
            }

            let cpu = self.schema().runtime().inner.options.cpu.of_compiler();
            match direction {
                Direction::Decode => text(&self.inner.decode.program, form, cpu),
                Direction::Encode => text(&self.inner.encode().program, form, cpu),
            }
        }
        #[cfg(not(feature = "jit"))]
        {
            let _ = (direction, form);
            Err(self.schema().runtime().inner.no_compiler().clone())
        }
    }
}
