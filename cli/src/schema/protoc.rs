//! Hands files that use editions to `protoc`: the compiler built in does not read them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::proto::{Plan, Problem};
use super::source::Proto;

/// Compiles by the plan. `file` is the one that made it necessary.
pub fn compile(plan: &Plan, protos: &[Proto], set: &[u8], file: &str) -> Result<Vec<u8>, Problem> {
    let protoc = find().ok_or_else(|| {
        Problem::Other(format!(
            "{file}: the file uses editions, which only protoc compiles, and there is none: name one in the \
             environment variable PROTOC or put it on the PATH, or give a descriptor set \
             (protoc --include_imports --descriptor_set_out=schema.binpb {file}) instead"
        ))
    })?;
    match run(&protoc, plan, protos, set) {
        // Some come without Google's files.
        Err(Problem::NotFound(what)) if what.contains("google/protobuf/") => {
            run(&protoc, plan, protos, &[set, &super::set::well_known()].concat())
        }
        ran => ran,
    }
}

/// Runs the compiler once.
fn run(protoc: &Path, plan: &Plan, protos: &[Proto], set: &[u8]) -> Result<Vec<u8>, Problem> {
    let name = protoc.file_name().unwrap_or(protoc.as_os_str()).display();
    let scratch = Scratch::new().map_err(|error| Problem::Other(format!("no temporary directory: {error}")))?;
    let output = scratch.0.join("out.binpb");
    let mut command = Command::new(protoc);
    command.arg("--include_imports").arg(flag("--descriptor_set_out=", &output));
    for root in &plan.roots {
        command.arg(flag("--proto_path=", root));
    }
    if !set.is_empty() {
        let given = scratch.0.join("in.binpb");
        fs::write(&given, set).map_err(|error| Problem::Other(format!("{}: {error}", given.display())))?;
        command.arg(flag("--descriptor_set_in=", &given));
    }
    for (name, proto) in plan.names.iter().zip(protos) {
        // protoc compares spellings: it must be able to see that the file lies below the root.
        let below = plan.roots.iter().map(|root| root.join(name)).find(|path| path.is_file());
        command.arg(below.as_ref().unwrap_or(&proto.path));
    }
    let ran = command.stdin(Stdio::null()).stdout(Stdio::null()).output();
    let ran = ran.map_err(|error| Problem::Other(format!("{}: {error}", protoc.display())))?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        let what = format!("{name}: {}", if said.is_empty() { "it failed" } else { said.trim() });
        return Err(if said.contains("File not found") { Problem::NotFound(what) } else { Problem::Other(what) });
    }
    fs::read(&output).map_err(|error| Problem::Other(format!("{name}: it wrote no output: {error}")))
}

/// The compiler: what `PROTOC` names, else the first `protoc` on the `PATH`.
fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("PROTOC").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let name = format!("protoc{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(&name)).find(|path| path.is_file())
}

fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push::<&OsStr>(path.as_ref());
    flag
}

/// A directory of our own, gone when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Scratch> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        loop {
            let name = format!("protojit-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = env::temp_dir().join(name);
            match builder.create(&path) {
                Ok(()) => return Ok(Scratch(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
