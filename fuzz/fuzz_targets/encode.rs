#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protojit_testing::bodies::encode(data));
