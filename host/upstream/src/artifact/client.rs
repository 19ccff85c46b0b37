//! The part of the OCI distribution protocol that a plugin needs: a manifest with one component, pulled and pushed.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::Digest;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, USER_AGENT, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::artifact::login::{Challenge, Login, Token};
use crate::artifact::reference::ArtifactReference;
use crate::client::exchange::{self, AGENT, Http, payload};
use crate::client::origin::Origin;
use crate::config::check;
use crate::config::settings::OutgoingRoute;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// What a wasm artifact has in place of a container's configuration.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
const COMPONENT: &str = "application/wasm";
/// The annotation of the manifest that holds the component's signature.
const SIGNATURE: &str = "gatehouse.signature";
const MAX_MANIFEST_BYTES: usize = 1 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For one exchange, a large component included.
const TIMEOUT: Duration = Duration::from_secs(300);
const MAX_REDIRECTS: usize = 3;

/// What the registry answers.
type Answer = Result<Response<Incoming>, ArtifactError>;

/// Why a plugin was neither pulled nor pushed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// No answer.
    #[error("no answer from {host}: {reason}")]
    Unreachable {
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// The registry wants a user.
    #[error(
        "{0} wants a login; `docker login` writes one, or set GATEHOUSE_OCI_USERNAME and GATEHOUSE_OCI_PASSWORD"
    )]
    Login(String),
    /// An answer with another status than expected.
    #[error("{what}: the registry answered {status}{said}")]
    Status {
        /// What was asked.
        what: String,
        /// The status.
        status: u16,
        /// What it says about it, after a colon.
        said: String,
    },
    /// More bytes than allowed, or than it said.
    #[error("{what} has more than the {limit} bytes that are allowed")]
    TooLarge {
        /// What.
        what: &'static str,
        /// The most.
        limit: u64,
    },
    /// Other bytes than its digest says.
    #[error(
        "{what}: expected sha256:{expected}, got sha256:{actual}; the registry is wrong, or somebody changed it"
    )]
    Digest {
        /// What.
        what: &'static str,
        /// By its reference.
        expected: Digest,
        /// Of its bytes.
        actual: Digest,
    },
    /// It is something else.
    #[error("it is no plugin: {0}")]
    NoPlugin(String),
    /// The roots to trust or the proxy cannot be used.
    #[error("{0}")]
    Route(String),
}

/// A plugin that was pulled.
#[derive(Clone, Debug)]
pub struct PulledArtifact {
    /// Of its manifest: pins it.
    pub digest: Digest,
    /// The component.
    pub component: Bytes,
    /// The text of its signature file, if it was pushed with one.
    pub signature: Option<String>,
}

/// A client of one repository.
pub struct ArtifactClient {
    http: Http,
    reference: ArtifactReference,
    login: Option<Login>,
    /// What the registry was told last.
    authorization: Option<HeaderValue>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    #[serde(default)]
    schema_version: u8,
    media_type: Option<String>,
    config: Descriptor,
    layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

impl Descriptor {
    fn of(media_type: &str, bytes: &[u8]) -> Self {
        let digest = format!("sha256:{}", Digest::of(bytes));
        Self { media_type: media_type.to_owned(), digest, size: bytes.len() as u64 }
    }
}

impl Manifest {
    /// The one component it holds.
    fn component(&self) -> Result<(&Descriptor, Digest), ArtifactError> {
        let wrong = |why: String| Err(ArtifactError::NoPlugin(why));
        if self.config.media_type != CONFIG {
            return wrong(format!("expected a config of type {CONFIG}, got {:?}", self.config.media_type));
        }
        let [layer] = &self.layers[..] else {
            return wrong(format!("expected one layer, got {}", self.layers.len()));
        };
        if layer.media_type != COMPONENT {
            return wrong(format!("expected a layer of type {COMPONENT}, got {:?}", layer.media_type));
        }
        match layer.digest.strip_prefix("sha256:").and_then(|digest| digest.parse().ok()) {
            Some(digest) => Ok((layer, digest)),
            None => wrong(format!("expected a layer with a sha256 digest, got {:?}", layer.digest)),
        }
    }
}

impl ArtifactClient {
    /// A client over connections of that route.
    pub fn new(
        reference: ArtifactReference,
        login: Option<Login>,
        route: &OutgoingRoute<'_>,
    ) -> Result<Self, ArtifactError> {
        let network = check::network(route).map_err(ArtifactError::Route)?;
        let origin = reference.url("").ok().and_then(|url| Origin::of(&url));
        let private = origin.iter().map(Origin::as_private).collect();
        let http = network.client(private, CONNECT_TIMEOUT, 1);
        Ok(Self { http, reference, login, authorization: None })
    }

