//! The process-wide part.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Instant;

use protojit_core::limits::Limits;
use protojit_core::program::Sabotage;
use protojit_core::program::SharedPrograms;
use protojit_core::schema::model::FieldDef;
use protojit_core::schema::{Schema as Descriptors, SchemaLimits};

use crate::engine::{CompileMode, Cpu, Engine, Fallback};
use crate::schema::{RegisterError, Schema, SchemaInner};
use crate::shadow::{Disagreement, Hook};
use crate::trace::Trace;

/// The default size of the machine-code arena: room for some 2,000 separately compiled message types.
pub const DEFAULT_CODE_ARENA: usize = 128 << 20;

/// The process-wide part: engine choice, machine-code arena, limits, trace. Cheap to clone.
///
/// ```
/// use protojit::{Engine, Runtime};
/// let runtime = Runtime::builder().engine(Engine::Interp).build();
/// assert_eq!(runtime.engine(), Engine::Interp);
/// ```
#[derive(Clone, Debug)]
pub struct Runtime {
    pub(crate) inner: Arc<RuntimeInner>,
}

#[derive(Debug)]
pub(crate) struct RuntimeInner {
    pub(crate) options: RuntimeBuilder,
    schemas: Mutex<Schemas>,
    failures: Mutex<BTreeMap<&'static str, u64>>,
    /// Equal messages of several schemas have one program, and one compiled function.
    pub(crate) programs: Arc<SharedPrograms>,
    #[cfg(feature = "jit")]
    pub(crate) decode_code: Arc<crate::code_cache::SharedCode<protojit_core::program::DecodeProgram>>,
    #[cfg(feature = "jit")]
    pub(crate) encode_code: Arc<crate::code_cache::SharedCode<protojit_core::program::EncodeProgram>>,
    #[cfg(feature = "jit")]
    pub(crate) background: crate::background::Background,
    #[cfg(feature = "jit")]
    compiler: OnceLock<Result<protojit_jit::compile::Compiler, Fallback>>,
    #[cfg(not(feature = "jit"))]
    no_compiler: OnceLock<Fallback>,
}

/// The schemas that were registered and may still be alive.
#[derive(Debug, Default)]
struct Schemas {
    all: Vec<Registered>,
    /// At how many the dropped ones are looked for: twice as many as were left the last time.
    full: usize,
}

/// A schema that may still be alive, by the length and hash of its descriptor set.
#[derive(Debug)]
struct Registered {
    set: (usize, u64),
    schema: Weak<SchemaInner>,
}

/// Settings of a [`Runtime`].
#[derive(Clone, Debug)]
pub struct RuntimeBuilder {
    pub(crate) engine: Engine,
    pub(crate) mode: CompileMode,
    pub(crate) code_arena: usize,
    pub(crate) limits: Limits,
    pub(crate) schema_limits: SchemaLimits,
    pub(crate) cpu: Cpu,
    pub(crate) verify: bool,
    pub(crate) field_bound: Option<usize>,
    pub(crate) refuse: Option<fn(&FieldDef) -> bool>,
    pub(crate) instrument: bool,
    pub(crate) perf_map: bool,
    #[cfg(feature = "jit")]
    pub(crate) faults: protojit_jit::mcode::FaultPlan,
    pub(crate) sabotage: Option<fn(&FieldDef) -> Sabotage>,
    pub(crate) shadow: u32,
    pub(crate) on_disagreement: Option<Hook>,
}

impl Default for RuntimeBuilder {
    fn default() -> Self {
        RuntimeBuilder {
            engine: Engine::Auto,
            mode: CompileMode::Eager,
            code_arena: DEFAULT_CODE_ARENA,
            limits: Limits::default(),
            schema_limits: SchemaLimits::default(),
            cpu: Cpu::Host,
            verify: cfg!(debug_assertions),
            field_bound: None,
            refuse: None,
            instrument: false,
            perf_map: false,
            #[cfg(feature = "jit")]
            faults: Default::default(),
            sabotage: None,
            shadow: 0,
            on_disagreement: None,
        }
    }
}

impl RuntimeBuilder {
    /// The engine; default [`Engine::Auto`].
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// When message types are compiled (see [`Schema::messages`] for several at once); default [`CompileMode::Eager`].
    #[must_use]
    pub fn compile_mode(mut self, mode: CompileMode) -> Self {
        self.mode = mode;
        self
    }

