//! What protojit's tests share.
//!
//! * [`rng`]: seeded random numbers, the same on every machine.
//! * [`schemas`]: the committed schemas, and [`schema_gen`]: random ones, with features ([`feature_gen`]).
//! * [`wire_gen`]: valid wire bytes in every form the specification allows, and [`mutate`]: what is left of them after
//!   an accident; [`inputs`]: both, one after the other.
//! * [`constructs`]: one message per construct.
//! * [`guard`]: memory that ends directly before an unmapped page, for inputs and arena chunks.
//! * [`bodies`]: what is done with bytes from a fuzzer.
//! * [`dump`]: a message as text, everything in it included.
//! * [`pair`]: the two engines over one schema, held against each other; [`soak`]: for hours; and [`oracle`]: against prost-reflect.

pub mod again;
pub mod bodies;
pub mod constructs;
pub mod dump;
pub mod feature_gen;
pub mod guard;
pub mod inputs;
pub mod many;
pub mod mutate;
pub mod oracle;
pub mod pair;
pub mod rng;
pub mod schema_gen;
pub mod schemas;
pub mod soak;
pub mod wire_gen;
