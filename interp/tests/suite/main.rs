//! The interpreter, seen from outside: held against prost-reflect, and against hostile bytes.

mod everything;
mod hostile;
mod oracle;
mod semantics;
mod smoke;
mod support;
