//! Bounds on what a descriptor set may hold.
//!
//! Descriptors come from registries and from the network, and two bytes of them can ask
//! for some hundred bytes of linked schema. Every growing thing therefore has a bound
//! here, checked before memory is taken; linking takes time linear in what was accepted
//! (times a logarithm for sorting).

/// Bounds on what a descriptor set may hold.
///
/// The defaults are far above what real schemas need. Lower them where descriptors come
/// from strangers.
///
/// ```
/// use protojit_core::schema::{Schema, SchemaLimits};
///
/// let mut limits = SchemaLimits::default();
/// limits.max_bytes = 16;
/// assert!(Schema::from_descriptor_set_with(vec![0; 17], &limits).is_err());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// Size of the serialized set: 64 MiB. Never above 2 GiB, whatever is set here.
    pub max_bytes: usize,
    /// Files in the set: 20,000.
    pub max_files: usize,
    /// Messages, nested ones and map entries included: 500,000.
    pub max_messages: usize,
    /// Fields and extensions of all messages together: 2,000,000.
    pub max_fields_total: usize,
    /// Declared fields of one message, and likewise its known extensions: 65,535.
    pub max_fields_per_message: usize,
    /// Everything else that can be counted (imports, enums and their values, oneofs,
    /// ranges, reserved names, services, methods): 2,000,000.
    pub max_items_total: usize,
    /// Depth to which messages are nested in their declarations: 64.
    pub max_nesting_depth: usize,
    /// Length of one full name: 4,096 bytes.
    pub max_name_bytes: usize,
    /// Bytes of all full names together (fields aside), those tried while relative names
    /// are searched included: 256 MiB.
    pub max_names_total_bytes: usize,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            max_bytes: 64 << 20,
            max_files: 20_000,
            max_messages: 500_000,
            max_fields_total: 2_000_000,
            max_fields_per_message: 65_535,
            max_items_total: 2_000_000,
            max_nesting_depth: 64,
            max_name_bytes: 4096,
            max_names_total_bytes: 256 << 20,
        }
    }
}
