//! Stage three: machine code, compiled here, kept by content, never accepted from outside.
//!
//! So many compilations as the configuration says run at once, each on an engine of its own, in a gateway each in a process of
//! its own (`compile_process`). The result is a file, named by the component's digest and by everything in the engine that the
//! code depends on. The file is mapped, so it is never rewritten. Code is loaded only when its own digest, kept beside it, still
//! fits.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{UnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use gatehouse_model::Digest;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::config::Config;
use crate::exec::{engine, lock};
use crate::fault::panic_text;
use crate::stages::report::{StageError, causes};
use crate::store::packaged::PackagedCode;
use crate::store::plugin_store::PluginStore;

/// Compiles components and finds the code of those compiled before.
pub(crate) struct Compiler {
    serving: Engine,
    store: Arc<PluginStore>,
    /// Names the engine that the code fits.
    engine_hash: String,
    /// Code that came with the program, and the name of the engine that it was compiled by.
    packaged: Option<(PackagedCode, String)>,
    compilations: Compilations,
}

/// Which components are compiled now: each by one thread, and no more than `most`.
struct Compilations {
    most: usize,
    under_way: Mutex<BTreeSet<Digest>>,
    ended: Condvar,
}

/// One of them, until it is dropped.
struct Compilation<'a> {
    all: &'a Compilations,
    digest: Digest,
}

impl Compilations {
    fn new(most: usize) -> Self {
        Self { most: most.max(1), under_way: Mutex::default(), ended: Condvar::new() }
    }

    /// Waits until that component may be compiled.
    fn begin(&self, digest: Digest) -> Compilation<'_> {
        let waits = |others: &mut BTreeSet<Digest>| others.len() >= self.most || others.contains(&digest);
        let waited = self.ended.wait_while(lock(&self.under_way), waits);
        waited.unwrap_or_else(PoisonError::into_inner).insert(digest);
        Compilation { all: self, digest }
    }
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        lock(&self.all.under_way).remove(&self.digest);
        self.all.ended.notify_all();
    }
}

impl Compiler {
    pub(crate) fn new(
        serving: Engine,
        store: Arc<PluginStore>,
        most: usize,
        packaged: Option<PackagedCode>,
    ) -> Self {
        let engine_hash = name_of(&serving);
        let packaged = packaged.and_then(|code| Some((code, name_of(&engine::packaging().ok()?))));
        Self { serving, store, engine_hash, packaged, compilations: Compilations::new(most) }
    }

    /// The code of an earlier compilation, here or for the program's package, if it exists, is whole and fits this engine.
    pub(crate) fn find(&self, digest: &Digest) -> Option<Component> {
        let packaged = || self.packaged.as_ref().and_then(|(packaged, engine)| packaged.code(digest, engine));
        let path = self.store.code(digest, &self.engine_hash).or_else(packaged)?;
        map(&self.serving, &path)
            .inspect_err(
                |error| tracing::warn!(%digest, error = causes(error), "kept plugin code is unusable"),
            )
            .ok()
    }

    /// Whether a file is there that [`Compiler::find`] would read, whole or not.
    pub(crate) fn has_code(&self, digest: &Digest) -> bool {
        let packaged = self.packaged.as_ref();
        self.store.has_code(digest, &self.engine_hash)
            || packaged.is_some_and(|(packaged, engine)| packaged.has_code(digest, engine))
    }

    /// The component's code, kept or compiled now; `true` when it was compiled now.
    pub(crate) fn compile(
        &self,
        digest: &Digest,
        wasm: &[u8],
        config: &Config,
    ) -> Result<(Component, bool), StageError> {
        let _compilation = self.compilations.begin(*digest);
        if let Some(component) = self.find(digest) {
            return Ok((component, false));
        }
        let code = match &config.compiler_process {
            Some(process) => process.compile(wasm, config.compiler)?,
            None => precompile(wasm).map_err(StageError::Compile)?,
        };
        let path = self
            .store
            .keep_code(digest, &self.engine_hash, &code)
            .map_err(|error| StageError::Compile(format!("the code could not be kept: {error}")))?;
        let component = map(&self.serving, &path).map_err(|error| StageError::Compile(causes(&error)))?;
        Ok((component, true))
    }
}

/// What tells engines apart whose code does not fit the other.
fn name_of(engine: &Engine) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Compiles a component for the folder `dir` of a package.
pub fn package_code(dir: &Path, wasm: &[u8]) -> Result<(), String> {
    let engine = engine::packaging().map_err(|error| causes(&error))?;
    let compile = || engine.precompile_component(wasm);
    let code = catch_compiler_panic(std::panic::AssertUnwindSafe(compile))
        .map_err(|why| StageError::Compile(why).to_string())?;
    PackagedCode::write(dir, &Digest::of(wasm), &name_of(&engine), &code).map_err(|error| error.to_string())
}

/// Machine code of a component, made in this process.
pub fn precompile(wasm: &[u8]) -> Result<Vec<u8>, String> {
    catch_compiler_panic(|| engine::compiling().and_then(|engine| engine.precompile_component(wasm)))
}

/// A component may make the compiler panic; the host must go on.
fn catch_compiler_panic(
    compile: impl FnOnce() -> wasmtime::Result<Vec<u8>> + UnwindSafe,
) -> Result<Vec<u8>, String> {
    match catch_unwind(compile) {
        Ok(compiled) => compiled.map_err(|error| causes(&error)),
        Err(panic) => Err(format!("the compiler panicked on this component: {}", panic_text(&*panic))),
    }
}

#[expect(unsafe_code, reason = "deserialize_file trusts its file; see the safety argument")]
fn map(serving: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the plugin store only names files that hold what `precompile_component` returned (their digest,
    // taken from memory when they were written, has just been compared), in a folder closed to other
    // users, and it never rewrites a file in place. Packaged code is the same of a folder that those alone can write to who
    // can replace this program (`store/packaged.rs`), and packages replace files by new ones.
    unsafe { Component::deserialize_file(serving, path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Were they compiled one after the other, the last family of a first start would wait for all others; were one compiled
    /// twice, the second would take its time for nothing.
    #[test]
    fn so_many_components_are_compiled_at_once_and_none_of_them_twice() {
        let compilations = Compilations::new(2);
        let [first, second] = [b"a", b"b"].map(|bytes| Digest::of(bytes));
        let held = [compilations.begin(first), compilations.begin(second)];
        let began = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for digest in [first, Digest::of(b"c")] {
                let (compilations, began) = (&compilations, began.0.clone());
                scope.spawn(move || {
                    let _compilation = compilations.begin(digest);
                    began.send(digest).unwrap();
                });
            }
            let [one, other] = held;
            drop(other);
            assert_eq!(began.1.recv().unwrap(), Digest::of(b"c"), "the first one is compiled already");
            drop(one);
            assert_eq!(began.1.recv().unwrap(), first);
        });
        assert!(lock(&compilations.under_way).is_empty());
    }

    #[test]
    fn a_compiler_panic_is_reported_with_its_text() {
        let check = |compile: fn() -> wasmtime::Result<Vec<u8>>, expected: &str| {
            assert_eq!(catch_compiler_panic(compile).unwrap_err(), expected);
        };
        check(|| panic!("literal"), "the compiler panicked on this component: literal");
        let formatted = "the compiler panicked on this component: unexpected type 7";
        check(|| panic!("unexpected type {}", std::hint::black_box(7)), formatted);
        let silent = "the compiler panicked on this component: no message";
        check(|| std::panic::panic_any(7_u8), silent);
        check(|| Err(wasmtime::Error::msg("not a component")), "not a component");
    }
}
