//! What a program's `tracing` subscriber gets to hear: registrations, and what is interpreted although it should be compiled.

#![cfg(feature = "jit")]

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use protojit::{Engine, Runtime};
use protojit_testing::{many, schemas};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Writes events down, each as its level and its fields.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<String>>>);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("protojit")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

/// What is heard while `work` runs.
fn heard(work: impl FnOnce()) -> Vec<String> {
    let listener = Listener::default();
    tracing::subscriber::with_default(listener.clone(), work);
    let lines = listener.0.lock().unwrap();
    lines.clone()
}

fn find<'l>(lines: &'l [String], words: &[&str]) -> &'l str {
    let found = lines.iter().find(|line| words.iter().all(|word| line.contains(word)));
    found.unwrap_or_else(|| panic!("no {words:?} in {lines:#?}"))
}

#[test]
fn registrations() {
    let set = schemas::descriptor_set("hello.proto");
    let lines = heard(|| {
        let runtime = Runtime::builder().engine(Engine::Jit).build();
        let first = runtime.register(&set).unwrap();
        // Equal sets are one schema.
        let _second = runtime.register(&set).unwrap();
        first.message("hello.Person").unwrap();
    });
    let line = find(&lines, &["DEBUG", "a schema was registered", "messages=", "micros="]);
    assert!(line.contains(&format!("bytes={}", set.len())), "{line}");
    assert_eq!(lines.iter().filter(|line| line.contains("a schema was registered")).count(), 1);
    assert!(!lines.iter().any(|line| line.contains("interpreted")), "{lines:#?}");
}

#[test]
fn fallbacks() {
    let set = schemas::descriptor_set("hello.proto");
    let lines = heard(|| {
        let runtime = Runtime::builder().engine(Engine::Jit).max_compiled_fields(4).build();
        runtime.register(&set).unwrap().message("hello.Person").unwrap();
    });
    find(&lines, &["WARN", "interpreted", "message-too-large", "hello.Person"]);
    let lines = heard(|| {
        let runtime = Runtime::builder().engine(Engine::Jit).code_arena(0).build();
        runtime.register(&set).unwrap().message("hello.Person").unwrap();
    });
    find(&lines, &["WARN", "interpreted", "arena-"]);
}

#[test]
fn the_first_message_of_a_reason_is_a_warning_and_the_others_are_counted() {
    let runtime = Runtime::builder().engine(Engine::Jit).max_compiled_fields(2).build();
    let lines = heard(|| {
        for number in 0..5 {
            runtime.register(&many::version(number)).unwrap().message("order.Order").unwrap().compile().unwrap_err();
        }
    });
    let warnings: Vec<_> = lines.iter().filter(|line| line.starts_with("WARN") || line.starts_with("ERROR")).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    find(&lines, &["WARN", "message-too-large", "order.Order", "bound of 2"]);
    // Encode is not asked for where decode failed.
    assert_eq!(runtime.trace().failures["message-too-large"], 5);
}

#[test]
fn a_runtime_that_compiles_and_one_that_is_not_to_warn_of_nothing() {
    let lines = heard(|| {
        for engine in [Engine::Jit, Engine::Interp] {
            let runtime = Runtime::builder().engine(engine).build();
            let ty = runtime.register(&many::version(0)).unwrap().message("order.Order").unwrap();
            ty.encode_to_vec(ty.new_message().as_ref()).unwrap();
        }
    });
    assert!(!lines.iter().any(|line| line.starts_with("WARN") || line.starts_with("ERROR")), "{lines:#?}");
}
