//! After warm-up neither decoding nor encoding asks the allocator for anything.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use protojit_core::limits::Limits;
use protojit_core::memory::Arena;
use protojit_core::program::{DecodeOptions, EncodeOptions, Programs};
use protojit_core::schema::Schema;
use protojit_interp::decode::{Input, decode};
use protojit_interp::encode::{EncodeBuffer, append, encode};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator, with a count.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn warm_codecs_do_not_allocate() {
    // syntax = "proto3"; message T { repeated T kids = 1; string name = 2; repeated int32 n = 3; map<string, T> m = 4; }
    let mut file = prost_reflect::prost_types::FileDescriptorProto {
        name: Some("t.proto".into()),
        syntax: Some("proto3".into()),
        ..Default::default()
    };
    use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
    use prost_reflect::prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet, MessageOptions};
    let field = |name: &str, number, kind: Type, label: Label, type_name: Option<&str>| FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        r#type: Some(kind.into()),
        label: Some(label.into()),
        type_name: type_name.map(Into::into),
        ..Default::default()
    };
    file.message_type.push(DescriptorProto {
        name: Some("T".into()),
        field: vec![
            field("kids", 1, Type::Message, Label::Repeated, Some(".T")),
            field("name", 2, Type::String, Label::Optional, None),
            field("n", 3, Type::Int32, Label::Repeated, None),
            field("m", 4, Type::Message, Label::Repeated, Some(".T.MEntry")),
        ],
        nested_type: vec![DescriptorProto {
            name: Some("MEntry".into()),
            field: vec![
                field("key", 1, Type::String, Label::Optional, None),
                field("value", 2, Type::Message, Label::Optional, Some(".T")),
            ],
            options: Some(MessageOptions { map_entry: Some(true), ..Default::default() }),
            ..Default::default()
        }],
        ..Default::default()
    });
    let set = prost::Message::encode_to_vec(&FileDescriptorSet { file: vec![file] });
    let schema = Schema::from_descriptor_set(set).unwrap();
    let programs = Programs::new(schema.shared().clone());
    let message = schema.message("T").unwrap().id();
    let decoder = programs.decode(message, DecodeOptions::default());
    let encoder = programs.encode(message, EncodeOptions::default());
    let leaf = [&[0x12, 3][..], b"abc", &[0x1a, 4, 1, 2, 0xac, 2], &[0x7a, 1, 0]].concat();
    let mut bytes = Vec::new();
    for n in 0..30u8 {
        bytes.extend([0x0a, leaf.len() as u8]);
        bytes.extend(&leaf);
        bytes.extend([0x22, 5 + leaf.len() as u8, 0x0a, 1, b'0' + n, 0x12, leaf.len() as u8]);
        bytes.extend(&leaf);
    }
    let (mut arena, mut buffer, mut vec, limits) = (Arena::new(), EncodeBuffer::new(), Vec::new(), Limits::default());
    let mut round = |input: &[u8]| {
        arena.reset();
        vec.clear();
        for mode in [Input::Borrow, Input::Copy] {
            let root = decode(&decoder, input, &arena, &limits, mode).unwrap();
            // SAFETY: decoded into that shape, and still alive.
            unsafe {
                encode(&encoder, root.as_ptr(), &mut buffer, &limits).unwrap();
                append(&encoder, root.as_ptr(), &mut vec, &limits).unwrap();
            }
        }
    };
    let large = bytes.repeat(20);
    for input in [&bytes, &large] {
        for _ in 0..3 {
            round(input);
        }
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..10 {
            round(input);
        }
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before);
    }
}
