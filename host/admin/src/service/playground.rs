//! Requests that an operator sends as a key, without its secret: what the key may do and what it costs are real, its
//! networks alone do not count. Each leaves a line in the audit record.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::FamilyListing;
use gatehouse_model::{Key, KeyId, RequestId};
use gatehouse_store::{KeyQuery, KeyState};
use gatehouse_tasks::{AuditedRequest, Command, FieldChange};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response};
use serde_json::Value;

use super::admin_service::{AdminService, Backend, rejected};
use super::public_api::PublicEndpoint;
use crate::api::error::OperationError;
use crate::http::AdminBody;
use crate::http::access::caller::Role;

/// Keys to choose from, at most.
const MAX_KEYS: usize = 100;

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

    /// Keys that work, to send requests as; the first hundred by id.
    ///
    /// # Errors
    /// The store's.
    pub async fn usable_keys(&self) -> Result<Vec<Key>, OperationError> {
        let states = vec![KeyState::Active];
        let query = KeyQuery { customer: None, name: None, states, at: self.clock.now() };
        Ok(self.keys_page(query, None, MAX_KEYS).await?.rows)
    }

    /// Sends a request of a client as that key. `who` and `address` are for the audit record; a request that only asks for
    /// its price leaves no line.
    ///
    /// # Errors
    /// [`OperationError::NotFound`] for an unknown key; [`OperationError::Refused`] without a running gateway. What the
    /// public API refuses is its answer.
    pub async fn send_as(
        &self,
        key: &KeyId,
        path: &str,
        body: &Value,
        who: (String, String),
    ) -> Result<Response<AdminBody>, OperationError> {
        let public = Arc::clone(self.public_api()?);
        let found = self.key(key)?.ok_or_else(|| OperationError::NotFound(format!("no key {key}")))?;
        let wrong = |error: http::Error| OperationError::Invalid(format!("path: {error}"));
        let mut request = Request::builder().method(Method::POST).uri(path);
        if let Some(headers) = request.headers_mut() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let request = request.body(Bytes::from(body.to_string())).map_err(wrong)?;
        if body.get("dry_run") != Some(&Value::Bool(true)) {
            self.record_use(key, path, who).await?;
        }
        Ok(public.respond(Arc::new(found), request).await)
    }

    /// Before the request: what was sent must be on record, whatever becomes of it.
    async fn record_use(
        &self,
        key: &KeyId,
        path: &str,
        (who, address): (String, String),
    ) -> Result<(), OperationError> {
        let at = self.clock.now();
        let sent = FieldChange { field: "path".to_owned(), before: None, after: Some(path.to_owned()) };
        let audit = AuditedRequest {
            id: RequestId::new(at, self.seed.as_ref()),
            who,
            role: Role::Operator.to_string(),
            address,
            operation: "sendAsKey".to_owned(),
            object: format!("keys/{key}"),
            status: 200,
            reason: String::new(),
            changes: vec![sent],
        };
        let command = Command::Administer { change: None, audit: Box::new(audit), idempotency: None, at };
        self.administer(command).await?.map_err(rejected)?;
        Ok(())
    }
}
