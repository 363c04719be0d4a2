//! Why machine code could not be made, in words an operator can act on.

use std::io;

use cranelift_module::ModuleError;

/// Why the arena could not be had, or why a unit did not become runnable code.
///
/// None of these is fatal: whoever meets one leaves the messages concerned to the
/// interpreter and reports [`reason`](Self::reason) and the full text. The texts
/// are complete in themselves: an operating system error is part of the sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McodeError {
    /// The size asked for is zero, or beyond what calls on this processor can span.
    #[error("a machine-code arena must have between 1 and {max} bytes, not {wanted}")]
    Size {
        /// Bytes asked for.
        wanted: usize,
        /// The most that this processor's call instructions allow.
        max: usize,
    },
    /// The operating system refused the address range.
    #[error("the machine-code arena of {bytes} bytes could not be reserved: {cause}")]
    Reserve {
        /// Bytes asked for, rounded to whole chunks.
        bytes: usize,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The arena is full, or too broken up for a piece of this size.
    #[error(
        "the machine-code arena has no room for {wanted} more bytes: \
         its largest free stretch is {largest_free} of {reserved} reserved bytes"
    )]
    NoRoom {
        /// Bytes that were to be placed in one piece.
        wanted: usize,
        /// Length of the longest run of free chunks.
        largest_free: usize,
        /// Size of the whole arena.
        reserved: usize,
    },
    /// An alignment beyond the page size was asked for.
    #[error("an alignment of {wanted} bytes was asked for; the arena offers at most {max}")]
    Alignment {
        /// Alignment asked for.
        wanted: u64,
        /// The page size, which is the most there is.
        max: usize,
    },
    /// Pages could not be made writable.
    #[error("{bytes} bytes of the machine-code arena could not be made writable: {cause}")]
    Protect {
        /// Length of the range.
        bytes: usize,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Written pages could not be made executable (or read-only, for data).
    ///
    /// A security policy that forbids run-time code shows up here.
    #[error("{bytes} bytes of machine code could not be sealed for execution: {cause}")]
    Seal {
        /// Length of the range.
        bytes: usize,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Instruction caches or pipelines could not be brought up to date.
    #[error("the processor's instruction caches could not be brought up to date: {cause}")]
    Flush {
        /// What the operating system said.
        cause: io::Error,
    },
    /// The instruction set handed in cannot run in this process.
    #[error("this target cannot be compiled for: {detail}")]
    Target {
        /// What is wrong with it.
        detail: String,
    },
    /// Code refers to a symbol that the unit's [`Symbols`](super::Symbols) lack.
    #[error("compiled code refers to the unknown symbol `{symbol}`")]
    Unresolved {
        /// The symbol's name.
        symbol: String,
    },
    /// Code refers to a function or data object that was declared in the unit and never defined.
    #[error("compiled code refers to `{name}`, which its unit declares but does not define")]
    Undefined {
        /// The declared name.
        name: String,
    },
    /// A reference in the code cannot be written by the linker of cranelift-jit.
    #[error("a reference from compiled code cannot be linked: {detail}")]
    Link {
        /// The kind of reference, and what is wrong with it.
        detail: String,
    },
    /// The compiler panicked; the unit was abandoned, and its memory given back.
    #[error("the compiler gave up with a panic: {detail}")]
    Panic {
        /// The panic's message.
        detail: String,
    },
    /// Any other error of the compiler.
    #[error("the compiler reports: {0}")]
    Compiler(Box<ModuleError>),
}

impl McodeError {
    fn compiler(error: ModuleError) -> Self {
        Self::Compiler(Box::new(error))
    }

    /// A short, stable word for the trace and for counters.
    ///
    /// Unlike the text it carries no numbers, so that equal causes count as equal.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Size { .. } => "arena-size",
            Self::Reserve { .. } => "arena-reserve",
            Self::NoRoom { .. } => "arena-full",
            Self::Alignment { .. } => "alignment",
            Self::Protect { .. } => "arena-protect",
            Self::Seal { .. } => "arena-seal",
            Self::Flush { .. } => "cache-flush",
            Self::Target { .. } => "target",
            Self::Unresolved { .. } => "unresolved-symbol",
            Self::Undefined { .. } => "undefined-function",
            Self::Link { .. } => "link",
            Self::Panic { .. } => "compiler-panic",
            Self::Compiler(_) => "compiler",
        }
    }
}

/// Recovers the arena's own error from the wrappers that it travels in.
///
/// cranelift-jit hands an error of its memory provider on as
/// [`ModuleError::Allocation`] or [`ModuleError::Backend`]; both keep the original
/// value, so nothing is lost on the way.
impl From<ModuleError> for McodeError {
    fn from(error: ModuleError) -> Self {
        match error {
            ModuleError::Allocation { err } => match err.downcast::<McodeError>() {
                Ok(own) => own,
                Err(err) => Self::compiler(ModuleError::Allocation { err }),
            },
            ModuleError::Backend(err) => match err.downcast::<McodeError>() {
                Ok(own) => own,
                Err(err) => Self::compiler(ModuleError::Backend(err)),
            },
            other => Self::compiler(other),
        }
    }
}

/// The way into [`ModuleError`], for functions that cranelift-module's trait types.
impl From<McodeError> for ModuleError {
    fn from(error: McodeError) -> Self {
        match error {
            McodeError::Compiler(inner) => *inner,
            own => ModuleError::Backend(own.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_precise_reason_survives_the_compilers_wrappers() {
        let full = || McodeError::NoRoom { wanted: 3, largest_free: 2, reserved: 1 };
        for wrapped in [ModuleError::Allocation { err: io::Error::other(full()) }, ModuleError::from(full())] {
            let back = McodeError::from(wrapped);
            assert_eq!(back.reason(), "arena-full");
            assert!(back.to_string().contains("no room for 3 more bytes"));
        }
    }

    #[test]
    fn foreign_errors_stay_what_they_are() {
        let other = ModuleError::Allocation { err: io::Error::from(io::ErrorKind::OutOfMemory) };
        let undeclared = ModuleError::Undeclared("f".to_owned());
        for foreign in [other, undeclared] {
            let text = foreign.to_string();
            let own = McodeError::from(foreign);
            assert_eq!(own.reason(), "compiler");
            assert_eq!(own.to_string(), format!("the compiler reports: {text}"));
            assert_eq!(ModuleError::from(own).to_string(), text);
        }
    }
}
