//! One request as its handler gets it: who sends it, its path, parameters, headers and body, all checked by its route; and
//! the commit of what it changes.

use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::{RequestId, UnixMs};
use gatehouse_tasks::{AdminIdempotency, Applied, Command, FieldChange, Rejection};
use http::HeaderMap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::request::precondition::{Edited, check_edited};
use super::request::query::Query;
use super::request::{body, precondition, query};
use crate::access::{Caller, LoginLinks};
use crate::api::error::OperationError;
use crate::api::values::List;
use crate::audit::{AuditTrail, SentRequest, line};
use crate::error::{ApiError, Kind};
use crate::reply::Reply;
use crate::service::AdminService;

/// What a handler returns.
pub(crate) type Outcome = Result<Reply, ApiError>;

/// A request that its route accepted.
pub(crate) struct Call {
    pub(crate) service: Arc<AdminService>,
    pub(crate) links: Option<Arc<dyn LoginLinks>>,
    pub(crate) caller: Caller,
    pub(crate) id: RequestId,
    /// The moment of the request; commands carry it.
    pub(crate) at: UnixMs,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(super) operation: &'static str,
    pub(super) path: Vec<(String, String)>,
    pub(super) idempotency: Option<AdminIdempotency>,
    pub(super) trail: Arc<AuditTrail>,
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    /// The position of the ledger entry it made.
    pub(crate) entry: Option<u64>,
    /// What the first request with this idempotency key made, where this one repeats it.
    pub(crate) before: Option<String>,
    /// What it has left, where it was made now.
    left: Option<Applied>,
}

impl Committed {
    /// What is shown of a change is what it has `left`, as the store's answer says. A read that fails once a change stands would
    /// have it made again, or lose the only copy of a secret; so only a repetition, which has changed nothing, is answered by one.
    pub(crate) async fn shown<T>(
        self,
        left: impl FnOnce(Applied) -> Option<T>,
        read: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        match self.left.and_then(left) {
            Some(shown) => Ok(shown),
            None => read.await,
        }
    }
}

impl Call {
    /// The segment of the path at `{name}`.
    pub(crate) fn path(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The JSON body.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        body::json(&self.body)
    }

    /// The same as an id; text that cannot be one names nothing: such a `what` is not there.
    pub(crate) fn id<T: FromStr>(&self, name: &str, what: &str) -> Result<T, ApiError> {
        let text = self.path(name);
        text.parse().map_err(|_| ApiError::not_found(format!("no {what} {text}")))
    }

    /// The value of a parameter of this kind, such as a number.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str, expected: &str) -> Result<Option<T>, ApiError> {
        let wrong = |text: &str| ApiError::field(name, format!("{name}: expected {expected}, got {text:?}"));
        self.query.one(name).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
    }

    /// The position after which the page begins.
    pub(crate) fn position<T: FromStr>(&self) -> Result<Option<T>, ApiError> {
        let Some(text) = query::read(self.operation, &self.query)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| query::malformed())
    }

    /// The time of the rows that are asked for; half-open.
    pub(crate) fn created(&self) -> Range<UnixMs> {
        let moment = |name| self.query.moment(name).map(|moment| moment.0);
        moment("created_after").unwrap_or(UnixMs(0))..moment("created_before").unwrap_or(UnixMs(u64::MAX))
    }

    /// A page, with the position of its last row where more follow.
    pub(crate) fn list<T: Serialize>(&self, data: Vec<T>, next: Option<impl ToString>) -> Outcome {
        let next = next.map(|position| query::write(self.operation, &self.query, &position.to_string()));
        Ok(Reply::json(&List { data, next }))
    }

    /// The page of rows that are in memory as a whole, by their positions.
    pub(crate) fn list_of<T: Serialize>(&self, mut rows: Vec<T>, position: impl Fn(&T) -> String) -> Outcome {
        // In an order of its own a row could stand before its page's end by the position, and after it in the list.
        rows.sort_by_cached_key(&position);
        let after = self.position::<String>()?;
        let rest = rows.into_iter().filter(|row| after.as_ref().is_none_or(|after| position(row) > *after));
        let mut rows: Vec<T> = rest.take(self.query.limit() + 1).collect();
        let more = rows.len() > self.query.limit();
        rows.truncate(self.query.limit());
        let next = rows.last().map(position).filter(|_| more);
        self.list(rows, next)
    }

    /// An object with its tag; 304 where the client has it already.
    pub(crate) fn object(&self, object: &impl Serialize, etag: &str) -> Outcome {
        if precondition::is_known(&self.headers, etag) {
            return Ok(Reply::not_modified().with_etag(etag));
        }
        Ok(Reply::json(object).with_etag(etag))
    }

    /// Describes a change that is not in the store, for the audit record.
    pub(crate) fn describe(&self, object: impl Into<String>, changes: Vec<FieldChange>) {
        self.trail.describe(object.into(), changes);
    }

    /// Writes the line of a read that shows a client's own words.
    pub(crate) async fn note_read(&self, object: String) -> Result<(), ApiError> {
        let request = SentRequest::of(self.id, &self.caller);
        let audit = Box::new(line(request, self.operation, object, 200, "", Vec::new()));
        let command = Command::Administer { change: None, audit, idempotency: None, at: self.at };
        self.service.commands.administer(command).await?.map_err(OperationError::from)?;
        Ok(())
    }

    /// Commits an edit, and answers with the object as it has `left` it. One that another edit came before is told what that
    /// made.
    pub(crate) async fn commit_edit<T: Edited>(
        &self,
        change: Command,
        object: String,
        made: &str,
        changes: Vec<FieldChange>,
        left: impl FnOnce(Applied) -> Option<T>,
        read: impl Future<Output = Result<T, ApiError>>,
    ) -> Outcome {
        let edited = match self.commit(change, object, made, 200, changes).await {
            Ok(committed) => committed.shown(left, read).await?,
            Err(error) => {
                if error.status() == 412 {
                    check_edited(&self.headers, &read.await?)?;
                }
                return Err(error);
            }
        };
        Ok(Reply::json(&edited).with_etag(&edited.etag()))
    }

    /// Makes a change, its line in the audit record and the memory of the idempotency key durable in one commit. `object`
    /// is what it is about, as a path such as `keys/4f9a`; `made` names what a repetition of the request answers with.
    pub(crate) async fn commit(
        &self,
        change: Command,
        object: String,
        made: &str,
        status: u16,
        changes: Vec<FieldChange>,
    ) -> Result<Committed, ApiError> {
        let request = SentRequest::of(self.id, &self.caller);
        let audit = line(request, self.operation, object, status, "", changes);
        let idempotency =
            self.idempotency.clone().map(|memory| AdminIdempotency { object: made.to_owned(), ..memory });
        let command = Command::Administer {
            change: Some(Box::new(change)),
            audit: Box::new(audit),
            idempotency,
            at: self.at,
        };
        let applied =
            self.service.commands.administer(command).await?.map_err(|rejection| match rejection {
                Rejection::IdempotencyConflict => {
                    let message = "Idempotency-Key: it was used with another request; send another one";
                    ApiError::new(Kind::IdempotencyConflict, message).with_param("Idempotency-Key")
                }
                other => OperationError::from(other).into(),
            })?;
        self.trail.written();
        match applied {
            Applied::Administered { object, entry, repeated, change } => {
                let (before, left) = (repeated.then_some(object), change.map(|left| *left));
                Ok(Committed { entry, before, left })
            }
            other => {
                Err(ApiError::new(Kind::Internal, format!("expected an operator's request, got {other:?}")))
            }
        }
    }
}
