//! A family as the built component, under the host's engine, limits and checks.

mod convert;
mod optional;
mod text;

use std::path::Path;

use gatehouse_runtime::{ComponentRunner, Limits};
use gatehouse_sdk::{Accepted, Context, Event, Refusal, Step, Submission, TaskView};
use serde_json::Value;

use crate::machine::Machine;
use crate::script::Script;

pub use text::TextPlay;

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

impl From<ComponentRunner> for Component {
    fn from(runner: ComponentRunner) -> Self {
        Self { runner }
    }
}

impl Script {
    /// Runs it with the built component, under the host's limits.
    ///
    /// # Panics
    /// As [`Script::run_native`].
    pub fn run_component(&self, component: &Component) {
        self.run(component);
    }

    /// The same for callers that go on after a failure.
    ///
    /// # Errors
    /// The line's number and place, what was expected and what came.
    pub fn play_component(&self, component: &Component) -> Result<(), String> {
        self.play(component)
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

    fn view(&self, cx: &Context, surface: &str, view: &TaskView) -> Result<Value, String> {
        let came = self
            .runner
            .view(convert::context(cx), surface.to_owned(), convert::task_view(view))
            .map_err(|fault| fault.to_string())?;
        serde_json::from_str(&came).map_err(|error| format!("the view is not JSON: {error}"))
    }
}
