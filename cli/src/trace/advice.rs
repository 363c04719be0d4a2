//! What to do about a reason, and what an exit from the fast path means.

/// For each reason that the library gives: what a person can do about it.
pub fn advice(reason: &str) -> &'static str {
    match reason {
        "arena-full" | "arena-size" => {
            "give machine code more room: --arena 16m here, RuntimeBuilder::code_arena in a program"
        }
        "arena-reserve" => {
            "the system grants no such range of addresses: ask for less (--arena) or raise its limit (ulimit -v)"
        }
        "arena-protect" | "arena-seal" | "cache-flush" => {
            "the system forbids code made at run time (seccomp, SELinux execmem, MemoryDenyWriteExecute): allow it for \
             this process, or leave it to the interpreter"
        }
        "engine-off" => "the interpreter was asked for: leave --engine interp or PROTOJIT_ENGINE=interp away",
        "platform-untested" => "--engine jit (PROTOJIT_ENGINE=jit) tries it all the same",
        "not-built-in" => "build protojit with its feature `jit`",
        "host-unsupported" | "target" => "nothing: this processor has no compiler, and the interpreter serves",
        "message-too-large" => {
            "split the message, or raise the bound in a program: RuntimeBuilder::max_compiled_fields"
        }
        "not-yet-compiled" | "not-compiled" => "nothing: it is compiled when it is first used",
        _ => "this is a fault of protojit: please report it, with the schema",
    }
}

/// What a slow exit means.
pub fn why(exit: &str) -> &'static str {
    match exit {
        "long-varint" => "four bytes and more",
        "non-ascii" => "text beyond ASCII",
        "out-of-order" => "another field was predicted",
        "unknown" => "not in the schema, or unusual",
        "chunk-growth" => "no room in the arena's chunk",
        "list-growth" => "a list grew and moved",
        "cold-page" => "first field of a cold part",
        "closed-enum" => "may not be declared",
        "unusual-entry" => "not just key and value",
        "message-set" => "read by the interpreter",
        "input-end" => "last bytes of a large input",
        "buffer-growth" => "the output buffer grew",
        "long-text" => "more than a kilobyte to copy",
        "interpreted" => "written by the interpreter",
        _ => "",
    }
}
