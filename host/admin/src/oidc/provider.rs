//! One identity provider: its document and keys, the question a browser is sent away with, and what its answer is worth.
//!
//! The document and the keys are read when a login needs them, and kept for an hour. An ID token that no kept key fits has them
//! read once more: providers change their keys. Only signatures with a public key count.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{Boxed, Clock, Secret, Seed, UnixMs};
use gatehouse_upstream::{ServiceClient, Upstream};
use http_body_util::{BodyExt as _, Full, Limited};
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreClientAuthMethod, CoreErrorResponseType,
    CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm,
    CoreProviderMetadata, CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse,
    CoreTokenType,
};
use openidconnect::{
    AsyncHttpClient, AuthType, AuthorizationCode, ClaimsVerificationError, Client, ClientId, ClientSecret,
    CsrfToken, DiscoveryError, EmptyExtraTokenFields, EndUserEmail, EndUserUsername, EndpointMaybeSet,
    EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IdTokenClaims, IdTokenFields, IssuerUrl, Nonce,
    OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope,
    SignatureVerificationError, StandardErrorResponse, StandardTokenResponse, TokenResponse as _,
    UserInfoClaims,
};
use tokio::sync::Mutex;
use url::Url;

use super::attempts::{Attempt, Attempts, Checks};
use super::config;
use super::config::OidcConfig;
use super::person::{MoreClaims, Person, claim, one_line, role_of};

/// The document and the keys are read again after this long.
const KEPT: Duration = Duration::from_secs(3600);
/// A provider that cannot be read is not asked again for this long.
const PAUSE: Duration = Duration::from_secs(5);
/// One request with its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer, at most.
const MAX_ANSWER: usize = 1 << 20;
/// Clocks may differ by this much.
const SKEW: Duration = Duration::from_secs(60);

/// The signatures that count. `none` is not among them, and none that is made with the client's secret.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

type Fields = IdTokenFields<
    MoreClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
type Answer = StandardTokenResponse<Fields, CoreTokenType>;
type Claims = IdTokenClaims<MoreClaims, CoreGenderClaim>;
type MoreAboutPerson = UserInfoClaims<MoreClaims, CoreGenderClaim>;
type OidcClient = Client<
    MoreClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Answer,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The identity provider of one listener.
pub struct IdentityProvider {
    config: OidcConfig,
    issuer: IssuerUrl,
    callback: RedirectUrl,
    secret: Secret<String>,
    calls: Calls,
    clock: Arc<dyn Clock>,
    seed: Arc<dyn Seed>,
    attempts: Attempts,
    checks: Checks,
    /// One reader at a time; the others wait for what it finds.
    reading: Mutex<()>,
    known: std::sync::Mutex<Known>,
}

/// How requests leave.
struct Calls {
    service: ServiceClient,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Known {
    document: Option<(UnixMs, Arc<CoreProviderMetadata>)>,
    failure: Option<(UnixMs, String)>,
}

/// Why nobody was logged in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OidcRefusal {
    /// The provider cannot be asked.
    #[error("the identity provider cannot be asked: {0}")]
    Unavailable(String),
    /// The provider said no.
    #[error("the identity provider refused: {0}")]
    Declined(String),
    /// Not the browser that asked, or too late.
    #[error(
        "this login was begun in another browser, before a restart of the gateway, or more than ten minutes ago; begin again"
    )]
    Foreign,
    /// What the provider vouches for does not count.
    #[error("the identity provider's answer does not count: {0}")]
    Invalid(String),
    /// Known, but in no group with a role.
    #[error("{0} is in no group that [admin.oidc.roles] gives a role; ask its operators for one")]
    NoRole(String),
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct CallError(String);

