//! An account's signing key, and the signature it puts on a request. The canonical form is in `canonical`.

use std::collections::BTreeSet;

use gatehouse_model::{Secret, UnixMs};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};

use crate::auth::canonical::{self, Dialect};
use crate::auth::credential;

/// Key id, secret and scope of one account.
#[derive(PartialEq, Eq)]
pub(crate) struct SigningKey {
    pub(crate) dialect: &'static Dialect,
    pub(crate) key_id: Secret<String>,
    pub(crate) secret: Secret<String>,
    pub(crate) region: String,
    pub(crate) service: String,
    /// Headers signed besides the dialect's own.
    pub(crate) headers: Vec<HeaderName>,
}

impl SigningKey {
    /// Whether a header of this name is the signature's, so that a plugin may not set it.
    pub(crate) fn owns(&self, name: &str) -> bool {
        name == self.dialect.date_header || name == self.dialect.digest_header
    }

    /// Signs the request as it is, with `digest` of its body, at this time. Returns the signature, which nothing that
    /// came back may show; `None`, when a header of the signature is there already or is no text.
    pub(crate) fn sign<B>(
        &self,
        request: &mut Request<B>,
        digest: &[u8],
        now: UnixMs,
    ) -> Option<Secret<String>> {
        let (time, digest) = (canonical::time(now), canonical::hex(digest));
        let host = host(request.uri())?;
        let headers = request.headers_mut();
        for (name, value) in [(self.dialect.date_header, &time), (self.dialect.digest_header, &digest)] {
            let taken = headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).ok()?);
            if taken.is_some() {
                return None;
            }
        }
        let signed = self.signed_headers(headers, host)?;
        let uri = request.uri();
        let text = self.dialect.request(request.method().as_str(), uri.path(), uri.query(), &signed, &digest);
        let date = time.get(..8)?;
        let scope = self.dialect.scope(date, &self.region, &self.service);
        let text = self.dialect.string_to_sign(&time, &scope, &text);
        let signature =
            self.dialect.signature(self.secret.expose(), date, &self.region, &self.service, &text);
        let value = format!(
            "{} Credential={}/{scope}, SignedHeaders={}, Signature={signature}",
            self.dialect.algorithm,
            self.key_id.expose(),
            canonical::signed(&signed),
        );
        credential::insert(request.headers_mut(), &AUTHORIZATION, &value).then(|| Secret::new(signature))
    }

    /// Names and values of the signed headers, in order. The host is none of `headers`: the client writes it from the
    /// same URL.
    fn signed_headers(&self, headers: &HeaderMap, host: String) -> Option<Vec<(String, String)>> {
        let own = [CONTENT_TYPE.as_str(), self.dialect.date_header, self.dialect.digest_header];
        let names: BTreeSet<&str> =
            own.into_iter().chain(self.headers.iter().map(HeaderName::as_str)).collect();
        let mut signed = vec![(HOST.to_string(), host)];
        for name in names.into_iter().filter(|name| headers.contains_key(*name)) {
            let values = headers.get_all(name).iter().map(|value| value.to_str().map(canonical::normalised));
            signed.push((name.to_owned(), values.collect::<Result<Vec<_>, _>>().ok()?.join(",")));
        }
        signed.sort();
        Some(signed)
    }
}

/// The `Host` header as the HTTP client writes it: without the port that the scheme implies.
fn host(uri: &Uri) -> Option<String> {
    let implied = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let host = uri.host()?;
    Some(match uri.port_u16().filter(|port| *port != implied) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}
