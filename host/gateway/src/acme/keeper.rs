//! Keeps a certificate that is valid: serves what is kept, orders what is missing or due, and tries again.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_edge::{Certificates, TlsError};
use gatehouse_model::{Clock, UnixMs};
use gatehouse_upstream::ServiceClient;
use instant_acme::{Account, ExternalAccountKey, NewAccount};

use super::order::{Connection, Issued, Kept, OrderError, order};
use crate::secrets;

/// After the first order in vain; twice as long after each further one. Public authorities allow five failures of a name an hour, and
/// one more every twelve minutes.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
/// A certificate that is due again this soon is of no use: one backdated or short, or a clock that is ahead.
const SOON: Duration = Duration::from_secs(1);
/// For a whole order.
const ORDER_TIMEOUT: Duration = Duration::from_secs(300);

/// The customer's account at the authority that a new account is bound to, where there is one. Reads its key.
///
/// # Errors
/// The key below `server.acme`, and why it cannot be used. Nothing of the secret.
pub(crate) fn external_account(config: &gatehouse_edge::Acme) -> Result<Option<ExternalAccountKey>, String> {
    let Some((kid, hmac)) = config.eab_kid.as_ref().zip(config.eab_hmac.as_ref()) else { return Ok(None) };
    let wrong = |why: &str| format!("eab_hmac: {why}");
    let key = secrets::resolve(hmac).map_err(|why| wrong(&why))?;
    // Authorities show it in base64 of either alphabet.
    let text = key.expose().trim_end_matches('=').replace('+', "-").replace('/', "_");
    let decoded = URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| !bytes.is_empty());
    let decoded = decoded.ok_or_else(|| wrong("expected a key in base64, got something else"))?;
    Ok(Some(ExternalAccountKey::new(kid.clone(), &decoded)))
}

/// The certificate of the public listeners, as an authority issues it.
pub(crate) struct Acme {
    config: gatehouse_edge::Acme,
    /// What a new account is bound to.
    bound_to: Option<ExternalAccountKey>,
    certificates: Certificates,
    client: ServiceClient,
    file: PathBuf,
    kept: Kept,
    clock: Arc<dyn Clock>,
}