impl IdentityProvider {
    /// The provider of that table. Nothing is sent yet.
    ///
    /// # Errors
    /// What cannot be used, with its key.
    pub fn new(
        config: OidcConfig,
        secret: Secret<String>,
        upstream: &Upstream,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
    ) -> Result<Self, String> {
        let issuer = Url::parse(&config.issuer).map_err(|why| format!("admin.oidc.issuer: {why}"))?;
        let service = upstream.service_client(&issuer).map_err(|why| format!("admin.oidc.issuer: {why}"))?;
        let issuer =
            IssuerUrl::new(config.issuer.clone()).map_err(|why| format!("admin.oidc.issuer: {why}"))?;
        let callback =
            RedirectUrl::new(config.callback()).map_err(|why| format!("admin.oidc.public_url: {why}"))?;
        Ok(Self {
            attempts: Attempts::new(&*seed),
            config,
            issuer,
            callback,
            secret,
            calls: Calls { service, clock: Arc::clone(&clock) },
            clock,
            seed,
            checks: Checks::default(),
            reading: Mutex::default(),
            known: std::sync::Mutex::default(),
        })
    }

    /// Its host, for people.
    #[must_use]
    pub fn host(&self) -> String {
        self.issuer.url().host_str().unwrap_or_default().to_owned()
    }

    /// Whether browsers reach the listener over TLS, even where it ends before the listener.
    pub(crate) fn is_over_tls(&self) -> bool {
        self.callback.url().scheme() == "https"
    }

