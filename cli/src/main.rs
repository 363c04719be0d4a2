//! The `protojit` command.
fn main() {}
