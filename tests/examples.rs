//! Every example runs to its end, and what it asserts holds.

#[path = "../examples/hot_reload.rs"]
mod hot_reload;
#[path = "../examples/json_gateway.rs"]
mod json_gateway;
#[path = "../examples/kafka_like_stream.rs"]
mod kafka_like_stream;
#[path = "../examples/projection.rs"]
mod projection;
#[path = "../examples/proxy.rs"]
mod proxy;
#[path = "../examples/version_binding.rs"]
mod version_binding;

#[test]
fn all_run() {
    let examples = [
        ("hot_reload", hot_reload::main as fn() -> Result<(), Box<dyn std::error::Error>>),
        ("json_gateway", json_gateway::main),
        ("kafka_like_stream", kafka_like_stream::main),
        ("projection", projection::main),
        ("proxy", proxy::main),
        ("version_binding", version_binding::main),
    ];
    for (name, run) in examples {
        run().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let there =
        std::fs::read_dir("examples").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert_eq!(there.filter(|name| name.ends_with(".rs")).count(), examples.len(), "each example is run");
}
