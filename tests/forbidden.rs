//! Where the system forbids executable memory: kernel filters, each in a process of its own.

#![cfg(all(feature = "jit", target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::collections::BTreeMap;
use std::process::Command;

use protojit::{Arena, Engine, Runtime};
use protojit_testing::many;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter_all_threads,
};

/// Set in the processes that install a filter.
const CHILD: &str = "PROTOJIT_TEST_CHILD";

/// From here on, asking for executable memory meets `action`. `false` where the kernel has no filters.
fn forbid(action: SeccompAction) -> bool {
    let executable = libc::PROT_EXEC as u64;
    let asks = |call: libc::c_long| {
        let condition =
            SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(executable), executable).unwrap();
        (call, vec![SeccompRule::new(vec![condition]).unwrap()])
    };
    let rules: BTreeMap<_, _> = [libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_pkey_mprotect].map(asks).into();
    let arch = if cfg!(target_arch = "x86_64") { TargetArch::x86_64 } else { TargetArch::aarch64 };
    let filter: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).unwrap().try_into().unwrap();
    apply_filter_all_threads(&filter).is_ok()
}

/// Asks for executable memory itself.
fn ask() -> bool {
    // SAFETY: a new mapping that nobody uses.
    let map = unsafe {
        let access = libc::PROT_READ | libc::PROT_EXEC;
        libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    };
    map != libc::MAP_FAILED
}

fn decode(runtime: &Runtime) {
    let schema = runtime.register(&many::version(0)).unwrap();
    let ty = schema.message("order.Order").unwrap();
    let arena = Arena::new();
    let message = ty.decode(&[0x08, 7, 0x12, 1, b'x'], &arena).unwrap();
    assert_eq!(ty.encode_to_vec(message).unwrap(), [0x08, 7, 0x12, 1, b'x']);
}

/// What the processes do.
fn child(name: &str) {
    let action = if name == "refused" { SeccompAction::Errno(libc::EACCES as u32) } else { SeccompAction::KillProcess };
    if !forbid(action) {
        println!("no filters here");
        return;
    }
    println!("filtered");
    match name {
        "refused" => {
            assert!(!ask());
            let runtime = Runtime::builder().engine(Engine::Jit).build();
            decode(&runtime);
            let trace = runtime.trace();
            assert!(trace.programs.iter().all(|row| row.reason == Some("arena-seal")), "{trace:?}");
            assert!(trace.failures["arena-seal"] > 0);
        }
        "killed" => {
            ask();
        }
        "compiled" => decode(&Runtime::builder().engine(Engine::Jit).build()),
        "interp" => decode(&Runtime::builder().engine(Engine::Interp).build()),
        "environment" => {
            let runtime = Runtime::from_env();
            assert_eq!(runtime.engine(), Engine::Interp);
            decode(&runtime);
        }
        other => panic!("{other}"),
    }
    println!("survived");
}

/// Whether the process came to its end; `None` where the kernel has no filters.
fn survives(name: &str) -> Option<bool> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "executable_memory_is_asked_for_by_compiled_code_only", "--nocapture"]);
    let output = command.env(CHILD, name).env("PROTOJIT_ENGINE", "interp").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if text.contains("no filters here") {
        return None;
    }
    assert!(text.contains("filtered"), "{name}: {output:?}");
    Some(text.contains("survived") && output.status.success())
}

#[test]
fn executable_memory_is_asked_for_by_compiled_code_only() {
    if let Ok(name) = std::env::var(CHILD) {
        return child(&name);
    }
    let Some(killed) = survives("killed") else {
        println!("skipped: this kernel (or emulator) has no filters");
        return;
    };
    assert!(!killed, "the filter kills who asks");
    assert_eq!(survives("compiled"), Some(false), "compiled code asks");
    assert_eq!(survives("interp"), Some(true));
    assert_eq!(survives("environment"), Some(true));
    assert_eq!(survives("refused"), Some(true));
}
