//! `protojit layout`: how a message lies in memory.

use protojit::descriptors::{FieldDescriptor, Kind, MessageDescriptor};
use protojit_core::program::{FieldSlot, Layout, SlotPresence};
use protojit_core::schema::model::FieldKey;
use serde::Serialize;

use crate::args::{LayoutArgs, ReportFormat, RuntimeArgs};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::table::{self, Column};

#[derive(Serialize)]
struct Report<'a> {
    message: &'a str,
    /// Bytes of the message itself.
    size: u32,
    /// Bytes of presence words in it.
    presence_bytes: u32,
    /// Bytes of its cold pages, which are allocated when one of their fields appears.
    pages: &'a [u32],
    fields: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
    name: String,
    number: u32,
    #[serde(rename = "type")]
    kind: String,
    /// 0 for the message itself, else the cold page, counted from 1.
    page: u16,
    offset: u32,
    size: u32,
    /// How set is told from unset.
    presence: String,
}

/// Prints the layout.
pub fn run(args: &LayoutArgs, runtime: &RuntimeArgs) -> Outcome {
    let message_type = runtime.load(&args.schema, args.message.as_deref())?;
    let descriptor = message_type.descriptor();
    let report = report(&descriptor, message_type.shape());
    let mut out = Output::stdout();
    match args.format {
        ReportFormat::Json => {
            let text = serde_json::to_string_pretty(&report).map_err(|error| Failure::Input(error.to_string()))?;
            out.write(text.as_bytes())?;
            out.write(b"\n")?;
        }
        ReportFormat::Table => out.write(text(&report).as_bytes())?,
    }
    out.flush()
}

fn report<'a>(message: &'a MessageDescriptor, layout: &'a Layout) -> Report<'a> {
    let mut fields: Vec<Field> = layout
        .fields
        .iter()
        .map(|slot| {
            let field = message.schema().field(slot.key);
            Field {
                name: match slot.key {
                    FieldKey::Field(..) => field.name().to_owned(),
                    FieldKey::Extension(_) => format!("[{}]", field.full_name()),
                },
                number: slot.number,
                kind: type_name(&field),
                page: slot.page,
                offset: slot.offset,
                size: slot.storage.size(),
                presence: presence(slot),
            }
        })
        .collect();
    fields.sort_by_key(|field| (field.page, field.offset, field.number));
    Report {
        message: message.full_name(),
        size: layout.size,
        presence_bytes: layout.hasbit_bytes,
        pages: &layout.pages,
        fields,
    }
}

fn text(report: &Report<'_>) -> String {
    const COLUMNS: [Column; 7] = [
        Column::long("field", '_'),
        Column::number("number"),
        Column::long("type", '.'),
        Column::word("where"),
        Column::number("offset"),
        Column::number("size").expendable(1),
        Column::word("set when"),
    ];
    let rows = report.fields.iter().map(|field| {
        vec![
            field.name.clone(),
            field.number.to_string(),
            field.kind.clone(),
            match field.page {
                0 => "message".to_owned(),
                page => format!("page {page}"),
            },
            field.offset.to_string(),
            field.size.to_string(),
            field.presence.clone(),
        ]
    });
    let table = table::table(&COLUMNS, &rows.collect::<Vec<_>>());
    let mut text = format!("{}: {} bytes", report.message, report.size);
    if let sizes @ [_, ..] = report.pages {
        let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
        text += &format!(", and cold pages of {} bytes that are allocated when needed", sizes.join(" + "));
    }
    text + "\n" + &table
}

fn presence(slot: &FieldSlot) -> String {
    match slot.presence {
        SlotPresence::Hasbit { offset, mask } => format!("bit {} at {offset}", mask.trailing_zeros()),
        SlotPresence::Pointer => "not null".to_owned(),
        SlotPresence::Case { offset } => format!("case {} at {offset}", slot.number),
        SlotPresence::NonZero => "not zero".to_owned(),
        SlotPresence::NonEmpty => "not empty".to_owned(),
    }
}

fn type_name(field: &FieldDescriptor) -> String {
    if let Some((key, value)) = field.map_entry() {
        return format!("map<{}, {}>", kind_name(&key.kind()), kind_name(&value.kind()));
    }
    let kind = kind_name(&field.kind());
    match (field.is_list(), field.is_required(), field.is_delimited()) {
        (true, _, false) => format!("repeated {kind}"),
        (true, _, true) => format!("repeated group {kind}"),
        (_, true, _) => format!("required {kind}"),
        (_, _, true) => format!("group {kind}"),
        _ => kind,
    }
}

fn kind_name(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => message.full_name().to_owned(),
        Kind::Enum(found) => found.full_name().to_owned(),
        // The names of scalar kinds are those of the language.
        scalar => format!("{scalar:?}").to_lowercase(),
    }
}
