//! Checks messages that others built by layout. Every other rule that an encoder keeps it keeps itself; but that strings are UTF-8, and
//! unknown fields whole, it takes for granted, since decoders and setters see to it.

use protojit_core::message::read_unknown;

use crate::layout::{PJ_NONE, PjCell, PjField, PjKind, PjLayout, PjListCell, PjMapCell, PjPresence, PjStringCell};

/// Offset of a message's pointer to its cold part, and of the page pointers in that.
const PAGES: usize = 16;

/// What of a message is looked at: positions in the layout's fields of strings to check, and of messages.
pub(crate) struct Plan {
    fields: Vec<u32>,
}

/// What is wrong, and where: positions of layouts and of fields in them, the innermost first.
pub(crate) struct Wrong {
    pub(crate) what: &'static str,
    pub(crate) path: Vec<(u32, u32)>,
}

impl Plan {
    pub(crate) fn of(fields: &[PjField]) -> Plan {
        let looked_at = |field: &PjField| has_utf8(field) || field.child != PJ_NONE;
        Plan { fields: (0..).zip(fields).filter(|(_, field)| looked_at(field)).map(|(at, _)| at).collect() }
    }
}

fn has_utf8(field: &PjField) -> bool {
    field.utf8 != 0 && (field.kind == PjKind::String as u32 || field.key_kind == PjKind::String as u32)
}

/// Checks a message of the layout `layout`, `depth` levels deep at most: encoders refuse what is deeper.
///
/// # Safety
/// `message` is a live message of that layout, which nobody changes meanwhile; `plans` belong to `layouts`.
pub(crate) unsafe fn written(
    plans: &[Plan],
    layouts: &[PjLayout],
    layout: u32,
    message: *const u8,
    depth: u32,
) -> Result<(), Wrong> {
    // SAFETY: as promised to this function.
    unsafe { unknown(message) }?;
    let plan = &plans[layout as usize];
    let fields = layouts[layout as usize].fields;
    for &at in &plan.fields {
        // SAFETY: positions of a plan are below the layout's number of fields; parts and cells lie where the layout says.
        let found = unsafe {
            let field = &*fields.add(at as usize);
            let part = part(message, field.page);
            let absent = part.is_null()
                || field.presence == PjPresence::Case as u32
                    && part.add(field.presence_offset as usize).cast::<u32>().read() != field.number;
            if absent { Ok(()) } else { one_field(plans, layouts, field, part.add(field.offset as usize), depth) }
        };
        if let Err(mut wrong) = found {
            wrong.path.push((layout, at));
            return Err(wrong);
        }
    }
    Ok(())
}

/// # Safety
/// As [`written`]; `cell` is the cell of this field.
unsafe fn one_field(
    plans: &[Plan],
    layouts: &[PjLayout],
    field: &PjField,
    cell: *const u8,
    depth: u32,
) -> Result<(), Wrong> {
    let child = |message: *const u8| match (field.child, depth) {
        (PJ_NONE, _) | (_, 0) => Ok(()),
        _ if message.is_null() => Ok(()),
        // SAFETY: a message of the child's layout, as promised to this function.
        (layout, depth) => unsafe { written(plans, layouts, layout, message, depth - 1) },
    };
    let is_string = field.kind == PjKind::String as u32;
    // SAFETY: the cells are what the layout says, as promised to this function.
    unsafe {
        match field.cell {
            cell_kind if cell_kind == PjCell::String as u32 => utf8(cell),
            cell_kind if cell_kind == PjCell::Message as u32 => child(cell.cast::<*const u8>().read()),
            cell_kind if cell_kind == PjCell::List as u32 => {
                let list = cell.cast::<PjListCell>().read();
                for at in 0..list.len as usize {
                    if is_string {
                        utf8(list.data.add(at * size_of::<PjStringCell>()))?;
                    } else {
                        child(list.data.cast::<*const u8>().add(at).read())?;
                    }
                }
                Ok(())
            }
            cell_kind if cell_kind == PjCell::Map as u32 => {
                let map = cell.cast::<*const PjMapCell>().read();
                let Some(map) = map.as_ref() else { return Ok(()) };
                for at in 0..map.len as usize {
                    let entry = map.entries.add(at * field.stride as usize);
                    let value = entry.add(field.value_offset as usize);
                    if field.key_kind == PjKind::String as u32 && field.utf8 != 0 {
                        utf8(entry)?;
                    }
                    if is_string && field.utf8 != 0 {
                        utf8(value)?;
                    } else if field.child != PJ_NONE {
                        child(value.cast::<*const u8>().read())?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// # Safety
/// `cell` is a string cell.
#[inline]
unsafe fn utf8(cell: *const u8) -> Result<(), Wrong> {
    // SAFETY: as promised to this function.
    let bytes = unsafe {
        let cell = cell.cast::<PjStringCell>().read();
        if cell.len == 0 {
            return Ok(());
        }
        std::slice::from_raw_parts(cell.data, cell.len as usize)
    };
    if bytes.is_ascii() || std::str::from_utf8(bytes).is_ok() { Ok(()) } else { Err(wrong("the string is not UTF-8")) }
}

#[cold]
fn wrong(what: &'static str) -> Wrong {
    Wrong { what, path: Vec::new() }
}

/// # Safety
/// `message` is a live message.
#[inline]
unsafe fn unknown(message: *const u8) -> Result<(), Wrong> {
    // SAFETY: a message begins with the pointer to its cold part, which begins with a list of string cells.
    let runs = unsafe {
        let cold = message.cast::<*const PjListCell>().read();
        match cold.as_ref() {
            Some(list) if list.len != 0 => {
                std::slice::from_raw_parts(list.data.cast::<PjStringCell>(), list.len as usize)
            }
            _ => return Ok(()),
        }
    };
    for run in runs.iter().filter(|run| run.len != 0) {
        // SAFETY: a string cell of a live message.
        let bytes = unsafe { std::slice::from_raw_parts(run.data, run.len as usize) };
        let mut at = 0;
        while at < bytes.len() {
            read_unknown(bytes, &mut at).ok_or_else(|| wrong("the unknown fields are not whole fields"))?;
        }
    }
    Ok(())
}

/// The message itself, or a cold page, null where that does not exist.
///
/// # Safety
/// `message` is a live message whose layout has that page.
unsafe fn part(message: *const u8, page: u32) -> *const u8 {
    if page == 0 {
        return message;
    }
    // SAFETY: a message begins with the pointer to its cold part, which has a pointer for every page.
    unsafe {
        let cold = message.cast::<*const u8>().read();
        if cold.is_null() { cold } else { cold.add(PAGES + 8 * (page as usize - 1)).cast::<*const u8>().read() }
    }
}
