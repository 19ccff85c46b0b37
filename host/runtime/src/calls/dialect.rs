//! The dialect half of the plugin service: between a text family and a provider whose protocol no text family speaks.
//!
//! Swaps, canaries and faults are those of `text`: a version serves a request to its end, and where a fresh one faults its
//! standby answers, as long as nothing of the answer was handed on.

use std::sync::Arc;

use gatehouse_model::{Context, DialectRequest, Json, Refusal, Reply, TextFailure};

use crate::calls::tasks::begun_work;
use crate::calls::text::Relay;
use crate::deploy::fallback::ServedBy;
use crate::fault::Fault;
use crate::service::PluginService;
use crate::version::Version;
use crate::version_dialect::PreparedDialect;
use crate::version_text::{Half, RequestInstance};

impl PluginService {
    /// Translates a Messages request for its provider. Only the version that served it reads the state it returned. Its
    /// instance is kept as that of a text family is, and a stream takes a permit of its own; of a request that `only_asks`
    /// nothing is kept.
    ///
    /// # Errors
    /// As [`PluginService::prepare_text`].
    pub async fn prepare_dialect(
        &self,
        version: &Arc<Version>,
        cx: Context,
        request: DialectRequest,
        only_asks: bool,
    ) -> Result<ServedBy<Result<PreparedDialect, Refusal>>, Fault> {
        let dialect = request.route.protocol.as_str().to_owned();
        let standby = self.standby(version).filter(|standby| standby.speaks(&dialect));
        let input = (cx, request);
        self.call_with_fallback(version, standby, "prepare", input, |version, (cx, request)| async move {
            let origin = begun_work(&cx);
            let (serving, service) = (Arc::clone(&version), self.clone());
            let prepare = move |_: &Version| {
                if only_asks {
                    let budget_ms = serving.limits().call_ms.get();
                    let prepared = serving.translate_within(budget_ms, &cx, request)?;
                    return Ok(prepared.map(|prepared| PreparedDialect { prepared, instance: None }));
                }
                let permit = |streaming| service.instance_permits(streaming).take(&cx.customer);
                serving.translate_and_keep(&cx, request, permit)
            };
            self.call(&version, "prepare", &origin, prepare).await
        })
        .await
    }

    /// A whole answer as that of a Messages provider.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn read_dialect(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
        instance: Option<&mut RequestInstance>,
    ) -> Result<Result<Json, TextFailure>, Fault> {
        self.answer_by(Version::read_answer, version, (cx, state, reply), instance).await
    }

    /// The reader of a stream. Its chunks are events of a Messages provider, of which nothing is counted.
    ///
    /// # Errors
    /// As [`PluginService::relay`].
    pub fn frame_reader(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        instance: Option<Box<RequestInstance>>,
    ) -> Result<Relay, Fault> {
        self.stream(Half::Dialect, version, cx, state, instance)
    }
}
