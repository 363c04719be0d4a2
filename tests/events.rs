//! What a program's `tracing` subscriber gets to hear: registrations, and what is interpreted although it should be compiled.

#![cfg(feature = "jit")]

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use protojit::{Engine, Runtime};
use protojit_testing::schemas;
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
