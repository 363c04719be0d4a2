//! Which engine runs, and why not the other.

use std::fmt;
use std::str::FromStr;

/// The engine choice of a runtime.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// Compiled code where this platform was tested for it, else the interpreter.
    #[default]
    Auto,
    /// Compiled code wherever the compiler supports the machine. What cannot be compiled is interpreted and counted.
    Jit,
    /// The interpreter only. Executable memory is never asked for.
    Interp,
}

impl Engine {
    /// The name that the command and `PROTOJIT_ENGINE` use: `auto`, `jit` or `interp`.
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::Jit => "jit",
            Engine::Interp => "interp",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An engine name that is none of `auto`, `jit` and `interp`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown engine {0:?}: expected auto, jit or interp")]
pub struct UnknownEngine(String);

/// ```
/// use protojit::Engine;
/// assert_eq!("interp".parse::<Engine>().unwrap(), Engine::Interp);
/// assert!("fast".parse::<Engine>().is_err());
/// ```
impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Engine, UnknownEngine> {
        [Engine::Auto, Engine::Jit, Engine::Interp]
            .into_iter()
            .find(|engine| engine.name() == name)
            .ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}

/// Which of the processor's features compiled code uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Cpu {
    /// All that this one has, found at run time.
    #[default]
    Host,
    /// Those that every processor of the architecture has: on x86-64 no AVX, no BMI. For tests, and for comparing.
    Baseline,
}

#[cfg(feature = "jit")]
impl Cpu {
    pub(crate) fn of_compiler(self) -> protojit_jit::host::Cpu {
        match self {
            Cpu::Host => protojit_jit::host::Cpu::Host,
            Cpu::Baseline => protojit_jit::host::Cpu::Baseline,
        }
    }
}

/// A name that is neither `host` nor `baseline`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown processor features {0:?}: expected host or baseline")]
pub struct UnknownCpu(String);

/// ```
/// use protojit::Cpu;
/// assert_eq!("baseline".parse::<Cpu>().unwrap(), Cpu::Baseline);
/// assert!("z80".parse::<Cpu>().is_err());
/// ```
impl FromStr for Cpu {
    type Err = UnknownCpu;

    fn from_str(name: &str) -> Result<Cpu, UnknownCpu> {
        match name {
            "host" => Ok(Cpu::Host),
            "baseline" => Ok(Cpu::Baseline),
            _ => Err(UnknownCpu(name.to_owned())),
        }
    }
}

/// When message types are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CompileMode {
    /// Before [`Schema::message`](crate::Schema::message) returns.
    #[default]
    Eager,
    /// On the first decode, which waits for it.
    Lazy,
    /// By other threads, from [`Schema::message`](crate::Schema::message) on (encode: from the first encode on). The
    /// interpreter serves until code is ready.
    Background,
}

/// Why the interpreter was taken where compiled code was wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fallback {
    /// A stable word: `arena-full`, `message-too-large`, `engine-off` and so on.
    pub reason: &'static str,
    /// The whole story, for people.
    pub detail: String,
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Fallback {}
