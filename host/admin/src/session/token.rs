//! The random text of a login link and of a session cookie. Only its digest is kept.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::{Digest, Secret, Seed};

/// 256 random bits as 43 characters that need no quoting anywhere.
pub(super) fn random_text(seed: &dyn Seed) -> Secret<String> {
    let mut bytes = [0; 32];
    seed.fill(&mut bytes);
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// What is kept of such a text. Looked up by digest, it cannot be guessed letter by letter.
pub(super) fn digest_of(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}
