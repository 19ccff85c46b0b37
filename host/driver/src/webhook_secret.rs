//! Signing secrets of webhooks: `whsec_` and 32 random bytes in base64, kept encrypted.
//!
//! Signing takes the secret itself, so a digest would not do. The key that encrypts it comes from the data folder's pepper;
//! the webhook's id is authenticated with it, so a row copied to another webhook does not open.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::{DeliveryId, KeyId, Pepper, Secret, Seed, UnixMs, WebhookId};
use gatehouse_tasks::SealedSecret;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

const PREFIX: &str = "whsec_";
const BYTES: usize = 32;

/// A signing secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSecret(Secret<[u8; BYTES]>);

/// A sealed secret that does not open: the data folder has another pepper, or the row is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its secret cannot be read under this data folder's pepper; rotate it")]
pub struct UnreadableSecret;

impl WebhookSecret {
    /// A fresh one.
    #[must_use]
    pub fn mint(seed: &dyn Seed) -> Self {
        let mut bytes = [0; BYTES];
        seed.fill(&mut bytes);
        Self(Secret::new(bytes))
    }

    /// That of the callbacks of tasks which were submitted with a key. It is worked out, not kept: a client with the key may read it,
    /// and another key has another one.
    #[must_use]
    pub fn of_key(pepper: &Pepper, key: &KeyId) -> Self {
        Self(Secret::new(pepper.sign(&[b"callback-secrets", key.0.as_bytes()])))
    }

    /// As text, to be shown to its owner.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0.expose()))
    }

    /// Encrypts it for the row of that webhook.
    #[must_use]
    pub fn seal(&self, pepper: &Pepper, webhook: WebhookId, at: UnixMs, seed: &dyn Seed) -> SealedSecret {
        let mut nonce = [0; NONCE_LEN];
        seed.fill(&mut nonce);
        let mut text = self.0.expose().to_vec();
        key(pepper)
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad(webhook), &mut text)
            .expect("a secret is far shorter than the cipher's limit");
        SealedSecret { created: at, sealed: [&nonce[..], &text].concat() }
    }

    /// Decrypts the secret in the row of that webhook.
    pub fn open(
        sealed: &SealedSecret,
        pepper: &Pepper,
        webhook: WebhookId,
    ) -> Result<Self, UnreadableSecret> {
        let (nonce, text) = sealed.sealed.split_first_chunk::<NONCE_LEN>().ok_or(UnreadableSecret)?;
        let mut text = text.to_vec();
        let opened = key(pepper).open_in_place(Nonce::assume_unique_for_key(*nonce), aad(webhook), &mut text);
        let opened = opened.map_err(|_| UnreadableSecret)?;
        opened.try_into().map(|bytes| Self(Secret::new(bytes))).map_err(|_| UnreadableSecret)
    }

    /// `v1,` and the HMAC-SHA256 of `{id}.{timestamp}.{body}` in base64 (Standard Webhooks 1.0.0).
    #[must_use]
    pub fn sign(&self, id: DeliveryId, at: UnixMs, body: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, self.0.expose()));
        context.update(format!("{id}.{}.", at.seconds()).as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    }
}

fn key(pepper: &Pepper) -> LessSafeKey {
    let bytes = pepper.sign(&[b"webhook-secrets"]);
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &bytes).expect("the cipher takes 32 bytes"))
}

fn aad(webhook: WebhookId) -> Aad<[u8; 16]> {
    Aad::from(webhook.bits().to_be_bytes())
}

#[cfg(test)]
mod tests {
    use gatehouse_harness::TestSeed;

    use super::*;

    const AT: UnixMs = UnixMs(1_767_225_600_123);

    #[test]
    fn a_signature_is_the_one_that_others_make() {
        // The example of the Standard Webhooks libraries.
        let bytes = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let secret = WebhookSecret::mint(&TestSeed::counting_from(1));
        assert_eq!(secret.reveal().len(), PREFIX.len() + 44);
        let id = DeliveryId::from_bits(7);
        let body = br#"{"test": 2432232314}"#;
        let theirs = standardwebhooks::Webhook::new(&secret.reveal()).unwrap();
        let seconds = i64::try_from(AT.seconds()).unwrap();
        assert_eq!(secret.sign(id, AT, body), theirs.sign(&id.to_string(), seconds, body).unwrap());
        let other = standardwebhooks::Webhook::from_bytes(bytes).unwrap();
        assert_ne!(secret.sign(id, AT, body), other.sign(&id.to_string(), seconds, body).unwrap());
    }

    #[test]
    fn a_sealed_secret_opens_for_its_webhook_under_its_pepper_alone() {
        let seed = TestSeed::counting_from(1);
        let (pepper, webhook) = (Pepper::new([7; 32]), WebhookId::from_bits(1));
        let secret = WebhookSecret::mint(&seed);
        let sealed = secret.seal(&pepper, webhook, AT, &seed);
        let is_inside = sealed.sealed.windows(8).any(|part| part == &secret.0.expose()[..8]);
        assert!(!is_inside && sealed.sealed.len() == NONCE_LEN + BYTES + 16);
        assert_eq!(WebhookSecret::open(&sealed, &pepper, webhook), Ok(secret.clone()));
        assert_eq!(WebhookSecret::open(&sealed, &Pepper::new([8; 32]), webhook), Err(UnreadableSecret));
        assert_eq!(WebhookSecret::open(&sealed, &pepper, WebhookId::from_bits(2)), Err(UnreadableSecret));
        for cut in 0..sealed.sealed.len() {
            let short = SealedSecret { sealed: sealed.sealed[..cut].to_vec(), ..sealed.clone() };
            assert_eq!(WebhookSecret::open(&short, &pepper, webhook), Err(UnreadableSecret), "{cut}");
        }
        assert_eq!(format!("{secret:?}"), "WebhookSecret((secret))");
    }
}