    /// Fetches the manifest and its component, of at most `max_bytes`, and compares both with their digests.
    pub async fn pull(&mut self, max_bytes: u64) -> Result<PulledArtifact, ArtifactError> {
        let name = self.reference.manifest();
        let what = format!("{}", self.reference);
        let answer =
            self.ask(Method::GET, self.url(&format!("manifests/{name}"))?, MANIFEST, Bytes::new()).await?;
        let answer = expect(answer, StatusCode::OK, &what).await?;
        let text = read(answer, "its manifest", MAX_MANIFEST_BYTES as u64).await?;
        let digest = self.reference.digest.unwrap_or_else(|| Digest::of(&text));
        verify("its manifest", digest, &text)?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|error| ArtifactError::NoPlugin(format!("its manifest cannot be read: {error}")))?;
        let (layer, expected) = manifest.component()?;
        if layer.size > max_bytes {
            return Err(ArtifactError::TooLarge { what: "its component", limit: max_bytes });
        }
        let url = self.url(&format!("blobs/{}", layer.digest))?;
        let answer = self.ask(Method::GET, url, COMPONENT, Bytes::new()).await?;
        let component =
            read(expect(answer, StatusCode::OK, &what).await?, "its component", layer.size).await?;
        verify("its component", expected, &component)?;
        let signature = manifest.annotations.get(SIGNATURE).cloned();
        Ok(PulledArtifact { digest, component, signature })
    }

    /// Writes the component, its signature, `config` (a JSON object that describes it) and their manifest under the tag. The
    /// digest of the manifest.
    pub async fn push(
        &mut self,
        component: Bytes,
        signature: Option<String>,
        config: Bytes,
    ) -> Result<Digest, ArtifactError> {
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(MANIFEST.to_owned()),
            config: Descriptor::of(CONFIG, &config),
            layers: vec![Descriptor::of(COMPONENT, &component)],
            annotations: signature.map(|text| (SIGNATURE.to_owned(), text)).into_iter().collect(),
        };
        self.push_blob(component).await?;
        self.push_blob(config).await?;
        let text = Bytes::from(serde_json::to_vec(&manifest).expect("keys are strings"));
        let digest = Digest::of(&text);
        let name = self.reference.tag.clone().unwrap_or_else(|| format!("sha256:{digest}"));
        let answer = self.ask(Method::PUT, self.url(&format!("manifests/{name}"))?, MANIFEST, text).await?;
        expect(answer, StatusCode::CREATED, "the manifest").await?;
        Ok(digest)
    }

    async fn push_blob(&mut self, bytes: Bytes) -> Result<(), ArtifactError> {
        let digest = Digest::of(&bytes);
        let known = self.url(&format!("blobs/sha256:{digest}"))?;
        if self.ask(Method::HEAD, known, "*/*", Bytes::new()).await?.status() == StatusCode::OK {
            return Ok(());
        }
        let begin = self.url("blobs/uploads/")?;
        let answer = self.ask(Method::POST, begin.clone(), "*/*", Bytes::new()).await?;
        let answer = expect(answer, StatusCode::ACCEPTED, "an upload").await?;
        let mut upload = location(&begin, &answer)
            .ok_or_else(|| ArtifactError::NoPlugin("the registry does not say where to upload".to_owned()))?;
        upload.query_pairs_mut().append_pair("digest", &format!("sha256:{digest}"));
        let answer = self.ask(Method::PUT, upload, "application/octet-stream", bytes).await?;
        expect(answer, StatusCode::CREATED, "an upload").await.map(drop)
    }

    fn url(&self, rest: &str) -> Result<Url, ArtifactError> {
        self.reference.url(rest).map_err(|error| ArtifactError::NoPlugin(error.to_string()))
    }

    /// Asks, logs in where the registry wants that, and follows redirects of a read. `kind` is the type of what is wanted, or
    /// of what is sent.
    async fn ask(&mut self, method: Method, url: Url, kind: &str, body: Bytes) -> Answer {
        let answer = self.send(&method, &url, kind, body.clone()).await?;
        let mut answer = match answer.status() {
            StatusCode::UNAUTHORIZED => {
                self.log_in(&answer).await?;
                self.send(&method, &url, kind, body.clone()).await?
            }
            _ => answer,
        };
        if matches!(answer.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(ArtifactError::Login(self.reference.registry.clone()));
        }
        let mut from = url;
        for _ in 0..MAX_REDIRECTS {
            let is_redirect = method == Method::GET && answer.status().is_redirection();
            let Some(next) = location(&from, &answer).filter(|_| is_redirect) else { break };
            answer = self.send(&method, &next, kind, Bytes::new()).await?;
            from = next;
        }
        Ok(answer)
    }

    async fn send(&self, method: &Method, url: &Url, kind: &str, body: Bytes) -> Answer {
        let is_registry =
            |url: &Url| self.reference.url("").is_ok_and(|own| Origin::of(&own) == Origin::of(url));
        let authorization = self.authorization.clone().filter(|_| is_registry(url));
        self.exchange(method, url, kind, body, authorization).await
    }

    async fn exchange(
        &self,
        method: &Method,
        url: &Url,
        kind: &str,
        body: Bytes,
        authorization: Option<HeaderValue>,
    ) -> Answer {
        let unreachable = |reason: String| ArtifactError::Unreachable {
            host: url.host_str().unwrap_or_default().to_owned(),
            reason,
        };
        let is_put = *method == Method::PUT;
        let mut request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(USER_AGENT, AGENT)
            .header(if is_put { CONTENT_TYPE } else { ACCEPT }, kind)
            .body(payload(body))
            .map_err(|error| unreachable(error.to_string()))?;
        authorization.into_iter().for_each(|value| drop(request.headers_mut().insert(AUTHORIZATION, value)));
        let answered = exchange::send(&self.http, request, Instant::now() + TIMEOUT).await;
        answered.map_err(|error| unreachable(error.to_string()))
    }

    /// Answers the registry's challenge.
    async fn log_in(&mut self, refusal: &Response<Incoming>) -> Result<(), ArtifactError> {
        let wanted = || ArtifactError::Login(self.reference.registry.clone());
        let scope = format!("repository:{}:pull,push", self.reference.repository);
        let header = refusal.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let basic = self.login.as_ref().and_then(Login::basic);
        self.authorization = match header.and_then(|header| Challenge::parse(header, &scope)) {
            Some(Challenge::Basic) => Some(basic.ok_or_else(wanted)?),
            Some(Challenge::Bearer(url)) => {
                // Nobody reads a password on the way to it.
                let own = self.reference.url("").is_ok_and(|own| own.scheme() == url.scheme());
                if url.scheme() != "https" && !own {
                    return Err(wanted());
                }
                let answer =
                    self.exchange(&Method::GET, &url, "application/json", Bytes::new(), basic).await?;
                let answer = expect(answer, StatusCode::OK, "a token").await.map_err(|_| wanted())?;
                let text = read(answer, "a token", MAX_MANIFEST_BYTES as u64).await?;
                let token: Token = serde_json::from_slice(&text).map_err(|_| wanted())?;
                Some(token.header().ok_or_else(wanted)?)
            }
            None => return Err(wanted()),
        };
        Ok(())
    }
}

