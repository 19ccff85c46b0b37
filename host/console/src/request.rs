//! One request of a page, as pages need it: fields, session, theme, and what every page is made from; and the
//! admin API as pages ask it: in this process, for the person of a request, with the API's own rules, lines of
//! the audit record and errors.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_admin::{
    AdminService, ApiAnswer, ApiRefusal, ApiRequest, Caller, IDEMPOTENCY_KEY, LocalApi, PageCaller, Revealed,
    Role, SessionView, Sessions, is_of_type,
};
use gatehouse_model::{ApiKey, KeyId, UnixMs, words};
use http::header::{CONTENT_TYPE, COOKIE};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::error::PageError;
use crate::form;
use crate::form::{Form, FormFile, Once};
use crate::noted_reads::NotedReads;
use crate::runs::Runs;

/// The cookie of the theme a person chose.
pub(crate) const THEME_COOKIE: &str = "gatehouse_theme";

words! {
    /// The colours of a page.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) enum Theme {
        /// As the browser says.
        #[default]
        Auto = "auto",
        Light = "light",
        Dark = "dark",
    }
}

impl Theme {
    /// The theme of that name; the browser's for any other.
    pub(crate) fn named(name: &str) -> Self {
        name.parse().unwrap_or_default()
    }

    /// The one a browser sends.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(name, _)| *name == THEME_COOKIE)
            .map_or_else(Self::default, |(_, value)| Self::named(value))
    }
}

/// A request of a page.
#[derive(Clone)]
pub(crate) struct PageRequest {
    /// What its page is made from.
    pub(crate) pages: Arc<PageContext>,
    /// The fields behind the question mark.
    pub(crate) query: Form,
    /// The body as it came.
    pub(crate) body: Bytes,
    /// The part of the path that names what the page is about.
    pub(crate) id: String,
    /// For forms that are sent once.
    pub(crate) number: u64,
    /// The idempotency key of what such a form asks for.
    pub(crate) form_key: Option<String>,
    pub(crate) theme: Theme,
    /// Missing only on pages that everybody may read.
    pub(crate) session: Option<SessionView>,
    pub(crate) address: IpAddr,
    pub(crate) headers: HeaderMap,
    pub(crate) now: UnixMs,
}

impl PageRequest {
    pub(crate) fn new(
        pages: Arc<PageContext>,
        parts: Parts,
        body: Bytes,
        visit: PageCaller,
        id: String,
    ) -> Self {
        let PageCaller { session, address, .. } = visit;
        Self {
            number: pages.once.number(),
            form_key: None,
            now: pages.service.clock.now(),
            pages,
            query: Form::parse(parts.uri.query().unwrap_or_default().as_bytes()),
            theme: Theme::of(&parts.headers),
            headers: parts.headers,
            body,
            id,
            session,
            address,
        }
    }

    /// The type of the body.
    fn kind(&self) -> &str {
        self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default()
    }

    /// The fields of a submitted form; none where the body is of another type.
    pub(crate) fn form(&self) -> Form {
        match is_of_type(&self.headers, "application/x-www-form-urlencoded") {
            true => Form::parse(&self.body),
            false => Form::default(),
        }
    }

    /// The same of a form that may have files.
    ///
    /// # Errors
    /// 400 for a body that is no form.
    pub(crate) async fn form_with_files(&self) -> Result<(Form, Vec<FormFile>), PageError> {
        let Some(boundary) = form::boundary(self.kind()) else { return Ok((self.form(), Vec::new())) };
        form::parse(self.body.clone(), &boundary).await.map_err(|why| {
            PageError::new(StatusCode::BAD_REQUEST, format!("the form could not be read: {why}"))
        })
    }

    /// The person, as the audit record names it.
    pub(crate) fn caller(&self) -> Caller {
        let (who, role) = match &self.session {
            Some(session) => (session.who(), session.role),
            None => (String::new(), Role::Viewer),
        };
        Caller { who, role, address: self.address }
    }

    /// Whether the person may change anything.
    pub(crate) fn is_operator(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.role == Role::Operator)
    }

    /// The number of its session; 0 where it has none.
    pub(crate) fn session_number(&self) -> u64 {
        self.session.as_ref().map_or(0, |session| session.number)
    }

    /// Does a call of the API for its person. A form that is sent once makes one call that makes something: its key is the form's.
    pub(crate) async fn ask(&self, call: ApiRequest) -> Result<ApiAnswer, ApiRefusal> {
        let call = match &self.form_key {
            Some(key) if *call.method() == Method::POST => call.header(IDEMPOTENCY_KEY, key),
            _ => call,
        };
        self.pages.api.send_as(self.caller(), call).await
    }

    /// What is at this path of the API.
    pub(crate) async fn read(&self, path: &[&str]) -> Result<Value, PageError> {
        Ok(self.ask(ApiRequest::get(path)).await?.body)
    }
}

/// What the pages say of the gateway they belong to.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What clients' addresses begin with, without a slash at the end.
    pub public_url: String,
    /// The host of the identity provider whose users may log in.
    pub identity_provider: Option<String>,
    /// Keys to try the gateway with; only in sandbox mode.
    pub sandbox: Option<SandboxSecrets>,
}

/// The two keys of sandbox mode.
#[derive(Clone, Debug)]
pub struct SandboxSecrets {
    /// Chat completions come wrapped in `{code, data}`.
    pub wrapped: Revealed,
    /// Chat completions come bare, as OpenAI's SDKs expect.
    pub bare: Revealed,
}

impl SandboxSecrets {
    /// The id of the key whose answers come as SDKs expect.
    pub(crate) fn id(&self) -> Option<KeyId> {
        ApiKey::parse(&self.bare.0).ok().map(|key| key.id())
    }
}

/// What pages are made from.
pub(crate) struct PageContext {
    pub(crate) service: Arc<AdminService>,
    pub(crate) api: LocalApi,
    /// The document that describes the API, once it was read.
    pub(crate) document: OnceCell<Value>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) facts: Facts,
    /// Requests of the playground.
    pub(crate) runs: Runs,
    /// Reads of tasks' steps that are on record.
    pub(crate) noted_reads: NotedReads,
    pub(crate) once: Once,
}

impl PageContext {
    /// The API's own document.
    pub(crate) async fn document(&self) -> Result<&Value, PageError> {
        let read = async || {
            let answer = self.api.send(ApiRequest::get(&["openapi.json"])).await?;
            Ok::<_, ApiRefusal>(answer.body)
        };
        Ok(self.document.get_or_try_init(read).await?)
    }
}

impl From<ApiRefusal> for PageError {
    fn from(refusal: ApiRefusal) -> Self {
        let status = match refusal.status {
            400 => StatusCode::UNPROCESSABLE_ENTITY,
            other => StatusCode::from_u16(other).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        };
        let stages = refusal.body["stages"].as_array().cloned().unwrap_or_default();
        let message = match refusal.reason.as_str() {
            // The key is remembered, so the form was done, with the fields that it had then.
            "idempotency_conflict" => form::SENT_WITH_OTHERS.to_owned(),
            _ => refusal.message,
        };
        Self { stages, ..Self::new(status, message) }
    }
}
