//! The machine-code arena: where compiled code lives.
//!
//! # The idea
//!
//! A Runtime reserves one contiguous range of addresses ([`MachineCodeArena`]). The
//! reservation costs no memory: its pages are inaccessible until somebody needs them.
//! (Where the system commits strictly, `vm.overcommit_memory=2` on Linux, it counts
//! against the commit limit nevertheless.) Being contiguous and of bounded size, it
//! keeps every call between compiled functions within reach of the processor's call
//! instruction, and being one thing it can be measured, limited and reported.
//!
//! The range is handed out in chunks (64 KiB unless set otherwise). A compile unit takes
//! as many as it needs, is written into them by cranelift-jit ([`UnitBuilder`], with one
//! module each), is sealed, and runs ([`CodeUnit`]). When the last handle of a unit is
//! dropped, its chunks are free again. A chunk that has been sealed is never opened
//! again for more code: a unit begins with a chunk of its own, however small it is.
//! That costs addresses but no memory, since untouched pages have none; whoever
//! compiles many small units puts several functions into one, reserves more, or sets a
//! smaller chunk with [`ArenaOptions::chunk`].
//!
//! # The life of a page
//!
//! ```text
//! inaccessible ──take──▶ read+write ──seal──▶ read+execute ──drop──▶ inaccessible
//! ```
//!
//! A page is writable or executable, never both, and on no path does it become
//! writable again while its unit lives. Sealing happens in this order, each step
//! counted in [`McodeStats`] so that a test can see that it was taken:
//!
//! 1. the code is written and linked (cranelift-jit);
//! 2. gaps and the last page's tail are filled with trapping instructions;
//! 3. the instruction cache is cleared for the written range;
//! 4. the written pages become executable, and the chunk's untouched rest inaccessible;
//! 5. the pipelines of all processors are flushed;
//! 6. only then does anybody learn the address.
//!
//! Steps 3 and 5 are instructions on arm64 and nothing on x86-64, where caches are
//! coherent and where no processor can have fetched from a page that was inaccessible a
//! moment ago: taking the access away interrupted each of them. Emulators do not show
//! a missing step 3 or 5. The steps are in their place because of this list, and
//! because a test sees them counted, not because a test on such a machine failed.
//!
//! # When something fails
//!
//! Everything that the operating system can refuse ends in an [`McodeError`] with a
//! text for people and a [stable word](McodeError::reason) for the trace. The unit
//! concerned is gone, its chunks are free, the arena works on. If not even taking the
//! access away succeeds, the chunks stay out of service and are counted as
//! [`quarantined`](McodeStats::quarantined).
//!
//! cranelift-jit's linker panics where this crate wants an error. References are
//! therefore checked before it starts, and panics of the compiler are caught.
//!
//! # Example
//!
//! ```
//! use cranelift_codegen::ir::{AbiParam, InstBuilder, types};
//! use cranelift_codegen::settings::{self, Configurable};
//! use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
//! use cranelift_module::{Linkage, Module};
//! use protojit_jit::mcode::{MachineCodeArena, McodeError, Symbols, UnitBuilder};
//!
//! # fn main() -> Result<(), McodeError> {
//! let mut flags = settings::builder();
//! flags.set("is_pic", "false").unwrap();
//! let isa = cranelift_native::builder().unwrap();
//! let isa = isa.finish(settings::Flags::new(flags)).unwrap();
//!
//! let arena = MachineCodeArena::reserve(1 << 20)?;
//! let mut unit = UnitBuilder::new(&arena, isa, &Symbols::default())?;
//!
//! let mut context = unit.make_context();
//! let signature = &mut context.func.signature;
//! signature.params.push(AbiParam::new(types::I32));
//! signature.returns.push(AbiParam::new(types::I32));
//! let mut scratch = FunctionBuilderContext::new();
//! let mut body = FunctionBuilder::new(&mut context.func, &mut scratch);
//! let block = body.create_block();
//! body.append_block_params_for_function_params(block);
//! body.switch_to_block(block);
//! let argument = body.block_params(block)[0];
//! let doubled = body.ins().iadd(argument, argument);
//! body.ins().return_(&[doubled]);
//! body.seal_all_blocks();
//! body.finalize(unit.target_config());
//!
//! let double = unit.declare_function("double", Linkage::Local, &context.func.signature)?;
//! unit.define_function(double, &mut context)?;
//! let code = unit.seal()?;
//!
//! let entry = code.address(double).expect("defined above");
//! // SAFETY: the type is the signature that was compiled, and `code` is alive.
//! let entry: extern "C" fn(i32) -> i32 = unsafe { std::mem::transmute(entry) };
//! assert_eq!(entry(21), 42);
//!
//! drop(code);
//! assert_eq!(arena.stats().in_use, 0);
//! # Ok(())
//! # }
//! ```

mod arena;
mod chunks;
mod error;
mod fault;
mod links;
mod os;
mod space;
mod stats;
mod unit;

pub use arena::{ArenaOptions, DEFAULT_CHUNK, DEFAULT_RESERVATION, MAX_RESERVATION, MachineCodeArena};
pub use error::McodeError;
#[doc(hidden)]
pub use fault::{FaultPlan, Step};
pub use links::Symbols;
pub use stats::McodeStats;
pub use unit::{CodeUnit, UnitBuilder};