    /// Bytes reserved for machine code; default 128 MiB. Reserving costs addresses, not memory.
    #[must_use]
    pub fn code_arena(mut self, bytes: usize) -> Self {
        self.code_arena = bytes;
        self
    }

    /// Bounds of each decode and encode.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Bounds of descriptor sets.
    #[must_use]
    pub fn schema_limits(mut self, limits: SchemaLimits) -> Self {
        self.schema_limits = limits;
        self
    }

    /// Which of the processor's features compiled code uses; default all.
    #[must_use]
    pub fn cpu(mut self, cpu: Cpu) -> Self {
        self.cpu = cpu;
        self
    }

    /// Runs Cranelift's verifier on compiled functions; default only with debug assertions.
    #[must_use]
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Messages with more fields than this are interpreted; default 4,096.
    #[must_use]
    pub fn max_compiled_fields(mut self, fields: usize) -> Self {
        self.field_bound = Some(fields);
        self
    }

    /// Counts where compiled code leaves its fast path, by field and reason: see
    /// [`ProgramTrace::slow_exits`](crate::ProgramTrace::slow_exits). Code is larger and slower for it; default off.
    #[must_use]
    pub fn instrument(mut self, instrument: bool) -> Self {
        self.instrument = instrument;
        self
    }

    /// Shadow mode: one record in so many that compiled code serves, on the average, goes through the interpreter as well,
    /// and what they make of it is compared. 0, the default, switches it off; the trace counts what was compared
    /// ([`ProgramTrace::shadowed_calls`](crate::ProgramTrace::shadowed_calls)).
    #[must_use]
    pub fn shadow(mut self, one_in: u32) -> Self {
        self.shadow = one_in;
        self
    }

    /// Is called with each record that the engines disagree about, whether shadow mode found it or an error of compiled code that the
    /// interpreter does not confirm. It runs on the thread that decodes or encodes, before the result is returned.
    ///
    /// ```
    /// use protojit::Runtime;
    /// let runtime = Runtime::builder()
    ///     .shadow(1000)
    ///     .on_disagreement(|found| eprintln!("{found}; please report it: {:?}", found.input))
    ///     .build();
    /// ```
    #[must_use]
    pub fn on_disagreement(mut self, hook: impl Fn(&Disagreement) + Send + Sync + 'static) -> Self {
        self.on_disagreement = Some(Hook(Arc::new(hook)));
        self
    }

    /// Compiles such fields wrongly: for tests of what finds that.
    #[doc(hidden)]
    #[must_use]
    pub fn sabotage_fields(mut self, sabotage: fn(&FieldDef) -> Sabotage) -> Self {
        self.sabotage = Some(sabotage);
        self
    }

    /// Interprets messages that have such a field, as if the compiler did not know the construct: for tests of gates.
    #[doc(hidden)]
    #[must_use]
    pub fn refuse_fields(mut self, refuse: fn(&FieldDef) -> bool) -> Self {
        self.refuse = Some(refuse);
        self
    }

    /// Writes the names of compiled functions to `/tmp/perf-PID.map`, by which Linux' `perf` names samples; default no.
    /// Where the file cannot be opened there is a warning, and no map.
    #[must_use]
    pub fn perf_map(mut self, write: bool) -> Self {
        self.perf_map = write;
        self
    }

    /// Lets steps of the machine-code arena fail: for tests of what happens then.
    #[cfg(feature = "jit")]
    #[doc(hidden)]
    #[must_use]
    pub fn arena_faults(mut self, plan: protojit_jit::mcode::FaultPlan) -> Self {
        self.faults = plan;
        self
    }

    /// The runtime. Never fails: where no code can be compiled, messages are interpreted and the trace says why.
    pub fn build(self) -> Runtime {
        Runtime {
            inner: Arc::new(RuntimeInner {
                options: self,
                schemas: Mutex::default(),
                failures: Mutex::default(),
                programs: Arc::default(),
                #[cfg(feature = "jit")]
                decode_code: Arc::default(),
                #[cfg(feature = "jit")]
                encode_code: Arc::default(),
                #[cfg(feature = "jit")]
                background: Default::default(),
                #[cfg(feature = "jit")]
                compiler: OnceLock::new(),
                #[cfg(not(feature = "jit"))]
                no_compiler: OnceLock::new(),
            }),
        }
    }
}

