//! What the arena tells about itself.

/// The arena's figures at one moment. All sizes are bytes.
///
/// The first group describes the present, the second counts since the arena was
/// reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McodeStats {
    /// Size of the address range.
    pub reserved: usize,
    /// Size of a chunk, the unit in which the range is handed out.
    pub chunk_size: usize,
    /// Page size of the running system.
    pub page_size: usize,
    /// Bytes in chunks that units hold, or that could not be taken back.
    pub in_use: usize,
    /// The largest that `in_use` has been.
    pub high_water: usize,
    /// Length of the longest run of free chunks.
    pub largest_free: usize,
    /// Bytes in chunks that the operating system refused to make inaccessible. They
    /// are taken back when room is short and it relents.
    pub quarantined: usize,
    /// Sealed units that are still alive.
    pub live_units: usize,
    /// Bytes of machine code in live units, alignment included.
    pub code_bytes: usize,
    /// Bytes of data objects in live units.
    pub data_bytes: usize,

    /// Units sealed.
    pub units_sealed: u64,
    /// Units that ended without being sealed: compilation or sealing failed.
    pub units_abandoned: u64,
    /// Ranges for which the instruction cache was cleared before sealing.
    pub ranges_cleared: u64,
    /// Ranges made executable.
    pub ranges_sealed: u64,
    /// Sealed ranges that a pipeline flush followed. Equal to `ranges_sealed`, unless
    /// a flush failed, and then the unit with it.
    pub ranges_flushed: u64,
    /// Pipeline flushes; one covers all ranges of a unit.
    pub flushes: u64,
    /// Runs of chunks made inaccessible and given back.
    pub runs_returned: u64,
    /// Returned runs whose memory the operating system did not take back.
    pub decommit_failures: u64,
}
