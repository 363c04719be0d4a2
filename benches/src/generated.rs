//! The peers' generated messages, and the generated code that reads them.
#![allow(missing_docs, unused, non_camel_case_types, non_snake_case, non_upper_case_globals, clippy::all)]

/// By prost-build.
pub mod prost {
    include!(concat!(env!("OUT_DIR"), "/prost/mod.rs"));
}

/// By buffa-build: messages that own their contents, and views.
pub mod buffa {
    include!(concat!(env!("OUT_DIR"), "/buffa/mod.rs"));
}

/// By pb-rs, for quick-protobuf.
pub mod quick {
    macro_rules! modules {
        ($($name:ident)*) => {
            $(pub mod $name {
                include!(concat!(env!("OUT_DIR"), "/quick/", stringify!($name), ".rs"));
            })*
        };
    }
    modules! { hello scalars packed maps tree logs analytics otel unknown texts ticks }
}

/// [`Read`](crate::read::Read) for all of them.
mod readers {
    include!(concat!(env!("OUT_DIR"), "/readers/prost.rs"));
    include!(concat!(env!("OUT_DIR"), "/readers/buffa.rs"));
    include!(concat!(env!("OUT_DIR"), "/readers/buffa_view.rs"));
    include!(concat!(env!("OUT_DIR"), "/readers/quick.rs"));
}

/// Reading protojit's messages through typed handles.
pub mod handles {
    use protojit::{MessageRef, Shape};
    use protojit_core::message::{Bytes, Enum, Field, HandleError, List, Map, Msg, Str};

    use crate::read::{MESSAGE, Read, bytes, entry, weight};

    include!(concat!(env!("OUT_DIR"), "/readers/protojit.rs"));
}
