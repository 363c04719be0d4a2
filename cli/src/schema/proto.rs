//! Compiles `.proto` files.
//!
//! With `-I`, the directories given are where files and imports are found, as with `protoc`; a file outside all of
//! them is found by its own directory. Without `-I` the root of the tree is guessed: the directory of the (first)
//! file, and where an import is not found below it, the next one above, and so on. A file has one name in each try, so
//! that a file that is both given and imported is never compiled twice.

use std::fs;
use std::path::{Component, Path, PathBuf, absolute};

use protojit_source::{ProtoSources, SourceError, SourceErrorKind};

use super::source::Proto;
use crate::failure::{Failure, Outcome};

/// A serialized `FileDescriptorSet` with all imports, and the names of the files that were given.
#[derive(Debug)]
pub struct Compiled {
    pub set: Vec<u8>,
    pub names: Vec<String>,
}

/// One way to compile: where imports are looked for, and what the files given are called there.
#[derive(Clone, Debug)]
struct Plan {
    roots: Vec<PathBuf>,
    names: Vec<String>,
}

/// Compiles `protos`, which may import what is in `set`.
pub fn compile(protos: &[Proto], includes: &[PathBuf], set: &[u8]) -> Outcome<Compiled> {
    let mut first = None;
    for plan in plans(protos, includes) {
        match compile_by(&plan, protos, set) {
            Ok(set) => return Ok(Compiled { set, names: plan.names }),
            // Another root may have the file.
            Err(error) if error.kind() == SourceErrorKind::NotFound => drop(first.get_or_insert(error.to_string())),
            Err(error) => return Err(Failure::Usage(error.to_string())),
        }
    }
    Err(Failure::Usage(first.unwrap_or_default()))
}

fn compile_by(plan: &Plan, protos: &[Proto], set: &[u8]) -> Result<Vec<u8>, SourceError> {
    let mut sources = ProtoSources::new().descriptor_set(set);
    for root in &plan.roots {
        sources = sources.include(root);
    }
    for (name, proto) in plan.names.iter().zip(protos).rev() {
        sources = sources.file(name, &*proto.text);
    }
    sources.compile(&plan.names)
}

/// The ways to compile these files, best first.
fn plans(protos: &[Proto], includes: &[PathBuf]) -> Vec<Plan> {
    if !includes.is_empty() {
        return vec![plan(protos, includes)];
    }
    let own = directory(&protos[0].path);
    let mut plans: Vec<Plan> = Vec::new();
    for root in own.ancestors() {
        plans.push(plan(protos, &[root.to_owned()]));
    }
    plans
}

/// Names the files by the first root that they are below, else by their own directory.
fn plan(protos: &[Proto], includes: &[PathBuf]) -> Plan {
    let mut plan = Plan { roots: includes.to_vec(), names: Vec::new() };
    for proto in protos {
        let below = includes.iter().find_map(|root| name_below(root, &proto.path));
        let name = below.unwrap_or_else(|| {
            let own = directory(&proto.path);
            if !plan.roots.contains(&own) {
                plan.roots.push(own);
            }
            proto.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
        });
        plan.names.push(name);
    }
    plan
}

/// The name that imports give to a file below this root, if it is: as the paths are spelled, else as they are.
fn name_below(root: &Path, file: &Path) -> Option<String> {
    let name = |root: &Path, file: &Path| {
        let below = file.strip_prefix(root).ok()?;
        let parts: Option<Vec<_>> = below
            .components()
            .map(|part| match part {
                Component::Normal(part) => Some(part.to_string_lossy()),
                _ => None,
            })
            .collect();
        Some(parts?.join("/")).filter(|name| !name.is_empty())
    };
    let spelled = || name(&absolute(root).ok()?, &absolute(file).ok()?);
    let real = || name(&fs::canonicalize(root).ok()?, &directory(file).join(file.file_name()?));
    spelled().or_else(real)
}

/// The directory of a file, free of links and dots where it exists.
fn directory(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::canonicalize(parent).or_else(|_| absolute(parent)).unwrap_or_else(|_| parent.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let below = |root: &str, file: &str| name_below(Path::new(root), Path::new(file));
        assert_eq!(below("/a", "/a/b/c.proto").as_deref(), Some("b/c.proto"));
        assert_eq!(below(".", "src/c.proto").as_deref(), Some("src/c.proto"));
        assert_eq!(below("src", "src/../src/c.proto").as_deref(), Some("c.proto"));
        assert_eq!(below("/a", "/b/c.proto"), None);
        assert_eq!(below("/a/c.proto", "/a/c.proto"), None);
    }

    #[test]
    fn compiles_with_imports_above() {
        let dir = std::env::temp_dir().join(format!("protojit-proto-{}", std::process::id()));
        fs::create_dir_all(dir.join("acme/order")).unwrap();
        fs::create_dir_all(dir.join("acme/common")).unwrap();
        fs::write(dir.join("acme/common/money.proto"), "syntax = \"proto3\"; package acme; message Money {}").unwrap();
        let text = "syntax = \"proto3\"; package acme; import \"acme/common/money.proto\"; \
                    import \"google/protobuf/any.proto\"; message Order { Money total = 1; google.protobuf.Any any = 2; }";
        let order = Proto { path: dir.join("acme/order/order.proto"), text: text.to_owned() };
        let compiled = compile(std::slice::from_ref(&order), &[], &[]).unwrap();
        assert_eq!(compiled.names, ["acme/order/order.proto"]);
        let error = compile(std::slice::from_ref(&order), &[dir.join("acme/order")], &[]).unwrap_err();
        assert!(format!("{error:?}").contains("order.proto:1:"), "{error:?}");
        fs::remove_dir_all(dir).unwrap();
    }
}
