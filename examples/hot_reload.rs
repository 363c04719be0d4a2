//! A schema is replaced while threads decode: each of them sees the old one or the new one, and takes no lock.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use protojit::{Arena, Registry, Runtime, Schema};
use protojit_source::ProtoSources;

fn version(runtime: &Runtime, number: u32) -> Result<Schema, Box<dyn Error>> {
    let text = format!("syntax = \"proto3\"; message Config {{ string text = 1; int32 version_{number} = 2; }}");
    let set = ProtoSources::new().file("config.proto", text).compile(["config.proto"])?;
    Ok(runtime.register(&set)?)
}

/// Runs the example; the tests do, too.
pub fn main() -> Result<(), Box<dyn Error>> {
    let (runtime, registry) = (Runtime::from_env(), Registry::new());
    registry.replace("config", version(&runtime, 1)?);
    let (done, decoded) = (AtomicBool::new(false), AtomicUsize::new(0));

    std::thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let work = || {
            let mut arena = Arena::new();
            while !done.load(Ordering::Relaxed) {
                // Held for some messages: what it stands for stays as it is meanwhile.
                let config =
                    registry.get("config").and_then(|schema| schema.message("Config").ok()).expect("it is there");
                for _ in 0..100 {
                    let m = config.decode(b"\x0a\x02ok\x10\x07", &arena).expect("it is valid in every version");
                    assert_eq!(m.get_by_name("text").and_then(|text| text.as_str()).expect("a field"), "ok");
                    decoded.fetch_add(1, Ordering::Relaxed);
                    arena.reset();
                }
            }
        };
        let readers = [scope.spawn(work), scope.spawn(work)];
        let replaced = (2..=10).try_for_each(|number| {
            let before = decoded.load(Ordering::Relaxed);
            registry.replace("config", version(&runtime, number)?);
            while decoded.load(Ordering::Relaxed) < before + 300 {
                std::thread::yield_now();
            }
            Ok(())
        });
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().map_err(|_| "a reader panicked")?;
        }
        replaced
    })?;

    let now = registry.get("config").ok_or("it is there")?.message("Config")?;
    assert!(now.shape().i32("version_10").is_ok());
    println!("{} messages decoded while 9 versions came and went", decoded.load(Ordering::Relaxed));
    Ok(())
}