fn location(from: &Url, answer: &Response<Incoming>) -> Option<Url> {
    let text = answer.headers().get(LOCATION)?.to_str().ok()?;
    let next = from.join(text).ok()?;
    // Nothing goes on in the clear what began over TLS.
    (next.scheme() == "https" || next.scheme() == from.scheme()).then_some(next)
}

fn verify(what: &'static str, expected: Digest, bytes: &[u8]) -> Result<(), ArtifactError> {
    let actual = Digest::of(bytes);
    if actual == expected { Ok(()) } else { Err(ArtifactError::Digest { what, expected, actual }) }
}

/// The answer, if its status is the expected one.
async fn expect(answer: Response<Incoming>, status: StatusCode, what: &str) -> Answer {
    /// What a registry says about an error.
    #[derive(Default, Deserialize)]
    struct Errors {
        #[serde(default)]
        errors: Vec<Said>,
    }
    #[derive(Deserialize)]
    struct Said {
        #[serde(default)]
        message: String,
    }
    let actual = answer.status();
    if actual == status {
        return Ok(answer);
    }
    let text = read(answer, "an error", MAX_MANIFEST_BYTES as u64).await.unwrap_or_default();
    let errors: Errors = serde_json::from_slice(&text).unwrap_or_default();
    let said = errors.errors.first().map(|said| format!(": {}", said.message)).unwrap_or_default();
    Err(ArtifactError::Status { what: what.to_owned(), status: actual.as_u16(), said })
}

async fn read(answer: Response<Incoming>, what: &'static str, limit: u64) -> Result<Bytes, ArtifactError> {
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let body = Limited::new(answer.into_body(), most).collect();
    let broken = |reason: String| ArtifactError::Unreachable { host: what.to_owned(), reason };
    match timeout_at(Instant::now() + TIMEOUT, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(ArtifactError::TooLarge { what, limit })
        }
        Ok(Err(error)) => Err(broken(error.to_string())),
        Err(_) => Err(broken("time was over".to_owned())),
    }
}