    /// The address a browser is sent to, and what its cookie keeps meanwhile.
    pub(crate) async fn begin(&self) -> Result<(String, String), OidcRefusal> {
        let client = self.client(&*self.document(UnixMs(0)).await?);
        let Attempt { cookie, state, nonce, verifier } = self.attempts.begin(&*self.seed, self.clock.now());
        let verifier = PkceCodeVerifier::new(verifier);
        let question = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                move || CsrfToken::new(state),
                move || Nonce::new(nonce),
            )
            .add_scopes(self.config.scopes.iter().cloned().map(Scope::new))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        Ok((question.url().0.into(), cookie))
    }

    /// The person whom the provider's answer names: `query` is what a browser brought back from that address, `cookie` what it
    /// kept.
    pub(crate) async fn finish(
        &self,
        query: &str,
        cookie: Option<&str>,
        address: IpAddr,
    ) -> Result<Person, OidcRefusal> {
        let field = |name: &str| {
            let mut found = url::form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
            found.next().map(|(_, value)| value.into_owned())
        };
        let state = field("state").unwrap_or_default();
        let attempt = cookie.and_then(|cookie| self.attempts.resume(cookie, &state, self.clock.now()));
        let attempt = attempt.ok_or(OidcRefusal::Foreign)?;
        if let Some(error) = field("error") {
            let more = field("error_description").map(|more| format!(" ({})", one_line(&more)));
            return Err(OidcRefusal::Declined(format!("{}{}", one_line(&error), more.unwrap_or_default())));
        }
        // Providers that name themselves (RFC 9207) keep another one's answer from being taken for theirs.
        if field("iss").is_some_and(|issuer| issuer != self.config.issuer) {
            return Err(OidcRefusal::Invalid("it is another provider's".to_owned()));
        }
        let code = field("code").ok_or_else(|| OidcRefusal::Invalid("it has no code".to_owned()))?;
        let busy = || OidcRefusal::Unavailable("too many logins at once; try again".to_owned());
        let _check = self.checks.enter(address).ok_or_else(busy)?;
        self.exchange(code, attempt).await
    }

    async fn exchange(&self, code: String, attempt: Attempt) -> Result<Person, OidcRefusal> {
        let begun = self.clock.now();
        let client = self.client(&*self.document(UnixMs(0)).await?);
        let request = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|_| OidcRefusal::Unavailable("its document names no token_endpoint".to_owned()))?
            .set_pkce_verifier(PkceCodeVerifier::new(attempt.verifier));
        let answer = request.request_async(&self.calls).await.map_err(token_refusal)?;
        let nonce = Nonce::new(attempt.nonce);
        let client = match self.claims(&client, &answer, &nonce) {
            // The keys may have changed since they were read.
            Err(ClaimsVerificationError::SignatureVerification(
                SignatureVerificationError::NoMatchingKey | SignatureVerificationError::CryptoError(_),
            )) => self.client(&*self.document(begun).await?),
            _ => client,
        };
        let claims = self.claims(&client, &answer, &nonce).map_err(|error| {
            let why = match &error {
                ClaimsVerificationError::SignatureVerification(source) => source.to_string(),
                other => other.to_string(),
            };
            OidcRefusal::Invalid(one_line(&why))
        })?;
        let groups = claim(&claims.additional_claims().all, &self.config.groups_claim).cloned();
        let name = name_of(claims.email(), claims.email_verified(), claims.preferred_username());
        let asked = match (&groups, &name) {
            (Some(_), Some(_)) => None,
            // A person without a name has a subject still; one without groups has no role.
            (Some(_), None) => self.asked(&client, &answer, claims).await.unwrap_or_default(),
            (None, _) => self.asked(&client, &answer, claims).await?,
        };
        let told = asked.as_ref();
        let name = name
            .or_else(|| {
                told.and_then(|told| name_of(told.email(), told.email_verified(), told.preferred_username()))
            })
            .unwrap_or_else(|| one_line(claims.subject().as_str()));
        let groups = groups.or_else(|| {
            let all = &told?.additional_claims().all;
            claim(all, &self.config.groups_claim).cloned()
        });
        let role = groups.and_then(|groups| role_of(&groups, &self.config.roles));
        role.map(|role| Person { name: name.clone(), role }).ok_or(OidcRefusal::NoRole(name))
    }

    /// The claims of the ID token, checked.
    fn claims<'a>(
        &self,
        client: &OidcClient,
        answer: &'a Answer,
        nonce: &Nonce,
    ) -> Result<&'a Claims, ClaimsVerificationError> {
        let token = answer
            .id_token()
            .ok_or_else(|| ClaimsVerificationError::Other("there is no ID token in it".to_owned()))?;
        let now = self.clock.now();
        let verifier = client
            .id_token_verifier()
            .set_allowed_algs(ALGORITHMS)
            .set_time_fn(move || moment(now) - SKEW)
            .set_issue_time_verifier_fn(move |issued| match issued > moment(now.plus(SKEW)) {
                true => Err("it was issued in the future; compare the clocks".to_owned()),
                false => Ok(()),
            });
        token.claims(&verifier, nonce)
    }

    /// What the provider tells only when it is asked for the person.
    async fn asked(
        &self,
        client: &OidcClient,
        answer: &Answer,
        claims: &Claims,
    ) -> Result<Option<MoreAboutPerson>, OidcRefusal> {
        let subject = Some(claims.subject().clone());
        let Ok(request) = client.user_info(answer.access_token().clone(), subject) else { return Ok(None) };
        let told = request.request_async(&self.calls).await;
        told.map(Some).map_err(|error| {
            OidcRefusal::Unavailable(format!("its userinfo: {}", one_line(&error.to_string())))
        })
    }

    fn client(&self, document: &CoreProviderMetadata) -> OidcClient {
        let client = OidcClient::from_provider_metadata(
            document.clone(),
            ClientId::new(self.config.client_id.clone()),
            Some(ClientSecret::new(self.secret.expose().clone())),
        );
        let methods = document.token_endpoint_auth_methods_supported();
        let is_basic =
            methods.is_none_or(|methods| methods.contains(&CoreClientAuthMethod::ClientSecretBasic));
        let auth = if is_basic { AuthType::BasicAuth } else { AuthType::RequestBody };
        client.set_redirect_uri(self.callback.clone()).set_auth_type(auth)
    }

    /// The provider's document with its keys, read after `since` and less than an hour ago.
    async fn document(&self, since: UnixMs) -> Result<Arc<CoreProviderMetadata>, OidcRefusal> {
        if let Some(kept) = self.kept(since)? {
            return Ok(kept);
        }
        let _reading = self.reading.lock().await;
        if let Some(kept) = self.kept(since)? {
            return Ok(kept);
        }
        let read = CoreProviderMetadata::discover_async(self.issuer.clone(), &self.calls).await;
        let read = read.map_err(discovery_failure).and_then(|document| {
            config::check(&document)?;
            Ok(document)
        });
        let (now, mut known) = (self.clock.now(), self.known.lock().unwrap_or_else(PoisonError::into_inner));
        match read {
            Ok(document) => {
                let document = Arc::new(document);
                *known = Known { document: Some((now, Arc::clone(&document))), failure: None };
                Ok(document)
            }
            Err(why) => {
                tracing::warn!(issuer = %self.config.issuer, why, "the identity provider cannot be read");
                known.failure = Some((now, why.clone()));
                Err(OidcRefusal::Unavailable(why))
            }
        }
    }

    fn kept(&self, since: UnixMs) -> Result<Option<Arc<CoreProviderMetadata>>, OidcRefusal> {
        let (now, known) = (self.clock.now(), self.known.lock().unwrap_or_else(PoisonError::into_inner));
        let fresh = known.document.as_ref().filter(|(read, _)| *read >= since && now.since(*read) < KEPT);
        if let Some((_, document)) = fresh {
            return Ok(Some(Arc::clone(document)));
        }
        match known.failure.as_ref().filter(|(failed, _)| now.since(*failed) < PAUSE) {
            Some((_, why)) => Err(OidcRefusal::Unavailable(why.clone())),
            None => Ok(None),
        }
    }
}

