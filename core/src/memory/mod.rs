//! Where decoded messages live.
//!
//! A message is a flat, zeroed struct in an [`Arena`]: scalars at fixed offsets, strings and
//! lists as sixteen-byte cells, sub-messages as pointers. The offsets come from a
//! [`Layout`](crate::program::Layout). `docs/LAYOUT.md` of the project is the full description.
//!
//! [`slots`] defines the raw cells, [`parts`] finds them, [`list`], [`map`] and [`unknown`] grow them, [`Arena`] is
//! the memory and [`alloc::Alloc`] the way to it.

pub mod alloc;
mod arena;
pub mod list;
pub mod map;
pub mod parts;
pub mod slots;
pub mod unknown;

pub use arena::{Arena, ArenaFull, Bump, ChunkSource, Counts, DEFAULT_ARENA_LIMIT, Owner, Room};
