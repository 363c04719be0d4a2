//! Why something was not compiled.

use crate::mcode::McodeError;

/// A unit that could not be compiled. Its messages stay interpreted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JitError {
    /// Cranelift does not support this machine.
    #[error("this machine is not supported by the compiler: {0}")]
    Host(String),
    /// The machine-code arena refused.
    #[error(transparent)]
    Mcode(#[from] McodeError),
    /// The message has more fields than the bound.
    #[error("the message has {fields} fields, more than the bound of {bound}")]
    TooLarge {
        /// Fields of the message.
        fields: usize,
        /// The bound.
        bound: usize,
    },
    /// A test asked for it.
    #[error("field {field:?} is not compiled, for a test")]
    Refused {
        /// Name of the field.
        field: Box<str>,
    },
}

impl From<cranelift_module::ModuleError> for JitError {
    fn from(error: cranelift_module::ModuleError) -> Self {
        JitError::Mcode(McodeError::from(error))
    }
}

impl JitError {
    /// A stable word for the trace: equal causes give equal words.
    pub fn reason(&self) -> &'static str {
        match self {
            JitError::Host(_) => "host-unsupported",
            JitError::Mcode(error) => error.reason(),
            JitError::TooLarge { .. } => "message-too-large",
            JitError::Refused { .. } => "refused",
        }
    }
}
