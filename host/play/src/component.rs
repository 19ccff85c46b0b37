//! A family as the built component, under the host's engine, limits and checks.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use gatehouse_runtime::{ComponentRunner, Config, Half};
use gatehouse_sdk::{
    Accepted, Answered, Bulk, Call, Chunk, Context, DirectRequest, Event, Failure, Plan, Prepared, Refusal,
    Reply, Response, Sse, Step, Submission, TaskView, TextFailure, TextRequest, Views,
};
use gatehouse_testkit::{Declared, DialectMachine, DirectMachine, Machine, Played};
use serde_json::Value;

use crate::convert;

/// Where compiled code is kept below a user's cache, by commands and tests alike.
pub const CODE: &str = "gatehouse/code";

/// A component ready to run scripts. Loading it also runs its self-tests.
///
/// ```no_run
/// use std::sync::LazyLock;
/// use gatehouse_play::Component;
///
/// static COMPONENT: LazyLock<Component> = LazyLock::new(|| Component::build(env!("CARGO_MANIFEST_DIR")));
/// ```
pub struct Component {
    pub(crate) runner: ComponentRunner,
}

impl Component {
    /// Builds the plugin crate in `crate_dir` for wasm and loads it under the default limits. What is compiled is kept
    /// beside what is built: in the place of a user whose cache is `plugins/cache` below the target folder.
    ///
    /// # Panics
    /// When it does not build, or a step of loading refuses it; the reason is in the message.
    #[must_use]
    pub fn build(crate_dir: &str) -> Self {
        let inside = std::env::current_exe().expect("a running test knows its own executable");
        let target_dir = gatehouse_build::plugins_target_dir(&inside);
        let built = gatehouse_build::build_plugin(Path::new(crate_dir), &target_dir);
        let path = built.unwrap_or_else(|error| panic!("{error}"));
        let wasm = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let code = target_dir.join("cache").join(CODE);
        match ComponentRunner::load_with(&wasm, &Config::new(PathBuf::new()), Some(&code)) {
            Ok(runner) => Self { runner },
            Err(error) => panic!("the component does not load: {error}"),
        }
    }

    /// The manifest's family.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.runner.about().family
    }

    /// Renders a task.
    ///
    /// # Panics
    /// When the component breaks, or returns anything else than the native family.
    #[must_use]
    pub fn view<F: Views>(&self, cx: &Context, surface: &str, view: &TaskView) -> Value {
        agreed(Machine::view(self, cx, surface, view), &F::view(cx, surface, view.clone()))
    }

    /// Makes one call of several.
    ///
    /// # Panics
    /// As [`Component::view`].
    #[must_use]
    pub fn merge<F: Bulk>(&self, cx: &Context, key: &str, items: &[String]) -> Call {
        agreed(Machine::merge(self, cx, key, items), &F::merge(cx, key, items))
    }

    /// Reads the reply to a merged call.
    ///
    /// # Panics
    /// As [`Component::view`].
    #[must_use]
    pub fn split<F: Bulk>(
        &self,
        cx: &Context,
        key: &str,
        items: &[String],
        reply: &Reply,
    ) -> Vec<Option<Reply>> {
        agreed(Machine::split(self, cx, key, items, reply), &F::split(cx, key, items, reply.clone()))
    }
}

impl From<ComponentRunner> for Component {
    fn from(runner: ComponentRunner) -> Self {
        Self { runner }
    }
}

impl Machine for Component {
    fn declared(&self) -> Declared {
        let about = self.runner.about();
        let surfaces = about.surfaces.iter().map(|surface| surface.name.clone());
        Declared { surfaces: surfaces.collect(), reads_state: about.reads_state.clone() }
    }

    fn submit(&self, cx: &Context, request: &Submission) -> Played<Result<Accepted<Vec<u8>>, Refusal>> {
        let verdict =
            self.runner.submit(convert::context(cx)?, convert::submission(request)?).map_err(broke)?;
        Ok(verdict.map(convert::accepted).map_err(convert::refusal))
    }

