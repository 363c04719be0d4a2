//! Memory between two unmapped pages.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use memmap2::{MmapMut, MmapOptions};
use protojit_core::memory::{Arena, ChunkSource};
use region::Protection;

/// What fills memory that nobody has written to: no valid tag, no text, no small number.
const POISON: u8 = 0xd7;

/// Some pages between two that are not mapped.
#[derive(Debug)]
pub struct Guarded {
    map: MmapMut,
    page: usize,
}

impl Guarded {
    /// Room for at least `bytes`.
    pub fn new(bytes: usize) -> Guarded {
        let page = region::page::size();
        let room = bytes.max(1).next_multiple_of(page);
        let mut map = MmapOptions::new().len(room + 2 * page).map_anon().expect("memory can be mapped");
        map.fill(POISON);
        let guarded = Guarded { map, page };
        for at in [0, page + room] {
            // SAFETY: whole pages of this mapping, which nobody reads or writes from now on.
            unsafe { region::protect(guarded.map.as_ptr().add(at), page, Protection::NONE) }
                .expect("pages can be protected");
        }
        guarded
    }

    /// Bytes between the unmapped pages.
    pub fn room(&self) -> usize {
        self.map.len() - 2 * self.page
    }

    fn begin(&mut self) -> *mut u8 {
        let page = self.page;
        self.map.as_mut_ptr().wrapping_add(page)
    }

    /// The last `len` bytes.
    pub fn tail(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.room());
        let at = self.begin().wrapping_add(self.room() - len);
        // SAFETY: inside the readable and writable part of the mapping.
        unsafe { std::slice::from_raw_parts_mut(at, len) }
    }

    /// The first `len` bytes.
    pub fn head(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.room());
        // SAFETY: inside the readable and writable part of the mapping.
        unsafe { std::slice::from_raw_parts_mut(self.begin(), len) }
    }

    /// `bytes` directly before the unmapped page.
    pub fn at_end(&mut self, bytes: &[u8]) -> &[u8] {
        let place = self.tail(bytes.len());
        place.copy_from_slice(bytes);
        place
    }

    /// `bytes` directly behind the unmapped page, poison behind them.
    pub fn at_start(&mut self, bytes: &[u8]) -> &[u8] {
        let behind = (bytes.len() + 64).min(self.room());
        let place = self.head(behind);
        let (place, rest) = place.split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        rest.fill(POISON);
        place
    }
}

/// How large the chunks of a guarded arena are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkSize {
    /// At least so many bytes.
    pub least: usize,
    /// They end at an unmapped page; else they begin at one.
    pub at_end: bool,
}

/// Pages to be used again, by their size. Mapping costs more than most decodes.
#[derive(Clone, Default, Debug)]
pub struct Pool(Arc<Mutex<HashMap<usize, Vec<Guarded>>>>);

impl Pool {
    /// An empty pool.
    pub fn new() -> Pool {
        Pool::default()
    }

    fn take(&self, bytes: usize) -> Guarded {
        let room = bytes.next_multiple_of(region::page::size());
        let found = self.0.lock().unwrap().entry(room).or_default().pop();
        found.unwrap_or_else(|| Guarded::new(room))
    }

    fn put(&self, guarded: Guarded) {
        self.0.lock().unwrap().entry(guarded.room()).or_default().push(guarded);
    }

    /// An arena whose chunks lie between unmapped pages, are as small as can be, and hold poison at first.
    pub fn arena(&self, limit: usize, size: ChunkSize) -> Arena {
        Arena::with_chunk_source(limit, Chunks { pool: self.clone(), size, taken: HashMap::new() })
    }
}

struct Chunks {
    pool: Pool,
    size: ChunkSize,
    taken: HashMap<usize, Guarded>,
}

// SAFETY: every chunk is a part of a mapping of its own, kept until it is given back. Sizes are multiples of eight, and
// so are both ends of a page.
unsafe impl ChunkSource for Chunks {
    fn take(&mut self, least: usize, wanted: usize) -> Option<NonNull<[u8]>> {
        let size = least.max(self.size.least.next_multiple_of(8)).min(wanted.max(least));
        let mut guarded = self.pool.take(size);
        let chunk = if self.size.at_end { guarded.tail(size) } else { guarded.head(size) };
        chunk.fill(POISON);
        let chunk = NonNull::from(chunk);
        self.taken.insert(chunk.cast::<u8>().addr().get(), guarded);
        Some(chunk)
    }

    fn give_back(&mut self, chunk: NonNull<[u8]>) {
        let guarded = self.taken.remove(&chunk.cast::<u8>().addr().get()).expect("the chunk came from here");
        self.pool.put(guarded);
    }
}
