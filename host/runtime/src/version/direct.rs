//! A version's calls for requests that are answered while the client waits. Checks the size of each input and the rules of
//! each answer. Never makes a provider's call, never counts money.

use gatehouse_contract::{MAX_FRESH_S, MAX_PASSES, MIME_BYTES, is_mime};
use gatehouse_model::{
    Context, DirectPlan, DirectRequest, DirectResponse, Exchange, Failure, Replay, Reply, RouteUse,
};

use crate::abi_v1::exports::Callee;
use crate::exec::answer_rules::{self, AT_MOST};
use crate::fault::Fault;
use crate::version::loaded::{REPLY, REQUEST, Verdict, Version};

impl Version {
    /// Prepares a request.
    pub(crate) fn prepare_direct(
        &self,
        cx: &Context,
        request: DirectRequest,
        budget_ms: u32,
    ) -> Verdict<DirectPlan> {
        let (bytes, reads) = (request.body.len(), self.reads(&request.surface));
        self.check_input(REQUEST, bytes, self.limits().input())?;
        let prepare = |callee: &mut Callee<'_>| callee.prepare_direct(cx, request);
        let plan = self.call_for_input(REQUEST, bytes, budget_ms, prepare)?;
        if let Ok(plan) = &plan {
            self.check_plan(plan, reads)?;
        }
        Ok(plan.map_err(answer_rules::refusal))
    }

    /// Translates an answer.
    pub(crate) fn answer_direct(
        &self,
        cx: &Context,
        state: &[u8],
        reply: Reply,
    ) -> Result<Result<DirectResponse, Failure>, Fault> {
        let (bytes, budget) = (self.check_reply(&reply)?, self.limits().call_ms.get());
        let answer = |callee: &mut Callee<'_>| callee.answer_direct(cx, state, reply);
        let mut answer = self.call_for_input(REPLY, bytes, budget, answer)?;
        match &mut answer {
            Ok(response) => self.check_response(response)?,
            Err(failure) => answer_rules::trim(&mut failure.message),
        }
        Ok(answer)
    }

    /// Whether requests on `surface` change nothing; all of its routes do the same.
    fn reads(&self, surface: &str) -> bool {
        self.about().routes.iter().any(|route| route.surface == surface && route.does == RouteUse::Read)
    }

    fn check_plan(&self, plan: &DirectPlan, reads: bool) -> Result<(), Fault> {
        let exchange: &Exchange = match plan {
            DirectPlan::Call(exchange) => exchange,
            DirectPlan::Respond(response) if response.settle.is_some() => {
                return Err(Fault::bad("settle", "an answer without a call is free"));
            }
            DirectPlan::Respond(response) => return self.check_response(response),
        };
        // A request that reads may be made again and again, and so may its call.
        if reads && exchange.charge.is_some() {
            return Err(Fault::bad("charge", "a surface that reads is free"));
        }
        if reads && exchange.call.replay != Replay::Safe {
            return Err(Fault::bad("call", "expected a safe call on a surface that reads"));
        }
        answer_rules::call(&exchange.call, &self.about().providers)?;
        answer_rules::plain_call(&exchange.call)?;
        answer_rules::state(&exchange.state, &self.limits())?;
        if exchange.passes.len() > MAX_PASSES {
            let why = format!("at most {MAX_PASSES} types are allowed, got {}", exchange.passes.len());
            return Err(Fault::bad("passes", why));
        }
        exchange.passes.iter().try_for_each(|mime| check_mime("passes", mime))?;
        let Some(charge) = &exchange.charge else {
            let is_free = exchange.at_most.0.is_empty();
            return if is_free {
                Ok(())
            } else {
                Err(Fault::bad(AT_MOST, "an answer without a charge is free"))
            };
        };
        answer_rules::charge("charge", charge, self.about())?;
        answer_rules::charge(AT_MOST, &exchange.at_most, self.about())
    }

    fn check_response(&self, response: &DirectResponse) -> Result<(), Fault> {
        check_mime("mime", &response.mime)?;
        if let Some(fresh) = response.fresh_s.filter(|fresh| *fresh > MAX_FRESH_S) {
            return Err(Fault::bad(
                "fresh-s",
                format!("expected at most {MAX_FRESH_S} seconds, got {fresh}"),
            ));
        }
        response.settle.as_ref().map_or(Ok(()), |settle| answer_rules::charge("settle", settle, self.about()))
    }
}

/// A type such as "audio/mpeg", or a pattern of types, which has `*` after its slash.
fn check_mime(what: &'static str, mime: &str) -> Result<(), Fault> {
    if is_mime(mime) {
        return Ok(());
    }
    let shown = gatehouse_guest::shorten(mime, MIME_BYTES);
    Err(Fault::bad(what, format!("expected a type such as audio/mpeg, got {shown:?}")))
}
