//! A family that answers at once, as scripts call it, and the same as plain Rust with the host's rules.

use std::marker::PhantomData;

use gatehouse_sdk::{
    About, Context, Direct, DirectRequest, Failure, Plan, Refusal, Reply, Response, RouteUse, run,
};

use crate::machine::{Declared, Machine, Played, declared};
use crate::rules;

/// A family that answers at once, behind the contract.
pub trait DirectMachine {
    /// Checks and translates a request.
    fn plan(&self, cx: &Context, request: &DirectRequest) -> Played<Result<Plan<Vec<u8>>, Refusal>>;

    /// Makes the client's answer of the provider's, unless that passes.
    fn respond(&self, cx: &Context, state: &[u8], reply: &Reply) -> Played<Result<Response, Failure>>;
}

/// A family that answers at once, as plain Rust.
pub(crate) struct NativeDirect<F> {
    about: About,
    family: PhantomData<F>,
}

impl<F: Direct> NativeDirect<F> {
    pub(crate) fn new() -> Self {
        Self { about: F::about(), family: PhantomData }
    }
}

impl<F: Direct> Machine for NativeDirect<F> {
    fn declared(&self) -> Declared {
        declared(&self.about, &[])
    }

    fn direct(&self) -> Played<&dyn DirectMachine> {
        Ok(self)
    }
}

impl<F: Direct> DirectMachine for NativeDirect<F> {
    fn plan(&self, cx: &Context, request: &DirectRequest) -> Played<Result<Plan<Vec<u8>>, Refusal>> {
        let verdict = run::plan::<F>(cx, request.clone());
        if let Ok(plan) = &verdict {
            let is_of_surface = |route: &gatehouse_sdk::HttpRoute| {
                route.surface == request.surface && route.does == RouteUse::Read
            };
            rules::plan(&self.about, self.about.routes.iter().any(is_of_surface), plan)?;
        }
        Ok(verdict.map_err(rules::told))
    }

    fn respond(&self, cx: &Context, state: &[u8], reply: &Reply) -> Played<Result<Response, Failure>> {
        let answer = run::respond::<F>(cx, state, reply.clone());
        if let Ok(response) = &answer {
            rules::response(&self.about, response)?;
        }
        Ok(answer)
    }
}
