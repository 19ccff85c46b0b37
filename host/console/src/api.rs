//! The admin API as pages ask it: in this process, for the person of a request, with the API's own rules, lines of the audit
//! record and errors.

use gatehouse_admin::{ApiAnswer, ApiRefusal, ApiRequest, LocalApi};
use http::StatusCode;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::context::PageContext;
use crate::error::PageError;
use crate::request::PageRequest;

/// The API, and the document that describes it.
pub(crate) struct Api {
    local: LocalApi,
    document: OnceCell<Value>,
}

impl Api {
    pub(crate) fn new(local: LocalApi) -> Self {
        Self { local, document: OnceCell::new() }
    }
}

impl PageContext {
    /// Does a request for the person of a page.
    pub(crate) async fn ask(&self, page: &PageRequest, request: ApiRequest) -> Result<ApiAnswer, ApiRefusal> {
        self.api.local.send_as(page.caller(), request).await
    }

    /// What is at this path.
    pub(crate) async fn read(&self, page: &PageRequest, path: &[&str]) -> Result<Value, PageError> {
        Ok(self.ask(page, ApiRequest::get(path)).await?.body)
    }

    /// The API's own document.
    pub(crate) async fn document(&self) -> Result<&Value, PageError> {
        let read = async || {
            let answer = self.api.local.send(ApiRequest::get(&["openapi.json"])).await?;
            Ok::<_, ApiRefusal>(answer.body)
        };
        Ok(self.api.document.get_or_try_init(read).await?)
    }
}

impl From<ApiRefusal> for PageError {
    fn from(refusal: ApiRefusal) -> Self {
        let status = match refusal.status {
            400 => StatusCode::UNPROCESSABLE_ENTITY,
            other => StatusCode::from_u16(other).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        };
        let stages = refusal.body["stages"].as_array().cloned().unwrap_or_default();
        Self { stages, ..Self::new(status, refusal.message) }
    }
}
