//! A gateway between JSON and gRPC: it knows services by their descriptors only. The service behind it is played by a
//! function from wire bytes to wire bytes.

use std::error::Error;

use protojit::json::{JsonReadOptions, JsonWriteOptions};
use protojit::{Runtime, Schema, TranscodeError};
use protojit_source::ProtoSources;

/// Turns the JSON of a call into wire bytes, calls, and turns the answer into JSON.
fn call(
    schema: &Schema,
    path: &str,
    body: &[u8],
    backend: impl Fn(&[u8]) -> Vec<u8>,
) -> Result<Result<Vec<u8>, TranscodeError>, Box<dyn Error>> {
    let (service, method) = path.trim_start_matches('/').split_once('/').ok_or("a path is /service/method")?;
    let service = schema.descriptors().service(service).ok_or("no such service")?;
    let method = service.methods().find(|found| found.name() == method).ok_or("no such method")?;
    let (input, output) = (schema.message_type(&method.input()), schema.message_type(&method.output()));

    let (mut request, mut response) = (Vec::new(), Vec::new());
    if let Err(error) = input.json_to_wire(body, &JsonReadOptions::default(), &mut request) {
        return Ok(Err(error)); // 400, with line and column
    }
    let options = JsonWriteOptions { emit_defaults: true, ..JsonWriteOptions::default() };
    Ok(output.wire_to_json(&backend(&request), &options, &mut response).map(|()| response))
}

/// Runs the example; the tests do, too.
pub fn main() -> Result<(), Box<dyn Error>> {
    let text = "syntax = \"proto3\"; package shop; import \"google/protobuf/timestamp.proto\";
        message Ask { string sku = 1; uint32 count = 2; }
        message Offer { string sku = 1; uint64 cents = 2; google.protobuf.Timestamp until = 3; bool in_stock = 4; }
        service Prices { rpc Quote(Ask) returns (Offer); }";
    let set = ProtoSources::new().file("shop.proto", text).compile(["shop.proto"])?;
    let schema = Runtime::from_env().register(&set)?;

    // Answers with the request's first field, 4200 cents and a time.
    let backend = |request: &[u8]| [request, b"\x10\xe8\x20\x1a\x06\x08\x80\xe0\xc4\xbf\x06"].concat();
    let answer = call(&schema, "/shop.Prices/Quote", br#"{"sku": "tea"}"#, backend)??;
    println!("{}", String::from_utf8_lossy(&answer));
    assert_eq!(answer, br#"{"sku":"tea","cents":"4200","until":"2025-04-05T13:28:32Z","inStock":false}"#);

    let error = call(&schema, "/shop.Prices/Quote", b"{\"sku\": \"tea\",\n \"count\": -1}", backend)?.unwrap_err();
    println!("{error}");
    assert!(error.to_string().contains("line 2"));
    assert!(call(&schema, "/shop.Prices/Sell", b"{}", backend).is_err());
    Ok(())
}
