//! Requests that an operator sends as a key, without its secret: what the key may do and what it costs are real, its
//! networks alone do not count. Each leaves a line in the audit record.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::FamilyListing;
use gatehouse_model::{Key, KeyId};
use gatehouse_tasks::FieldChange;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response};
use serde_json::Value;

use super::super::admin_service::{AdminService, Backend};
use super::super::public_api::PublicEndpoint;
use crate::api::error::OperationError;
use crate::http::AdminBody;

impl AdminService {
    /// What the loaded families offer to a key: surfaces with their schemas, and the models it may use. Without a key, all.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway.
    pub fn offers(&self, key: Option<&Key>) -> Result<Vec<FamilyListing>, OperationError> {
        match &self.backend {
            Backend::Running { driver, .. } => Ok(driver.families(key)),
            Backend::Offline(_) => {
                Err(OperationError::Refused("only a running gateway has families".to_owned()))
            }
        }
    }

    /// The POST endpoints of families.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway.
    pub fn endpoints(&self) -> Result<Vec<PublicEndpoint>, OperationError> {
        Ok(self.public_api()?.endpoints())
    }

    /// Sends a request of a client as that key, for the present [`Actor`](crate::Actor), in whose name it leaves a line; one
    /// that only asks for its price leaves none. Pictures behind links of this gateway over plain HTTP are sent embedded.
    ///
    /// # Errors
    /// [`OperationError::NotFound`] for an unknown key; [`OperationError::Refused`] without a running gateway. What the
    /// public API refuses is its answer.
    pub async fn send_as(
        &self,
        key: &KeyId,
        path: &str,
        mut body: Value,
    ) -> Result<Response<AdminBody>, OperationError> {
        let public = Arc::clone(self.public_api()?);
        let found = self.key(key)?.ok_or_else(|| OperationError::NotFound(format!("no key {key}")))?;
        let wrong = |error: http::Error| OperationError::Invalid(format!("path: {error}"));
        let mut request = Request::builder().method(Method::POST).uri(path);
        if let Some(headers) = request.headers_mut() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        self.embed_pictures(&mut body).await;
        let request = request.body(Bytes::from(body.to_string())).map_err(wrong)?;
        if body.get("dry_run") != Some(&Value::Bool(true)) {
            // Before the request: what was sent must be on record, whatever becomes of it.
            let sent = FieldChange { field: "path".to_owned(), before: None, after: Some(path.to_owned()) };
            self.try_leave_line(("sendAsKey", format!("keys/{key}")), (200, ""), vec![sent]).await?;
        }
        Ok(public.respond(Arc::new(found), request).await)
    }
}
