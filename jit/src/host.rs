//! The instruction set that code is compiled for: the host's, with the flags that the code shapes need.

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable, Flags};

use crate::JitError;

/// Which of the processor's features compiled code uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Cpu {
    /// All that this one has, found at run time.
    #[default]
    Host,
    /// Those that every processor of the architecture has: on x86-64 no AVX, no BMI.
    Baseline,
}

/// The host's instruction set.
///
/// `verify` runs Cranelift's verifier on every function: some 40 % more compile time, on in tests.
///
/// # Errors
/// Cranelift does not know the host.
pub fn native_isa(cpu: Cpu, verify: bool) -> Result<OwnedTargetIsa, JitError> {
    let mut flags = settings::builder();
    let wanted = [
        // Higher levels hoist constants out of loops and spill them: slower code, a third more compile time.
        ("opt_level", "none"),
        // The context lives in the pinned register.
        ("enable_pinned_reg", "true"),
        ("is_pic", "false"),
        ("preserve_frame_pointers", "false"),
        ("enable_probestack", "false"),
        ("unwind_info", "false"),
        ("enable_verifier", if verify { "true" } else { "false" }),
    ];
    for (name, value) in wanted {
        flags.set(name, value).map_err(|error| JitError::Host(error.to_string()))?;
    }
    let builder =
        cranelift_native::builder_with_options(cpu == Cpu::Host).map_err(|error| JitError::Host(error.to_owned()))?;
    builder.finish(Flags::new(flags)).map_err(|error| JitError::Host(error.to_string()))
}
