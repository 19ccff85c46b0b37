//! The calls of the plugin service for requests that are answered while the client waits. A fresh version that faults is
//! answered for by its standby.

use std::sync::Arc;

use gatehouse_model::{Context, DirectPlan, DirectRequest, DirectResponse, Failure, Refusal, Reply};

use crate::calls::tasks::begun_work;
use crate::deploy::fallback::ServedBy;
use crate::fault::Fault;
use crate::service::PluginService;
use crate::version::Version;

impl PluginService {
    /// Prepares a request. The version that served it reads the state it returned.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn prepare_direct(
        &self,
        version: &Arc<Version>,
        cx: Context,
        request: DirectRequest,
    ) -> Result<ServedBy<Result<DirectPlan, Refusal>>, Fault> {
        let serves = |standby: &Arc<Version>| {
            standby.about().offers.direct && standby.surface(&request.surface).is_some()
        };
        let standby = self.standby(version).filter(serves);
        let prepare = async |version: Arc<Version>, (cx, request): (Context, DirectRequest)| {
            let origin = self.new_work(&cx, request.body.len());
            let call =
                move |version: &Version| version.prepare_direct(&cx, request, version.limits().call_ms.get());
            self.call(&version, "prepare", &origin, call).await
        };
        self.call_with_fallback(version, standby, "prepare", (cx, request), prepare).await
    }

    /// Translates an answer.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn answer_direct(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        reply: Reply,
    ) -> Result<Result<DirectResponse, Failure>, Fault> {
        let standby = self.standby(version).filter(|standby| standby.shares_state_with(version));
        let answer = async |version: Arc<Version>, (cx, state, reply): (Context, Vec<u8>, Reply)| {
            let origin = begun_work(&cx);
            let call = move |version: &Version| version.answer_direct(&cx, &state, reply);
            self.call(&version, "answer", &origin, call).await
        };
        let served = self.call_with_fallback(version, standby, "answer", (cx, state, reply), answer);
        served.await.map(|served| served.answer)
    }
}
