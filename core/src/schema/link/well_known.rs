//! Messages with a JSON form of their own.
//!
//! A name alone proves nothing: a message called `google.protobuf.Timestamp` with other
//! fields is an ordinary message, so that whoever formats timestamps can rely on finding
//! seconds and nanos.

use super::{
    super::model::{FieldDef, FieldKind as K, MessageDef, MessageId, Presence, SchemaData, Symbol, WellKnown},
    Linker,
};

const PACKAGE: &str = "google.protobuf.";

impl Linker<'_> {
    pub(super) fn mark_well_known(&mut self) {
        let find = |name| find(&self.data, name);
        let simple = [
            ("Any", WellKnown::Any),
            ("Timestamp", WellKnown::Timestamp),
            ("Duration", WellKnown::Duration),
            ("FieldMask", WellKnown::FieldMask),
            ("Empty", WellKnown::Empty),
            ("DoubleValue", WellKnown::Wrapper),
            ("FloatValue", WellKnown::Wrapper),
            ("Int64Value", WellKnown::Wrapper),
            ("UInt64Value", WellKnown::Wrapper),
            ("Int32Value", WellKnown::Wrapper),
            ("UInt32Value", WellKnown::Wrapper),
            ("BoolValue", WellKnown::Wrapper),
            ("StringValue", WellKnown::Wrapper),
            ("BytesValue", WellKnown::Wrapper),
        ];
        let mut marks: Vec<(MessageId, WellKnown)> = simple
            .into_iter()
            .filter_map(|(name, mark)| {
                let id = find(name)?;
                let fields = self.data.messages[id.index()].fields.as_slice();
                has_shape(name, fields).then_some((id, mark))
            })
            .collect();
        // These three need each other.
        if let (Some(object), Some(value), Some(list)) = (find("Struct"), find("Value"), find("ListValue"))
            && is_json_family(&self.data, object, value, list)
        {
            marks.extend([(object, WellKnown::Struct), (value, WellKnown::Value), (list, WellKnown::ListValue)]);
        }
        for (id, mark) in marks {
            self.data.messages[id.index()].well_known = Some(mark);
        }
    }
}

fn find(data: &SchemaData, name: &str) -> Option<MessageId> {
    let mut full = String::from(PACKAGE);
    full.push_str(name);
    match data.symbols.get(full.as_str()) {
        Some(&Symbol::Message(id)) => Some(id),
        _ => None,
    }
}

fn is_plain(field: &FieldDef, number: u32, kind: K) -> bool {
    field.number == number
        && field.kind == kind
        && field.oneof.is_none()
        && matches!(field.presence, Presence::Implicit | Presence::Explicit)
        && field.default.is_none()
}

fn has_shape(name: &str, fields: &[FieldDef]) -> bool {
    let value = |kind| match fields {
        [value] => is_plain(value, 1, kind),
        _ => false,
    };
    match name {
        "Any" => match fields {
            [url, value] => is_plain(url, 1, K::String) && is_plain(value, 2, K::Bytes),
            _ => false,
        },
        "Timestamp" | "Duration" => match fields {
            [seconds, nanos] => is_plain(seconds, 1, K::Int64) && is_plain(nanos, 2, K::Int32),
            _ => false,
        },
        "FieldMask" => match fields {
            [paths] => is_list(paths, K::String),
            _ => false,
        },
        "Empty" => fields.is_empty(),
        "DoubleValue" => value(K::Double),
        "FloatValue" => value(K::Float),
        "Int64Value" => value(K::Int64),
        "UInt64Value" => value(K::Uint64),
        "Int32Value" => value(K::Int32),
        "UInt32Value" => value(K::Uint32),
        "BoolValue" => value(K::Bool),
        "StringValue" => value(K::String),
        "BytesValue" => value(K::Bytes),
        _ => false,
    }
}

fn is_list(field: &FieldDef, kind: K) -> bool {
    field.number == 1 && field.kind == kind && field.presence == Presence::Repeated
}

fn is_json_family(data: &SchemaData, object: MessageId, value: MessageId, list: MessageId) -> bool {
    let def = |id: MessageId| -> &MessageDef { &data.messages[id.index()] };
    let is_null = |kind| match kind {
        K::Enum(id) => &*data.enums[id.index()].full_name == "google.protobuf.NullValue",
        _ => false,
    };
    let object_fits = match def(object).fields.as_slice() {
        [fields] if fields.is_map && fields.number == 1 => match fields.kind {
            K::Message(entry) => match def(entry).fields.as_slice() {
                [k, v] => k.kind == K::String && v.kind == K::Message(value),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    };
    let list_fits = match def(list).fields.as_slice() {
        [values] => is_list(values, K::Message(value)) && !values.delimited,
        _ => false,
    };
    let value_fits = match def(value).fields.as_slice() {
        [null, rest @ ..] if null.number == 1 && is_null(null.kind) && null.oneof == Some(0) => {
            let kinds = [K::Double, K::String, K::Bool, K::Message(object), K::Message(list)];
            rest.len() == kinds.len()
                && (2..).zip(rest.iter().zip(kinds)).all(|(number, (field, kind))| {
                    field.number == number && field.kind == kind && field.oneof == Some(0)
                })
        }
        _ => false,
    };
    object_fits && list_fits && value_fits
}