impl Default for Runtime {
    fn default() -> Self {
        Runtime::new()
    }
}

impl Runtime {
    /// A runtime with default settings.
    pub fn new() -> Runtime {
        Runtime::builder().build()
    }

    /// Settings to start from.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// A runtime that obeys the environment, so that operators can switch compilation off without a new build: `PROTOJIT_ENGINE`
    /// (`auto`, `jit`, `interp`), `PROTOJIT_CPU` (`host`, `baseline`), `PROTOJIT_INSTRUMENT` and `PROTOJIT_PERF_MAP` (`1`, `0`),
    /// `PROTOJIT_SHADOW` (N for one record in N). An unknown value counts as the default, with a warning.
    pub fn from_env() -> Runtime {
        let mut builder = Runtime::builder();
        if let Some(value) = std::env::var_os("PROTOJIT_SHADOW") {
            match value.to_str().and_then(|value| value.parse().ok()) {
                Some(one_in) => builder.shadow = one_in,
                None => tracing::warn!(?value, "PROTOJIT_SHADOW is ignored: expected a number, N for one record in N"),
            }
        }
        let switches = [("PROTOJIT_INSTRUMENT", &mut builder.instrument), ("PROTOJIT_PERF_MAP", &mut builder.perf_map)];
        for (name, switch) in switches {
            match std::env::var_os(name).as_deref().map(|value| value.to_str()) {
                Some(Some("1")) => *switch = true,
                None | Some(Some("0" | "")) => {}
                Some(value) => tracing::warn!(?value, "{name} is ignored: expected 1 or 0"),
            }
        }
        if let Some(value) = std::env::var_os("PROTOJIT_CPU") {
            match value.to_string_lossy().parse() {
                Ok(cpu) => builder.cpu = cpu,
                Err(error) => tracing::warn!(%error, "PROTOJIT_CPU is ignored"),
            }
        }
        if let Some(value) = std::env::var_os("PROTOJIT_ENGINE") {
            match value.to_string_lossy().parse() {
                Ok(engine) => builder.engine = engine,
                Err(error) => tracing::warn!(%error, "PROTOJIT_ENGINE is ignored"),
            }
        }
        builder.build()
    }

    /// The engine choice.
    pub fn engine(&self) -> Engine {
        self.inner.options.engine
    }

    /// The bounds of each decode and encode.
    pub fn limits(&self) -> &Limits {
        &self.inner.options.limits
    }

    /// Registers a serialized `FileDescriptorSet`. Links it; message types are compiled when they are asked for.
    ///
    /// A set that is registered already, byte for byte, gives the same schema again. Schemas that differ share the programs and
    /// the code of the messages that are the same in both, with all that those reach: versions of a schema cost what
    /// is new in them. What reaches `google.protobuf.Any` is not shared. [`MessageRef::schema`](crate::MessageRef::schema)
    /// of a shared message is the schema which came first.
    ///
    /// # Errors
    /// The bytes are no valid descriptor set.
    pub fn register(&self, descriptor_set: &[u8]) -> Result<Schema, RegisterError> {
        let set = fingerprint(descriptor_set);
        if let Some(schema) = self.registered(set, descriptor_set) {
            return Ok(schema);
        }
        let started = Instant::now();
        let descriptors = Descriptors::from_descriptor_set_with(descriptor_set, &self.inner.options.schema_limits)?;
        Ok(self.add(set, descriptors, started))
    }

    /// Registers descriptors that are linked already.
    pub fn register_descriptors(&self, descriptors: Descriptors) -> Schema {
        self.add(fingerprint(&descriptors.data().raw), descriptors, Instant::now())
    }

    fn add(&self, set: (usize, u64), descriptors: Descriptors, started: Instant) -> Schema {
        let time = started.elapsed();
        let (messages, bytes) = (descriptors.data().messages.len(), descriptors.data().raw.len());
        tracing::debug!(messages, bytes, micros = time.as_micros() as u64, "a schema was registered");
        let schema = Schema::new(self.clone(), descriptors, time);
        let mut schemas = self.inner.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if schemas.all.len() >= schemas.full {
            schemas.all.retain(|registered| registered.schema.strong_count() > 0);
            schemas.full = (schemas.all.len() * 2).max(8);
        }
        schemas.all.push(Registered { set, schema: Arc::downgrade(schema.inner()) });
        schema
    }

