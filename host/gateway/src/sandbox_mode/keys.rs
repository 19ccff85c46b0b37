//! The customer of sandbox mode and its two API keys.
//!
//! The keys stay the same across restarts: `<data>/sandbox-keys.json`, readable by its owner only, holds their
//! secrets, because the store keeps digests only. A key that the store does not accept any more is replaced.

use std::io;
use std::path::{Path, PathBuf};

use gatehouse_admin::{AdminService, KeyQuery, KeyState, NewKey, OperationError, Revealed};
use gatehouse_files::write_atomic;
use gatehouse_model::{ApiKey, ChatFormat, Credits, CustomerId, KeyId};
use serde::{Deserialize, Serialize};

const CUSTOMER: &str = "sandbox";
/// Each start deposits up to this balance: every line of the README, pasted many times.
const CREDIT: Credits = Credits(100_000 * Credits::UNIT);
/// Keys that are read at a time.
const PAGE: usize = 100;

/// Keys that work now.
#[derive(Debug)]
pub(crate) struct SandboxKeys {
    /// Chat completions come wrapped in `{code, data}`.
    pub(crate) wrapped: Revealed,
    /// Chat completions come bare, as OpenAI's SDKs expect.
    pub(crate) bare: Revealed,
    /// The file of the keys.
    pub(crate) file: PathBuf,
    /// Whether a stored key had to be replaced.
    pub(crate) replaced: bool,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SandboxKeysError {
    /// The store refused or failed.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// The file of the keys cannot be read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// The file's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredKeys {
    wrapped: Option<Revealed>,
    bare: Option<Revealed>,
}

/// Fills up the customer's balance and finds its keys, or creates them.
///
/// # Errors
/// See [`SandboxKeysError`].
pub(crate) async fn keys(service: &AdminService, data: &Path) -> Result<SandboxKeys, SandboxKeysError> {
    let customer = CustomerId::from(CUSTOMER);
    fill_up(service, &customer).await?;
    let file = data.join("sandbox-keys.json");
    let failed = |source| SandboxKeysError::File { path: file.clone(), source };
    let stored = read(&file).map_err(failed)?;
    let wrapped = usable_or_new(service, stored.wrapped.clone(), ChatFormat::Wrapped).await?;
    let bare = usable_or_new(service, stored.bare.clone(), ChatFormat::Bare).await?;
    let current = StoredKeys { wrapped: Some(wrapped.clone()), bare: Some(bare.clone()) };
    if current != stored {
        // After the keys exist: a crash in between leaves keys that the next start revokes.
        write(file.clone(), current).await.map_err(failed)?;
    }
    revoke_others(service, &customer, &[&wrapped, &bare]).await?;
    let differs = |stored: &Option<Revealed>, now: &Revealed| stored.as_ref().is_some_and(|key| key != now);
    let replaced = differs(&stored.wrapped, &wrapped) || differs(&stored.bare, &bare);
    Ok(SandboxKeys { wrapped, bare, file, replaced })
}

fn read(file: &Path) -> io::Result<StoredKeys> {
    match std::fs::read(file) {
        // The parser's own message may quote a key.
        Ok(text) => serde_json::from_slice(&text).map_err(|_| {
            let why = "expected the sandbox keys in JSON; delete the file to get new keys";
            io::Error::new(io::ErrorKind::InvalidData, why)
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(StoredKeys::default()),
        Err(error) => Err(error),
    }
}

async fn write(file: PathBuf, keys: StoredKeys) -> io::Result<()> {
    let write = move || write_atomic(&file, &serde_json::to_vec_pretty(&keys)?);
    tokio::task::spawn_blocking(write).await?
}

/// The stored key if it works, otherwise a new one.
async fn usable_or_new(
    service: &AdminService,
    stored: Option<Revealed>,
    chat_format: ChatFormat,
) -> Result<Revealed, OperationError> {
    if let Some(secret) = stored {
        if service.accepts(&secret.0, chat_format)? {
            return Ok(secret);
        }
        tracing::warn!(
            chat_format = chat_format.as_str(),
            "the sandbox key is unknown or revoked; creating a new one"
        );
    }
    let customer = CustomerId::from(CUSTOMER);
    let mut new = NewKey::unlimited(customer, key_name(chat_format));
    new.policy.chat_format = chat_format;
    service.create_key(new).await.map(|(_, secret)| secret)
}

/// Keys of sandbox mode are found by their names.
fn key_name(chat_format: ChatFormat) -> &'static str {
    match chat_format {
        ChatFormat::Wrapped => "printed at start",
        ChatFormat::Bare => "printed at start, bare",
    }
}

/// Revokes the printed keys of earlier starts whose secret is lost, so that they do not accumulate.
async fn revoke_others(
    service: &AdminService,
    customer: &CustomerId,
    current: &[&Revealed],
) -> Result<(), OperationError> {
    let printed = [key_name(ChatFormat::Wrapped), key_name(ChatFormat::Bare)];
    let is_current = |key: &KeyId| {
        current.iter().any(|secret| ApiKey::parse(&secret.0).is_ok_and(|parsed| parsed.id() == *key))
    };
    let (customer, states) = (Some(customer.clone()), vec![KeyState::Active, KeyState::Expired]);
    let query = KeyQuery { customer, name: None, states, at: service.clock.now() };
    let mut after = None;
    loop {
        let page = service.keys_page(query.clone(), after, PAGE).await?;
        for key in page.rows {
            if printed.contains(&key.name.as_str()) && !is_current(&key.id) {
                service.revoke_key(&key.id).await?;
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

async fn fill_up(service: &AdminService, customer: &CustomerId) -> Result<(), OperationError> {
    let found = match service.customer(customer)? {
        Some(found) => found,
        None => service.open_customer(customer.clone()).await?,
    };
    match CREDIT.checked_sub(found.available) {
        Some(amount) if amount > Credits::ZERO => {
            service.deposit(customer.clone(), amount, "to try with".to_owned()).await.map(drop)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use gatehouse_admin::Backend;
    use gatehouse_model::{Key, Pepper};
    use gatehouse_store::Store;
    use tempfile::TempDir;

    use super::*;
    use crate::config::{Config, Location};
    use crate::reload::OfflineConfiguration;
    use crate::system::{SystemClock, SystemSeed};

    fn service() -> (AdminService, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Store::open(&folder.path().join("core.redb"), &gatehouse_store::Config::default()).unwrap();
        let service = AdminService {
            store,
            backend: Backend::Offline(Box::new(Config::default().runtime(folder.path().to_owned()))),
            configuration: Arc::new(OfflineConfiguration::new(&Location::default(), folder.path())),
            pepper: Pepper::new([7; 32]),
            clock: Arc::new(SystemClock),
            seed: Arc::new(SystemSeed),
            public: std::sync::OnceLock::new(),
        };
        (service, folder)
    }

    fn live_keys(service: &AdminService) -> Vec<Key> {
        service.store.keys().unwrap().into_iter().filter(|key| key.revoked.is_none()).collect()
    }

    async fn revoke(service: &AdminService, secret: &Revealed) {
        let key = ApiKey::parse(&secret.0).unwrap().id();
        service.revoke_key(&key).await.unwrap();
    }

    #[tokio::test]
    async fn the_keys_stay_and_the_balance_is_filled_up() {
        let (service, folder) = service();
        let first = keys(&service, folder.path()).await.unwrap();
        let amount = Credits(600_000_000);
        service.withdraw(CustomerId::from(CUSTOMER), amount, String::new()).await.unwrap();
        let second = keys(&service, folder.path()).await.unwrap();
        assert_eq!((&first.wrapped, &first.bare), (&second.wrapped, &second.bare));
        assert!(!first.replaced && !second.replaced);
        let mut formats: Vec<_> = live_keys(&service).iter().map(|key| key.chat_format.as_str()).collect();
        formats.sort_unstable();
        assert_eq!(formats, ["bare", "wrapped"]);
        let mode = std::fs::metadata(&first.file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let found = service.store.customer(&CustomerId::from(CUSTOMER)).unwrap().unwrap();
        assert_eq!(found.available, CREDIT);
    }

    #[tokio::test]
    async fn a_revoked_key_is_replaced() {
        let (service, folder) = service();
        let first = keys(&service, folder.path()).await.unwrap();
        revoke(&service, &first.wrapped).await;
        let second = keys(&service, folder.path()).await.unwrap();
        assert!(second.replaced);
        assert_ne!(first.wrapped, second.wrapped);
        assert_eq!(first.bare, second.bare);
        assert_eq!(live_keys(&service).len(), 2);
    }

    #[tokio::test]
    async fn keys_whose_secret_is_lost_are_revoked() {
        let (service, folder) = service();
        let first = keys(&service, folder.path()).await.unwrap();
        std::fs::remove_file(&first.file).unwrap();
        let second = keys(&service, folder.path()).await.unwrap();
        assert!(first.wrapped != second.wrapped && first.bare != second.bare);
        assert_eq!(live_keys(&service).len(), 2);
    }

    #[tokio::test]
    async fn a_damaged_file_is_reported_without_its_content() {
        let (service, folder) = service();
        std::fs::write(folder.path().join("sandbox-keys.json"), r#"{"wrapped": 5, "sk-hunter2": 1}"#)
            .unwrap();
        let error = keys(&service, folder.path()).await.unwrap_err().to_string();
        assert!(error.contains("delete the file") && !error.contains("hunter2"), "{error}");
    }
}
