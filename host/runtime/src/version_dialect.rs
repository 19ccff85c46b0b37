//! A version's calls for a dialect: a Messages request becomes its provider's call, and the answer a Messages answer. Checks
//! the size of each input and the rules of each answer. Never counts tokens or money: the text family behind it does.

use std::sync::Arc;

use gatehouse_guest::{Guest, shorten};
use gatehouse_model::{Context, DialectPrepared, DialectRequest, Framing, Json, Refusal, Reply, TextFailure};
use wasmtime::Store;

use crate::abi_v1::dialect::{self, Translated};
use crate::abi_v1::exports::Family;
use crate::exec::answer_rules;
use crate::exec::instance::Instance;
use crate::exec::instance_permits::InstancePermit;
use crate::fault::Fault;
use crate::version::{REQUEST, Version};
use crate::version_text::{RequestInstance, shorten_message, size};

/// A request as its dialect sends it.
#[derive(Debug)]
pub struct PreparedDialect {
    /// What is to be asked.
    pub prepared: DialectPrepared,
    /// For the answer or the stream, where one may be kept.
    pub instance: Option<Box<RequestInstance>>,
}

impl Version {
    /// Whether its dialect half speaks `dialect`.
    pub(crate) fn speaks(&self, dialect: &str) -> bool {
        self.about.offers.dialect && self.about.dialects.iter().any(|own| own == dialect)
    }

    pub(crate) fn translate_within(
        &self,
        budget_ms: u32,
        cx: &Context,
        request: DialectRequest,
    ) -> Result<Result<DialectPrepared, Refusal>, Fault> {
        let (bytes, provider, streaming) =
            (request.body.len(), request.route.provider.clone(), request.streaming);
        self.check_input(REQUEST, bytes, self.limits().text())?;
        let prepare =
            |family: &Family, store: &mut Store<Guest>| dialect::prepare(family, store, cx, request);
        self.judge_translated(self.call_for_input(bytes, budget_ms, prepare), bytes, (provider, streaming))
    }

    /// Translates a request in an instance that its answer or stream may use too, where `permit` allows it to be kept. A
    /// stream without a permit is busy.
    pub(crate) fn translate_and_keep(
        self: &Arc<Self>,
        cx: &Context,
        request: DialectRequest,
        permit: impl FnOnce(bool) -> Option<InstancePermit>,
    ) -> Result<Result<PreparedDialect, Refusal>, Fault> {
        let (bytes, provider, streaming) =
            (request.body.len(), request.route.provider.clone(), request.streaming);
        let (instance, answer) =
            self.call_kept(bytes, |family, store| dialect::prepare(family, store, cx, request))?;
        let prepared = match self.judge_translated(answer, bytes, (provider, streaming))? {
            Ok(prepared) => prepared,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let instance = self.keep(instance, streaming, permit(streaming))?;
        Ok(Ok(PreparedDialect { prepared, instance }))
    }

    fn judge_translated(
        &self,
        answer: Result<Result<Translated, Refusal>, Fault>,
        bytes: usize,
        (provider, streaming): (String, bool),
    ) -> Result<Result<DialectPrepared, Refusal>, Fault> {
        match answer.map_err(|fault| fault.for_input(REQUEST, bytes))? {
            Ok(translated) => {
                let state = translated.state.len();
                let checked = self.check_translated(translated, bytes, (provider, streaming)).map(Ok);
                checked.map_err(|fault| fault.for_state_of(bytes, state))
            }
            Err(refusal) => Ok(Err(answer_rules::refusal(refusal))),
        }
    }

    fn check_translated(
        &self,
        translated: Translated,
        bytes: usize,
        (provider, streaming): (String, bool),
    ) -> Result<DialectPrepared, Fault> {
        let Translated { call, framing, state } = translated;
        answer_rules::text_call(&call, provider)?;
        answer_rules::text_state(&state, bytes, &self.limits())?;
        // A whole answer has no frames, whatever its plugin says of them.
        let whole = (!streaming).then_some(Framing::Whole);
        let Some(known) = Framing::named(&framing).or(whole) else {
            let names = Framing::NAMES.map(|(name, _)| name);
            let why = format!("expected one of {names:?}, got {:?}", shorten(&framing, 100));
            return Err(Fault::bad("framing", why));
        };
        Ok(DialectPrepared { call, framing: known, state })
    }

    /// A whole answer as that of a Messages provider.
    pub(crate) fn read_answer(
        &self,
        cx: &Context,
        state: &[u8],
        reply: Reply,
        instance: Option<Instance>,
    ) -> Result<Result<Json, TextFailure>, Fault> {
        let bytes = size(&reply);
        let whole =
            |family: &Family, store: &mut Store<Guest>| dialect::whole(family, store, cx, state, reply);
        match self.read_reply(bytes, instance, whole)? {
            Ok(answer) => {
                answer_rules::json("answer", &answer)?;
                Ok(Ok(answer))
            }
            Err(failure) => Ok(Err(shorten_message(failure))),
        }
    }
}
