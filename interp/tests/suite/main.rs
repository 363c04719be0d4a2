//! The interpreter, seen from outside: held against prost-reflect, and against hostile bytes.

mod smoke;
mod support;
