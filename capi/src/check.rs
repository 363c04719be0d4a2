//! Checks the strings of messages that others built by layout: every other rule that an encoder keeps it keeps itself, but that strings are
//! UTF-8 it takes for granted, since decoders and setters see to it.

use crate::layout::{PJ_NONE, PjCell, PjField, PjKind, PjListCell, PjMapCell, PjPresence, PjStringCell};

/// Offset of a message's pointer to its cold part, and of the page pointers in that.
const PAGES: usize = 16;

/// What of a message is looked at: positions in the layout's fields. Empty where neither it nor what it reaches has strings to check.
pub(crate) struct Plan {
    fields: Vec<u32>,
}

/// A string that is not UTF-8: positions of fields in their layouts, the innermost first.
pub(crate) struct NotUtf8(pub(crate) Vec<(u32, u32)>);

impl Plan {
    /// The plans of layouts that refer to each other by position.
    pub(crate) fn of_all(layouts: &[Box<[PjField]>]) -> Vec<Plan> {
        // Which layouts reach a string: from those that have one backwards to those that refer to them.
        let mut parents: Vec<Vec<usize>> = layouts.iter().map(|_| Vec::new()).collect();
        for (at, fields) in layouts.iter().enumerate() {
            for field in fields.iter().filter(|field| field.child != PJ_NONE) {
                parents[field.child as usize].push(at);
            }
        }
        let mut reaches: Vec<bool> = layouts.iter().map(|fields| fields.iter().any(has_utf8)).collect();
        let mut open: Vec<usize> = (0..layouts.len()).filter(|&at| reaches[at]).collect();
        while let Some(at) = open.pop() {
            for &parent in &parents[at] {
                if !std::mem::replace(&mut reaches[parent], true) {
                    open.push(parent);
                }
            }
        }
        let looked_at = |field: &PjField| has_utf8(field) || field.child != PJ_NONE && reaches[field.child as usize];
        let plan =
            |fields: &[PjField]| (0..).zip(fields).filter(|(_, field)| looked_at(field)).map(|(at, _)| at).collect();
        layouts.iter().map(|fields| Plan { fields: plan(fields) }).collect()
    }
}

fn has_utf8(field: &PjField) -> bool {
    field.utf8 != 0 && (field.kind == PjKind::String as u32 || field.key_kind == PjKind::String as u32)
}

/// Checks a message of the layout `layout`, `depth` levels deep at most: encoders refuse what is deeper.
///
/// # Safety
/// `message` is a live message of that layout, which nobody changes meanwhile; `plans` belong to `layouts`.
pub(crate) unsafe fn strings(
    plans: &[Plan],
    layouts: &[crate::layout::PjLayout],
    layout: u32,
    message: *const u8,
    depth: u32,
) -> Result<(), NotUtf8> {
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
        if let Err(NotUtf8(mut path)) = found {
            path.push((layout, at));
            return Err(NotUtf8(path));
        }
    }
    Ok(())
}

/// # Safety
/// As [`strings`]; `cell` is the cell of this field.
unsafe fn one_field(
    plans: &[Plan],
    layouts: &[crate::layout::PjLayout],
    field: &PjField,
    cell: *const u8,
    depth: u32,
) -> Result<(), NotUtf8> {
    let child = |message: *const u8| match (field.child, depth) {
        (PJ_NONE, _) | (_, 0) => Ok(()),
        _ if message.is_null() => Ok(()),
        // SAFETY: a message of the child's layout, as promised to this function.
        (layout, depth) => unsafe { strings(plans, layouts, layout, message, depth - 1) },
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
unsafe fn utf8(cell: *const u8) -> Result<(), NotUtf8> {
    // SAFETY: as promised to this function.
    let bytes = unsafe {
        let cell = cell.cast::<PjStringCell>().read();
        if cell.len == 0 {
            return Ok(());
        }
        std::slice::from_raw_parts(cell.data, cell.len as usize)
    };
    if std::str::from_utf8(bytes).is_ok() { Ok(()) } else { Err(NotUtf8(Vec::new())) }
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
