//! What the processor can do.
#![cfg(all(target_arch = "x86_64", not(miri)))]

use std::arch::x86_64::__cpuid;
use std::sync::atomic::{AtomicU8, Ordering};

/// Whether the processor has `pext` and `pdep` in hardware. AMD's before Zen 3 take some twenty cycles and more for them.
#[inline]
pub(crate) fn has_fast_bit_gather() -> bool {
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let fast = detect();
            KNOWN.store(1 + u8::from(fast), Ordering::Relaxed);
            fast
        }
        known => known == 2,
    }
}

#[cold]
#[allow(unused_unsafe, reason = "`__cpuid` is no longer unsafe in newer compilers")]
fn detect() -> bool {
    use std::is_x86_feature_detected as has;
    if !(has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")) {
        return false;
    }
    // SAFETY: a processor with BMI2 has the instruction, and both leaves.
    let (vendor, signature) = unsafe { (__cpuid(0), __cpuid(1).eax) };
    let amd = [vendor.ebx, vendor.edx, vendor.ecx] == [0x6874_7541, 0x6974_6e65, 0x444d_4163];
    let family = (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
    !amd || family >= 0x19
}