    fn advance(&self, cx: &Context, state: &[u8], event: &Event) -> Played<Step<Vec<u8>>> {
        let step = self.runner.advance(convert::context(cx)?, state.to_vec(), convert::event(event)?);
        step.map(convert::step).map_err(broke)
    }

    fn migrate(&self, from: u32, state: &[u8]) -> Played<Result<Vec<u8>, String>> {
        self.runner.migrate(from, state.to_vec()).map_err(broke)
    }

    fn view(&self, cx: &Context, surface: &str, view: &TaskView) -> Played<Value> {
        let came = self.runner.view(convert::context(cx)?, surface.to_owned(), convert::task_view(view)?);
        Ok(convert::read(&came.map_err(broke)?))
    }

    fn merge(&self, cx: &Context, key: &str, items: &[String]) -> Played<Call> {
        let came = self.runner.merge(convert::context(cx)?, key.to_owned(), items.to_vec());
        came.map(convert::call).map_err(broke)
    }

    fn split(&self, cx: &Context, key: &str, items: &[String], reply: &Reply) -> Played<Vec<Option<Reply>>> {
        let reply = convert::same_shape(reply);
        let came = self.runner.split(convert::context(cx)?, key.to_owned(), items.to_vec(), reply);
        came.map(|came| came.into_iter().map(|reply| reply.map(convert::reply)).collect()).map_err(broke)
    }

    fn prepare(&self, cx: &Context, request: &TextRequest) -> Played<Result<Prepared<Vec<u8>>, Refusal>> {
        let came =
            self.runner.prepare(convert::context(cx)?, convert::text_request(request)).map_err(broke)?;
        Ok(came.map(convert::prepared).map_err(convert::refusal))
    }

    fn dialect(&self) -> Played<&dyn DialectMachine> {
        Ok(self)
    }

    fn direct(&self) -> Played<&dyn DirectMachine> {
        Ok(self)
    }

    fn answer(&self, cx: &Context, state: &[u8], reply: &Reply) -> Played<Result<Answered, TextFailure>> {
        let reply = convert::same_shape(reply);
        let came = self.runner.answer(convert::context(cx)?, state.to_vec(), reply).map_err(broke)?;
        Ok(came.map(convert::answered).map_err(|failure| convert::same_shape(&failure)))
    }

    fn relay(
        &self,
        cx: &Context,
        state: &[u8],
        batches: &[Vec<Sse>],
    ) -> Played<Vec<Result<Chunk, TextFailure>>> {
        let batches = convert::same_shape(&batches);
        let came =
            self.runner.relay(Half::Text, convert::context(cx)?, state.to_vec(), batches).map_err(broke)?;
        let answer = |answer: Result<_, _>| {
            answer.map(convert::chunk).map_err(|failure| convert::same_shape(&failure))
        };
        Ok(came.into_iter().map(answer).collect())
    }
}

pub(crate) fn broke(fault: gatehouse_runtime::Fault) -> String {
    fault.to_string()
}

/// The answer of a component that must not break, and equal the native family's.
pub(crate) fn agreed<T: PartialEq + Debug>(came: Played<T>, native: &T) -> T {
    let came = came.unwrap_or_else(|fault| panic!("the component broke: {fault}"));
    assert_eq!(&came, native, "component and native family differ");
    came
}

impl DirectMachine for Component {
    fn plan(&self, cx: &Context, request: &DirectRequest) -> Played<Result<Plan<Vec<u8>>, Refusal>> {
        let came =
            self.runner.plan(convert::context(cx)?, convert::direct_request(request)).map_err(broke)?;
        Ok(came.map(convert::plan).map_err(convert::refusal))
    }

    fn respond(&self, cx: &Context, state: &[u8], reply: &Reply) -> Played<Result<Response, Failure>> {
        let reply = convert::same_shape(reply);
        let came = self.runner.respond(convert::context(cx)?, state.to_vec(), reply).map_err(broke)?;
        Ok(came.map(convert::response).map_err(|failure| convert::same_shape(&failure)))
    }
}