impl Calls {
    /// One request to the provider, over TLS or on this machine. No redirect is followed: what is sent may hold a secret.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, CallError> {
        let url = Url::parse(&request.uri().to_string()).map_err(|why| CallError(why.to_string()))?;
        config::check_address(&url)
            .map_err(|why| CallError(format!("an endpoint of its document: {why}")))?;
        let request = request.map(|body| Full::new(Bytes::from(body)));
        let exchange = async {
            let response =
                self.service.send(request, TIMEOUT).await.map_err(|error| CallError(error.to_string()))?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, MAX_ANSWER).collect().await;
            let body = body.map_err(|error| CallError(format!("its answer cannot be read: {error}")))?;
            Ok(http::Response::from_parts(parts, body.to_bytes().to_vec()))
        };
        tokio::select! {
            answered = exchange => answered,
            () = self.clock.pause(TIMEOUT) => Err(CallError("no answer in time".to_owned())),
        }
    }
}

impl<'c> AsyncHttpClient<'c> for Calls {
    type Error = CallError;
    type Future = Boxed<'c, Result<HttpResponse, CallError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

/// An address that the provider says it verified, or else the name that the person chose.
fn name_of(
    email: Option<&EndUserEmail>,
    verified: Option<bool>,
    chosen: Option<&EndUserUsername>,
) -> Option<String> {
    let email = email.filter(|_| verified == Some(true)).map(|email| email.as_str());
    email.or_else(|| chosen.map(|name| name.as_str())).map(one_line)
}

fn moment(at: UnixMs) -> chrono::DateTime<chrono::Utc> {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    chrono::DateTime::from_timestamp_millis(millis).unwrap_or(chrono::DateTime::<chrono::Utc>::MAX_UTC)
}

fn discovery_failure(error: DiscoveryError<CallError>) -> String {
    match error {
        DiscoveryError::Request(why) => why.0,
        DiscoveryError::Response(status, ..) => format!("its document was answered with {status}"),
        DiscoveryError::Parse(why) => format!("its document cannot be read: {}", one_line(&why.to_string())),
        other => one_line(&other.to_string()),
    }
}

fn token_refusal(
    error: RequestTokenError<CallError, StandardErrorResponse<CoreErrorResponseType>>,
) -> OidcRefusal {
    match error {
        RequestTokenError::Request(why) => OidcRefusal::Unavailable(why.0),
        RequestTokenError::ServerResponse(said) => OidcRefusal::Declined(one_line(&said.to_string())),
        // What was read may hold a token, so it is not told.
        RequestTokenError::Parse(..) => {
            OidcRefusal::Invalid("the answer of its token endpoint cannot be read".to_owned())
        }
        RequestTokenError::Other(why) => OidcRefusal::Invalid(one_line(&why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a person with another's address in its profile stands in the audit record as the other one.
    #[test]
    fn an_address_is_a_name_only_where_it_was_verified() {
        let (email, chosen) = (EndUserEmail::new("a@b.example".into()), EndUserUsername::new("ada".into()));
        for (verified, expected) in [(Some(true), "a@b.example"), (Some(false), "ada"), (None, "ada")] {
            assert_eq!(
                name_of(Some(&email), verified, Some(&chosen)).as_deref(),
                Some(expected),
                "{verified:?}"
            );
        }
        assert_eq!(name_of(Some(&email), None, None), None);
    }
}
