//! Runs the command.
#![allow(dead_code, reason = "each test uses its part")]

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;

/// A file under `examples/`.
pub fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

/// A run of the command to be.
pub struct Run {
    command: Command,
    input: Vec<u8>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Run {
    /// With these arguments, and none of the environment that it obeys.
    pub fn new<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_protojit"));
        command.args(args);
        for name in ["PROTOJIT_ENGINE", "PROTOC", "COLUMNS", "NO_COLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        Run { command, input: Vec::new() }
    }

    /// `decode -s examples/hello.proto -m hello.Person` and the like.
    pub fn hello(way: &str) -> Run {
        Run::new([way, "-m", "hello.Person", "-s"]).arg(example("hello.proto"))
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Run {
        self.command.arg(arg);
        self
    }

    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Run {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Run {
        self.command.env(name, value);
        self
    }

    pub fn dir(mut self, dir: impl AsRef<std::path::Path>) -> Run {
        self.command.current_dir(dir);
        self
    }

    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Run {
        self.input = input.into();
        self
    }

    /// The command itself, for tests that need more.
    pub fn into_command(self) -> Command {
        self.command
    }

    /// Runs it.
    pub fn run(mut self) -> Ended {
        let command = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let mut stdin = child.stdin.take().expect("it has an input");
        let input = self.input;
        // It may end without reading all of it.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
        writer.join().expect("nothing panics");
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        assert!(!stderr.contains("panicked"), "{stderr}");
        Ended { code: status.code().unwrap_or(-1), stdout, stderr }
    }

    /// Runs it, and gives its output if all went well and nothing was said.
    #[track_caller]
    pub fn ok(self) -> Vec<u8> {
        let ended = self.run();
        assert_eq!((ended.code, &*ended.stderr), (0, ""), "stdout: {}", String::from_utf8_lossy(&ended.stdout));
        ended.stdout
    }

    /// Runs it, and gives the one line that it says when it ends with this code.
    #[track_caller]
    pub fn fails(self, code: i32) -> String {
        let ended = self.run();
        assert_eq!(ended.code, code, "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        let line = ended.stderr.strip_prefix("error: ").expect("it begins so").trim_end();
        line.to_owned()
    }
}

/// A directory of its own for one test, gone when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("there is room");
        Scratch(path)
    }

    pub fn path(&self) -> &std::path::Path {
        &self.0
    }

    /// A file in it.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("there is room");
        }
        std::fs::write(&path, content).expect("there is room");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
