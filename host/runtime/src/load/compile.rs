//! Stage two: machine code, made by us, kept by content, never taken from outside.
//!
//! Compilation runs aside, one at a time, on an engine that is thrown away. The result is a file named by
//! the component's digest and by everything in the engine that code depends on; the file is mapped, so it is
//! never rewritten. Code is trusted only when its own digest, kept beside it, still fits.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use gatehouse_model::Digest;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::{StageError, chain};
use crate::engine;
use crate::shelf::Shelf;

/// Compiles components and finds those compiled before.
pub(crate) struct Compiler {
    serving: Engine,
    shelf: Arc<Shelf>,
    /// Names the engine that code fits.
    fits: String,
    gate: Mutex<()>,
}

impl Compiler {
    pub(crate) fn new(serving: Engine, shelf: Arc<Shelf>) -> Self {
        let mut hasher = DefaultHasher::new();
        serving.precompile_compatibility_hash().hash(&mut hasher);
        let fits = format!("{:016x}", hasher.finish());
        Self { serving, shelf, fits, gate: Mutex::new(()) }
    }

    /// The code of an earlier compilation, if it is there, whole and for this engine.
    pub(crate) fn find(&self, digest: &Digest) -> Option<Component> {
        let path = self.shelf.code(digest, &self.fits)?;
        map(&self.serving, &path)
            .inspect_err(
                |error| tracing::warn!(%digest, error = chain(error), "kept plugin code is unusable"),
            )
            .ok()
    }

    /// The component's code, compiled now unless it is there; whether it was compiled now.
    pub(crate) fn compile(&self, digest: &Digest, wasm: &[u8]) -> Result<(Component, bool), StageError> {
        let _one_at_a_time = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(component) = self.find(digest) {
            return Ok((component, false));
        }
        let code = translate(wasm)?;
        let path = self
            .shelf
            .keep_code(digest, &self.fits, &code)
            .map_err(|error| StageError::Compile(format!("the code could not be kept: {error}")))?;
        let component = map(&self.serving, &path).map_err(|error| StageError::Compile(chain(&error)))?;
        Ok((component, true))
    }
}

fn translate(wasm: &[u8]) -> Result<Vec<u8>, StageError> {
    // Bytes made to upset a compiler must not upset the host.
    catch_unwind(|| engine::compiling().and_then(|engine| engine.precompile_component(wasm)))
        .map_err(|_| StageError::Compile("the compiler gave up on this component".to_owned()))?
        .map_err(|error| StageError::Compile(chain(&error)))
}

#[expect(unsafe_code, reason = "deserialize_file trusts its file; see the safety argument")]
fn map(serving: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the shelf only names files that hold what `precompile_component` returned (their digest,
    // taken from memory when they were written, has just been compared), in a folder closed to other
    // users, and it never rewrites a file in place.
    unsafe { Component::deserialize_file(serving, path) }
}