impl Acme {
    /// Takes what is kept in `file`. Asks nobody.
    ///
    /// # Errors
    /// The process has no TLS.
    pub(crate) fn open(
        config: gatehouse_edge::Acme,
        bound_to: Option<ExternalAccountKey>,
        client: ServiceClient,
        file: PathBuf,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TlsError> {
        let (certificates, kept) = (Certificates::from_authority()?, Kept::read(&file));
        let issued = kept.certificate.as_ref();
        if let Some(Err(error)) = issued.map(|issued| certificates.issue(&issued.chain, &issued.key)) {
            tracing::warn!(file = %file.display(), %error, "the certificate that is kept cannot be used; another is ordered");
        }
        Ok(Self { config, bound_to, certificates, client, file, kept, clock })
    }

    /// What the listeners show.
    pub(crate) fn certificates(&self) -> Certificates {
        self.certificates.clone()
    }

    /// Keeps it valid; never ends.
    pub(crate) async fn keep(mut self) -> Infallible {
        let mut pace = Pace::default();
        loop {
            self.wait_until(self.due()).await;
            let renewed = self.renew().await;
            let lasts = renewed.is_ok().then(|| self.due().since(self.clock.now()));
            if let Some(pause) = pace.after(lasts) {
                match renewed {
                    Ok(()) => self.tell_due(pause),
                    Err(error) => self.tell(&error, pause),
                }
                self.clock.pause(pause).await;
            }
        }
    }

    /// When the next order is due: now where what is kept is for other names or of another authority.
    fn due(&self) -> UnixMs {
        let fits = |issued: &Issued| {
            issued.domains == self.config.domains && issued.directory == self.config.directory.as_str()
        };
        let renewal = self.certificates.renewal();
        renewal.filter(|_| self.kept.certificate.as_ref().is_some_and(fits)).unwrap_or(UnixMs(0))
    }

    /// In short pauses: the wall clock may be set, and a machine may sleep.
    async fn wait_until(&self, moment: UnixMs) {
        loop {
            let left = moment.since(self.clock.now());
            if left.is_zero() {
                return;
            }
            self.clock.pause(left.min(LONGEST_PAUSE)).await;
        }
    }

    fn tell(&self, error: &OrderError, pause: Duration) {
        let (domains, again) = (self.config.domains.join(", "), pause.as_secs());
        let message = match self.certificates.expires() {
            Some(_) => "the certificate was not renewed; the one in use stays",
            None => "there is no certificate: no client is served over TLS",
        };
        tracing::error!(%error, domains, directory = %self.config.directory, again_in_seconds = again, "{message}");
    }

    fn tell_due(&self, pause: Duration) {
        let (domains, again) = (self.config.domains.join(", "), pause.as_secs());
        let expires = self.certificates.expires().map(|moment| moment.to_string());
        tracing::warn!(
            domains, directory = %self.config.directory, expires, again_in_seconds = again,
            "the new certificate is due already: compare the clocks, and how long the authority's certificates are valid"
        );
    }

    async fn renew(&mut self) -> Result<(), OrderError> {
        let clock = Arc::clone(&self.clock);
        let ordered = tokio::select! {
            ordered = self.ordered() => ordered,
            () = clock.pause(ORDER_TIMEOUT) => Err(OrderError::Late),
        };
        self.certificates.hide_all();
        if ordered.as_ref().is_err_and(OrderError::forgets_account) {
            // The next try registers another one.
            self.kept.account = None;
        }
        let issued = ordered?;
        self.certificates.issue(&issued.chain, &issued.key)?;
        let expires = self.certificates.expires().map(|moment| moment.to_string());
        tracing::info!(domains = issued.domains.join(", "), expires, "the certificate is issued");
        self.kept.certificate = Some(issued);
        self.write().await;
        Ok(())
    }

    async fn ordered(&mut self) -> Result<Issued, OrderError> {
        let account = self.account().await?;
        let (chain, key) = order(&account, &self.config.domains, &self.certificates).await?;
        let (directory, domains) = (self.config.directory.to_string(), self.config.domains.clone());
        Ok(Issued { directory, domains, chain, key })
    }

    /// The account that is kept, or a new one.
    async fn account(&mut self) -> Result<Account, OrderError> {
        let directory = self.config.directory.to_string();
        let builder = Account::builder_with_http(Box::new(Connection(self.client.clone())));
        if let Some((of, credentials)) = self.kept.account.clone()
            && of == directory
            && let Ok(credentials) = serde_json::from_value(credentials)
        {
            return Ok(builder.from_credentials(credentials).await?);
        }
        let contact = self.config.contact.as_ref().map(|address| format!("mailto:{address}"));
        let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
        let wanted =
            NewAccount { contact: &contact, terms_of_service_agreed: true, only_return_existing: false };
        let (account, credentials) =
            builder.create(&wanted, directory.clone(), self.bound_to.as_ref()).await?;
        let credentials = serde_json::to_value(credentials).map_err(instant_acme::Error::from)?;
        self.kept.account = Some((directory, credentials));
        // Before the order: an authority limits new accounts.
        self.write().await;
        Ok(account)
    }

    /// What cannot be written is in use all the same; the next start orders again.
    async fn write(&self) {
        if let Err(error) = self.kept.write(self.file.clone()).await {
            tracing::error!(file = %self.file.display(), %error, "account and certificate are not kept");
        }
    }
}

/// Orders in a row that were in vain: no certificate came, or one that is due already.
#[derive(Debug, Default)]
struct Pace(u32);

impl Pace {
    /// The pause after an order, whose certificate is due after that time.
    fn after(&mut self, lasts: Option<Duration>) -> Option<Duration> {
        if lasts.is_some_and(|lasts| lasts > SOON) {
            self.0 = 0;
            return None;
        }
        let factor = 1_u32.checked_shl(self.0).unwrap_or(u32::MAX);
        self.0 = self.0.saturating_add(1);
        Some(FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a name that is wrong spends an authority's limit, and the right one waits for days.
    #[test]
    fn pauses_keep_within_the_limit_of_failures() {
        let mut pace = Pace::default();
        // An order that brings what is due already counts as much as one that brings nothing.
        let orders =
            (0..40).map(|order| (order % 2 == 0).then_some(if order == 0 { SOON } else { Duration::ZERO }));
        let pauses = orders.filter_map(|lasts| pace.after(lasts)).collect::<Vec<_>>();
        assert_eq!(pauses.len(), 40);
        assert_eq!(pauses[..3], [60, 120, 240].map(Duration::from_secs));
        assert!(pauses[6..].iter().all(|pause| *pause == LONGEST_PAUSE));
        // Five at once, and one more every twelve minutes.
        let mut at = Duration::ZERO;
        for (before, pause) in pauses.iter().enumerate() {
            let allowed = 5 + at.as_secs() / 720;
            assert!(before as u64 <= allowed, "{before} failures after {at:?}");
            at += *pause;
        }
        assert_eq!(pace.after(Some(SOON * 2)), None);
        assert_eq!(pace.after(None), Some(FIRST_PAUSE));
    }
}
