//! Signs delivery links and checks them, in the shape of the blob store the real provider keeps files in.
//!
//! `se` is the end of a link's life; the signature binds path and end. The other parameters are those of real links.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::Mac;
use url::form_urlencoded;

use crate::common::clock::iso;
use crate::common::server::parameter;
use crate::common::shared::SigningKey;

/// Why a link is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkError {
    /// `se`, as the link says it.
    Expired(String),
    /// No signature, or one that does not fit.
    Forged,
}

/// The query of a link to `path` that ends at `until` (milliseconds, told in whole seconds).
pub(crate) fn query(key: &SigningKey, path: &str, until: u64, mime: &str) -> String {
    let end = iso(until);
    let signature = STANDARD.encode(key.mac(&format!("{path}\n{end}")).finalize().into_bytes());
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("se", end.as_str()), ("sp", "r"), ("sv", "2024-11-04"), ("sr", "b")])
        .extend_pairs([("rsct", mime), ("sig", signature.as_str())])
        .finish()
}

/// Whether `query` opens `path` at `now`.
pub(crate) fn check(key: &SigningKey, path: &str, query: &str, now: u64) -> Result<(), LinkError> {
    let value = |name: &str| parameter(query, name).ok_or(LinkError::Forged);
    let (end, signature) = (value("se")?, value("sig")?);
    let signature = STANDARD.decode(signature.as_bytes()).map_err(|_| LinkError::Forged)?;
    key.mac(&format!("{path}\n{end}")).verify_slice(&signature).map_err(|_| LinkError::Forged)?;
    // Our own signature vouches for the form of `se`, and in that form text order is time order.
    if iso(now).as_str() >= &*end { Err(LinkError::Expired(end.into_owned())) } else { Ok(()) }
}
