//! What protojit's tests share.
//!
//! * [`rng`]: seeded random numbers, the same on every machine.
//! * [`schemas`]: the committed schemas, and [`schema_gen`]: random ones.
//! * [`wire_gen`]: valid wire bytes in every form the specification allows, and [`mutate`]: what is left of them after
//!   an accident.
//! * [`guard`]: memory that ends directly before an unmapped page, for inputs and arena chunks.
//! * [`dump`]: a message as text, everything in it included.
//! * [`pair`]: the two engines over one schema, held against each other, and [`oracle`]: against prost-reflect.

pub mod again;
pub mod dump;
pub mod guard;
pub mod many;
pub mod mutate;
pub mod oracle;
pub mod pair;
pub mod rng;
pub mod schema_gen;
pub mod schemas;
pub mod wire_gen;
