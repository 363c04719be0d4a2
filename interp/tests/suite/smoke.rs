use crate::support::*;

#[test]
fn a_person() {
    let fixture = Fixture::new(&[(
        "t.proto",
        r#"syntax = "proto3";
        message P {
            int32 id = 1; string name = 2; repeated string mails = 3; P child = 4; repeated P kids = 5;
            map<string, int32> m = 6; repeated int32 packed = 7; oneof o { string a = 8; P b = 9; } double d = 20;
            optional bool f = 21; sint32 z = 22;
        }"#,
    )]);
    let text = r#"id: -5 name: "häß" mails: "a" mails: "b" mails: "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
        child { id: 3 kids { } kids { name: "x" } } m { key: "k" value: 7 } m { key: "" value: -1 } packed: [1, 2, 300, -4]
        b { d: 1.5 } d: -0.0 f: false z: -3"#;
    let message = from_text(&fixture, "P", text);
    let bytes = wire(&message);
    let program = fixture.decoder("P");
    assert_eq!(tree_of(&program, &bytes).unwrap(), oracle_tree(&message));
    let encoder = fixture.encoder("P");
    let again = round_trip(&program, &encoder, &bytes);
    assert_eq!(oracle_tree(&fixture.oracle("P", &again).unwrap()), oracle_tree(&message));
    let long: Vec<u8> = bytes.repeat(20);
    let message = fixture.oracle("P", &long).unwrap();
    assert_eq!(tree_of(&program, &long).unwrap(), oracle_tree(&message));
}
