//! A family as the built component, under the host's engine, limits and checks.

use std::path::Path;

use gatehouse_runtime::{ComponentRunner, Limits};
use gatehouse_sdk::{Accepted, Context, Event, Refusal, Step, Submission};

use crate::convert;
use crate::machine::Machine;

/// A component ready to run scripts. Loading it also runs its self-tests.
///
/// ```no_run
/// use std::sync::LazyLock;
/// use gatehouse_testkit::Component;
///
/// static COMPONENT: LazyLock<Component> = LazyLock::new(|| Component::build(env!("CARGO_MANIFEST_DIR")));
/// ```
pub struct Component {
    runner: ComponentRunner,
}

impl Component {
    /// Builds the plugin crate in `crate_dir` for wasm and loads it under the default limits.
    ///
    /// # Panics
    /// When it does not build, or a step of loading refuses it; the reason is in the message.
    #[must_use]
    pub fn build(crate_dir: &str) -> Self {
        let inside = std::env::current_exe().expect("a running test knows its own executable");
        let target_dir = gatehouse_build::plugins_target_dir(&inside);
        match gatehouse_build::build_plugin(Path::new(crate_dir), &target_dir) {
            Ok(path) => Self::read(&path),
            Err(error) => panic!("{error}"),
        }
    }

    /// Loads a component's file under the default limits.
    ///
    /// # Panics
    /// When it cannot be read, or a step of loading refuses it.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        match std::fs::read(path) {
            Ok(wasm) => Self::load(&wasm, Limits::default()),
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }

    /// Loads a component under `limits`.
    ///
    /// # Panics
    /// When a step of loading refuses it.
    #[must_use]
    pub fn load(wasm: &[u8], limits: Limits) -> Self {
        match ComponentRunner::load(wasm, limits) {
            Ok(runner) => Self { runner },
            Err(error) => panic!("the component does not load: {error}"),
        }
    }

    /// The manifest's family.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.runner.about().family
    }
}

impl Component {
    pub(crate) fn runner(&self) -> &ComponentRunner {
        &self.runner
    }
}

impl Machine for Component {
    fn submit(
        &self,
        cx: &Context,
        request: &Submission,
    ) -> Result<Result<Accepted<Vec<u8>>, Refusal>, String> {
        self.runner
            .submit(convert::context(cx), convert::submission(request))
            .map(|verdict| verdict.map(convert::accepted).map_err(convert::refusal))
            .map_err(|fault| fault.to_string())
    }

    fn advance(&self, cx: &Context, state: &[u8], event: &Event) -> Result<Step<Vec<u8>>, String> {
        self.runner
            .advance(convert::context(cx), state.to_vec(), convert::event(event))
            .map(convert::step)
            .map_err(|fault| fault.to_string())
    }
}
