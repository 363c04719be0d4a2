//! Hands files that use editions to `protoc`: the compiler built in does not read them.

use std::collections::HashMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{SourceError, SourceErrorKind};
use crate::google::google_set;
use crate::resolve::{Found, is_valid_name};
use crate::scan::imports;
use crate::sources::ProtoSources;

/// Compiles the files of these names. `file` is the one that made it necessary.
pub(crate) fn compile(sources: &ProtoSources, names: &[String], file: &str) -> Result<Vec<u8>, SourceError> {
    let protoc = sources.protoc.clone().or_else(find).ok_or_else(|| {
        SourceError::new(
            SourceErrorKind::NoProtoc,
            format!(
                "{file}: the file uses editions, which only protoc compiles, and there is none: name one in the \
                 environment variable PROTOC or put it on the PATH, or give a descriptor set \
                 (protoc --include_imports --descriptor_set_out=schema.binpb {file}) instead"
            ),
        )
    })?;
    let scratch = Scratch::new().map_err(|error| io_error("no temporary directory", &error))?;
    let files = Files::collect(sources, names, &scratch)?;
    match run(&protoc, sources, &files, &sources.set, &scratch) {
        // Some come without Google's files.
        Err(error) if error.kind() == SourceErrorKind::NotFound && error.to_string().contains("google/protobuf/") => {
            run(&protoc, sources, &files, &[&sources.set[..], &google_set()].concat(), &scratch)
        }
        ran => ran,
    }
}

/// Runs the compiler once.
fn run(
    protoc: &Path,
    sources: &ProtoSources,
    files: &Files,
    set: &[u8],
    scratch: &Scratch,
) -> Result<Vec<u8>, SourceError> {
    let name = protoc.file_name().unwrap_or(protoc.as_os_str()).display();
    let output = scratch.0.join("out.binpb");
    let mut command = Command::new(protoc);
    command.arg("--include_imports").arg(flag("--descriptor_set_out=", &output));
    for directory in files.written.iter().chain(&sources.includes) {
        command.arg(flag("--proto_path=", directory));
    }
    if !set.is_empty() {
        let given = scratch.0.join("in.binpb");
        fs::write(&given, set).map_err(|error| io_error(given.display(), &error))?;
        command.arg(flag("--descriptor_set_in=", &given));
    }
    let ran = command.args(&files.given).stdin(Stdio::null()).stdout(Stdio::null()).output();
    let failed = |what: String| SourceError::new(SourceErrorKind::Protoc, what);
    let ran = ran.map_err(|error| failed(format!("{}: {error}", protoc.display())))?;
    if ran.status.success() {
        return fs::read(&output).map_err(|error| failed(format!("{name}: it wrote no output: {error}")));
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let kind = match said.trim() {
        "" => return Err(failed(format!("{name}: it failed"))),
        said if said.contains("File not found") => SourceErrorKind::NotFound,
        _ => SourceErrorKind::Invalid,
    };
    Err(SourceError::new(kind, format!("{name}: {}", said.trim())))
}

/// The files as `protoc` finds them.
struct Files {
    /// What it is given on its command line.
    given: Vec<PathBuf>,
    /// The directory with the files that were in memory, if any were.
    written: Option<PathBuf>,
}

impl Files {
    /// Writes what is in memory, and what the closure gives for imports, into the temporary directory. A file in memory
    /// that is the same as the one in its place on the disk is left there: messages then name what people know.
    fn collect(sources: &ProtoSources, names: &[String], scratch: &Scratch) -> Result<Files, SourceError> {
        let directory = scratch.0.join("files");
        let mut written = None;
        let mut places: HashMap<String, PathBuf> = HashMap::new();
        let mut open: Vec<String> = names.to_vec();
        while let Some(name) = open.pop() {
            if places.contains_key(&name) || !is_valid_name(&name) {
                continue;
            }
            let Some(found) = sources.find(&name)? else { continue };
            open.extend(imports(found.text()));
            let place = match &found {
                Found::Directory(path, _) => Some(path.clone()),
                Found::Memory(text) => {
                    // What lies in a directory but cannot be read is not the same.
                    let there = sources.find_in_directories(&name).ok().flatten();
                    there.filter(|(_, other)| other == text).map(|(path, _)| path)
                }
                Found::Closure(_) => None,
            };
            let place = match place {
                Some(place) => place,
                None => {
                    let place = directory.join(&name);
                    let parent = place.parent().unwrap_or(&directory);
                    let write = fs::create_dir_all(parent).and_then(|()| fs::write(&place, found.text()));
                    write.map_err(|error| io_error(place.display(), &error))?;
                    written = Some(directory.clone());
                    place
                }
            };
            places.insert(name, place);
        }
        // Those not found are in a descriptor set, or else for protoc to complain about.
        let given = names.iter().map(|name| places.get(name).cloned().unwrap_or_else(|| name.into())).collect();
        Ok(Files { given, written })
    }
}

/// The compiler: what `PROTOC` names, else the first `protoc` on the `PATH`.
fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("PROTOC").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let name = format!("protoc{}", env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH")?;
    let mut directories = env::split_paths(&path).filter(|directory| !directory.as_os_str().is_empty());
    directories.find_map(|directory| Some(directory.join(&name)).filter(|path| path.is_file()))
}

fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push::<&OsStr>(path.as_ref());
    flag
}

fn io_error(place: impl std::fmt::Display, error: &io::Error) -> SourceError {
    SourceError::new(SourceErrorKind::Io, format!("{place}: {error}"))
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
