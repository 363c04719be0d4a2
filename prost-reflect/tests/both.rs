//! Both sides hold the same messages and write the same JSON.

use prost_reflect::{DescriptorPool, DynamicMessage};
use protojit::Runtime;
use protojit::json::JsonWriteOptions;
use protojit_prost_reflect::{ConvertError, DeserializeOptions, MessageTypeExt, RuntimeExt, SerializeOptions};
use protojit_testing::schemas::descriptor_set;

#[test]
fn messages_cross_and_come_back() {
    let pool = DescriptorPool::decode(&descriptor_set("hello.proto")[..]).unwrap();
    let ty = Runtime::new().register_pool(&pool).unwrap().message("hello.Person").unwrap();
    let descriptor = pool.get_message_by_name("hello.Person").unwrap();
    for size in ["10", "100", "1k", "10k"] {
        let mut bytes = std::fs::read(format!("../examples/payloads/person_{size}.binpb")).unwrap();
        bytes.extend_from_slice(b"\xa0\x06\x05"); // unknown to both
        let message = ty.decode_owned(&bytes).unwrap();
        let dynamic = ty.to_dynamic(message.as_ref(), &descriptor).unwrap();
        assert_eq!(dynamic, DynamicMessage::decode(descriptor.clone(), &bytes[..]).unwrap());
        assert_eq!(ty.read_dynamic(&dynamic).unwrap(), message);
    }
}

#[test]
fn json_options_mean_the_same() {
    let pool = DescriptorPool::decode(&descriptor_set("hello.proto")[..]).unwrap();
    let descriptor = pool.get_message_by_name("hello.Person").unwrap();
    let ty = Runtime::new().register_message(&descriptor).unwrap();
    let bytes = b"\x0a\x03Ada\x20\x01\x2a\x02\x18\x07\x3a\x02\x01\x02\x49\x01\x00\x00\x00\x00\x00\x00\x00\x59\x00\x00\x00\x00\x00\x00\xf8\x3f\x62\x05\x0a\x01a\x10\x05";
    let message = ty.decode_owned(bytes).unwrap();
    let dynamic = ty.to_dynamic(message.as_ref(), &descriptor).unwrap();
    for bits in 0..16 {
        let on = |bit: u32| bits >> bit & 1 == 1;
        let own = SerializeOptions::new()
            .stringify_64_bit_integers(on(0))
            .use_enum_numbers(on(1))
            .use_proto_field_name(on(2))
            .skip_default_fields(on(3));
        let theirs = prost_reflect::SerializeOptions::new()
            .stringify_64_bit_integers(on(0))
            .use_enum_numbers(on(1))
            .use_proto_field_name(on(2))
            .skip_default_fields(on(3));
        let expected = dynamic.serialize_with_options(serde_json::value::Serializer, &theirs).unwrap();
        let (mut out, options) = (Vec::new(), JsonWriteOptions::from(own));
        ty.wire_to_json(bytes, &options, &mut out).unwrap();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&out).unwrap(), expected, "{bits:04b}");
    }
    let mut out = Vec::new();
    let json = br#"{"name": "Ada", "shoeSize": 37}"#;
    assert!(ty.json_to_wire(json, &DeserializeOptions::new().into(), &mut out).is_err());
    ty.json_to_wire(json, &DeserializeOptions::new().deny_unknown_fields(false).into(), &mut out).unwrap();
    assert_eq!(out, b"\x0a\x03Ada");
}

#[test]
fn another_type_is_an_error() {
    let pool = DescriptorPool::decode(&descriptor_set("hello.proto")[..]).unwrap();
    let schema = Runtime::new().register_pool(&pool).unwrap();
    let (person, address) = (schema.message("hello.Person").unwrap(), schema.message("hello.Address").unwrap());
    let descriptor = pool.get_message_by_name("hello.Person").unwrap();
    let message = address.decode_owned(b"\x18\x07").unwrap();
    assert!(matches!(person.to_dynamic(message.as_ref(), &descriptor), Err(ConvertError::Encode(_))));
    assert!(matches!(
        address.to_prost::<prost_types::Timestamp>(address.decode_owned(b"\x0a\x01x").unwrap().as_ref()),
        Err(ConvertError::Decode(_))
    ));
}