    fn registered(&self, set: (usize, u64), bytes: &[u8]) -> Option<Schema> {
        let schemas = self.inner.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        let candidates = schemas.all.iter().filter(|registered| registered.set == set);
        let candidates: Vec<_> = candidates.filter_map(|registered| registered.schema.upgrade()).collect();
        // A schema whose last handle this turns out to be takes its time to drop.
        drop(schemas);
        candidates.into_iter().find(|schema| *schema.descriptors.data().raw == *bytes).map(Schema::from_inner)
    }

    /// What was compiled, how large it is, which engine ran, and why not where it did not.
    pub fn trace(&self) -> Trace {
        Trace::collect(self)
    }

    pub(crate) fn live_schemas(&self) -> Vec<Arc<SchemaInner>> {
        let schemas = self.inner.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        schemas.all.iter().filter_map(|registered| registered.schema.upgrade()).collect()
    }
}

fn fingerprint(set: &[u8]) -> (usize, u64) {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(set);
    (set.len(), hasher.finish())
}

impl RuntimeInner {
    /// How often programs could not be compiled, by reason.
    pub(crate) fn failures(&self) -> BTreeMap<&'static str, u64> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(feature = "jit")]
impl RuntimeInner {
    /// Counts a program that could not be compiled. The first of each reason is a warning.
    pub(crate) fn count_failure(&self, reason: &'static str, detail: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(reason).or_default();
        *count += 1;
        let first = *count == 1;
        drop(failures);
        match first {
            true => tracing::warn!(reason, detail, "messages are interpreted; later ones of this reason are counted"),
            false => tracing::debug!(reason, detail, "a message is interpreted"),
        }
    }

    /// The compiler, made on first use, or why there is none.
    pub(crate) fn compiler(&self) -> Result<&protojit_jit::compile::Compiler, &Fallback> {
        self.compiler.get_or_init(|| self.make_compiler()).as_ref()
    }

    /// The compiler if one was made already.
    pub(crate) fn existing_compiler(&self) -> Option<Result<&protojit_jit::compile::Compiler, &Fallback>> {
        self.compiler.get().map(Result::as_ref)
    }

    fn make_compiler(&self) -> Result<protojit_jit::compile::Compiler, Fallback> {
        let options = &self.options;
        if options.engine == Engine::Interp {
            let detail = "the engine is set to interp".to_owned();
            return Err(Fallback { reason: "engine-off", detail });
        }
        let tested = cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));
        if options.engine == Engine::Auto && !tested {
            let detail = "compiled code was never run on this platform; set the engine to jit to try it".to_owned();
            return Err(Fallback { reason: "platform-untested", detail });
        }
        let make = || -> Result<_, protojit_jit::JitError> {
            let arena =
                protojit_jit::mcode::ArenaOptions::new(options.code_arena).faults(options.faults.clone()).reserve()?;
            let compiler = protojit_jit::compile::Compiler::for_cpu(options.cpu.of_compiler(), arena, options.verify)?;
            let compiler = match options.perf_map.then(protojit_jit::perf::PerfMap::open) {
                Some(Ok(map)) => compiler.with_perf_map(map),
                Some(Err(error)) => {
                    tracing::warn!(%error, "no perf map is written");
                    compiler
                }
                None => compiler,
            };
            let compiler = match options.field_bound {
                Some(bound) => compiler.with_field_bound(bound),
                None => compiler,
            };
            let compiler = match options.refuse {
                Some(refuse) => compiler.with_refused_fields(refuse),
                None => compiler,
            };
            let compiler = match options.sabotage {
                Some(sabotage) => compiler.with_sabotaged_fields(sabotage),
                None => compiler,
            };
            Ok(if options.instrument { compiler.instrumented() } else { compiler })
        };
        make().map_err(|error| Fallback { reason: error.reason(), detail: error.to_string() })
    }
}

#[cfg(not(feature = "jit"))]
impl RuntimeInner {
    /// Why nothing is compiled.
    pub(crate) fn no_compiler(&self) -> &Fallback {
        self.no_compiler.get_or_init(|| Fallback {
            reason: "not-built-in",
            detail: "protojit was built without its `jit` feature".to_owned(),
        })
    }
}
