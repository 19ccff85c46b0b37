//! The customer of sandbox mode and its two API keys.
//!
//! The keys stay the same across restarts: `<data>/sandbox-keys.json`, readable by its owner only, holds their
//! secrets, because the store keeps digests only. A key that the store does not accept any more is replaced.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_admin::{AdminService, ApiRefusal, ApiRequest, LocalApi, OperationError, Revealed};
use gatehouse_files::{if_exists, write_atomic};
use gatehouse_model::{ApiKey, ChatFormat, Credits, KeyId};
use serde::{Deserialize, Serialize};
use serde_json::json;

const CUSTOMER: &str = "sandbox";
/// Each start deposits up to this balance: every line of the README, pasted many times.
const CREDIT: Credits = Credits(100_000 * Credits::UNIT);

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
pub(crate) enum SandboxKeysError {
    /// The store failed.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// The API refused a request.
    #[error(transparent)]
    Refused(#[from] ApiRefusal),
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
pub(crate) async fn keys(service: &Arc<AdminService>, data: &Path) -> Result<SandboxKeys, SandboxKeysError> {
    let api = LocalApi::new(Arc::clone(service), "gateway");
    fill_up(&api).await?;
    let file = data.join("sandbox-keys.json");
    let failed = |source| SandboxKeysError::File { path: file.clone(), source };
    let stored = read(&file).map_err(failed)?;
    let wrapped = usable_or_new(service, &api, stored.wrapped.clone(), ChatFormat::Wrapped).await?;
    let bare = usable_or_new(service, &api, stored.bare.clone(), ChatFormat::Bare).await?;
    let current = StoredKeys { wrapped: Some(wrapped.clone()), bare: Some(bare.clone()) };
    if current != stored {
        // After the keys exist: a crash in between leaves keys that the next start revokes.
        write(file.clone(), current).await.map_err(failed)?;
    }
    revoke_others(&api, &[&wrapped, &bare]).await?;
    let differs = |stored: &Option<Revealed>, now: &Revealed| stored.as_ref().is_some_and(|key| key != now);
    let replaced = differs(&stored.wrapped, &wrapped) || differs(&stored.bare, &bare);
    Ok(SandboxKeys { wrapped, bare, file, replaced })
}

fn read(file: &Path) -> io::Result<StoredKeys> {
    let Some(text) = if_exists(std::fs::read(file))? else { return Ok(StoredKeys::default()) };
    // The parser's own message may quote a key.
    serde_json::from_slice(&text).map_err(|_| {
        let why = "expected the sandbox keys in JSON; delete the file to get new keys";
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

async fn write(file: PathBuf, keys: StoredKeys) -> io::Result<()> {
    let write = move || write_atomic(&file, &serde_json::to_vec_pretty(&keys)?);
    tokio::task::spawn_blocking(write).await?
}

/// The stored key if it works, otherwise a new one.
async fn usable_or_new(
    service: &AdminService,
    api: &LocalApi,
    stored: Option<Revealed>,
    chat_format: ChatFormat,
) -> Result<Revealed, SandboxKeysError> {
    let format = chat_format.as_str();
    if let Some(secret) = stored {
        if service.keys.accepts(&secret.0, chat_format).await? {
            return Ok(secret);
        }
        tracing::warn!(chat_format = format, "the sandbox key is unknown or revoked; creating a new one");
    }
    let new = json!({"customer": CUSTOMER, "name": key_name(chat_format), "chat_format": format});
    let made = api.send(ApiRequest::post(&["keys"]).json(&new)).await?;
    Ok(Revealed(made.body["secret"].as_str().unwrap_or_default().to_owned()))
}

/// Keys of sandbox mode are found by their names.
fn key_name(chat_format: ChatFormat) -> &'static str {
    match chat_format {
        ChatFormat::Wrapped => "printed at start",
        ChatFormat::Bare => "printed at start, bare",
    }
}

/// Revokes the printed keys of earlier starts whose secret is lost, so that they do not accumulate.
async fn revoke_others(api: &LocalApi, current: &[&Revealed]) -> Result<(), ApiRefusal> {
    let printed = [key_name(ChatFormat::Wrapped), key_name(ChatFormat::Bare)];
    let current: Vec<KeyId> =
        current.iter().filter_map(|secret| Some(ApiKey::parse(&secret.0).ok()?.id())).collect();
    let list = ApiRequest::get(&["keys"]).query("customer", CUSTOMER).query("limit", 100);
    let list = list.query("state", "active").query("state", "expired");
    let mut cursor = None;
    loop {
        let page = api.send(list.clone().query_if("cursor", cursor)).await?.body;
        for key in page["data"].as_array().into_iter().flatten() {
            let text = |member: &str| key[member].as_str().unwrap_or_default();
            if printed.contains(&text("name")) && current.iter().all(|one| one.0 != text("id")) {
                api.send(ApiRequest::post(&["keys", text("id"), "revoke"])).await?;
            }
        }
        cursor = page["next"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return Ok(());
        }
    }
}

async fn fill_up(api: &LocalApi) -> Result<(), ApiRefusal> {
    let found = match api.send(ApiRequest::get(&["customers", CUSTOMER])).await {
        Err(refusal) if refusal.status == 404 => {
            api.send(ApiRequest::post(&["customers"]).json(&json!({"id": CUSTOMER}))).await?
        }
        found => found?,
    };
    let available = found.body["available_micro"].as_i64().unwrap_or_default();
    let lacking = CREDIT.0.saturating_sub(available);
    if lacking > 0 {
        let paid = json!({"amount_micro": lacking, "memo": "to try with"});
        api.send(ApiRequest::post(&["customers", CUSTOMER, "deposits"]).json(&paid)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gatehouse_admin::{AdminParts, Backend};
    use gatehouse_model::{CustomerId, Key, Pepper};
    use gatehouse_process::{SystemClock, SystemSeed};
    use gatehouse_store::{KeyQuery, Store};
    use tempfile::TempDir;

    use super::*;
    use crate::backup::BackupFolder;
    use crate::config::{Config, Location};
    use crate::reload::OfflineConfiguration;

    fn service() -> (Arc<AdminService>, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Store::open(&folder.path().join("core.redb"), &gatehouse_store::Config::default()).unwrap();
        let service = AdminService::new(AdminParts {
            store,
            backend: Backend::Offline(Box::new(Config::default().runtime(folder.path().to_owned()))),
            configuration: Arc::new(OfflineConfiguration::new(&Location::default(), folder.path())),
            backups: Arc::new(BackupFolder::new(
                folder.path(),
                true,
                Config::default().backup_buckets(),
                Arc::new(SystemClock),
            )),
            server: None,
            pepper: Pepper::new([7; 32]),
            clock: Arc::new(SystemClock),
            seed: Arc::new(SystemSeed),
        });
        (Arc::new(service), folder)
    }

    async fn live_keys(service: &AdminService) -> Vec<Key> {
        let all = service.store.list_keys(KeyQuery::default(), None, 100).await.unwrap().rows;
        all.into_iter().filter(|key| key.revoked.is_none()).collect()
    }

    async fn revoke(service: &Arc<AdminService>, secret: &Revealed) {
        let key = ApiKey::parse(&secret.0).unwrap().id();
        let api = LocalApi::new(Arc::clone(service), "test");
        api.send(ApiRequest::post(&["keys", &key.0, "revoke"])).await.unwrap();
    }

    #[tokio::test]
    async fn the_balance_is_filled_up() {
        let (service, folder) = service();
        keys(&service, folder.path()).await.unwrap();
        let back = ApiRequest::post(&["customers", CUSTOMER, "withdrawals"]);
        let api = LocalApi::new(Arc::clone(&service), "test");
        api.send(back.json(&json!({"amount_micro": 600_000_000}))).await.unwrap();
        keys(&service, folder.path()).await.unwrap();
        let found = service.store.customer(&CustomerId::from(CUSTOMER)).await.unwrap().unwrap();
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
        assert_eq!(live_keys(&service).await.len(), 2);
    }

    #[tokio::test]
    async fn keys_whose_secret_is_lost_are_revoked() {
        let (service, folder) = service();
        let first = keys(&service, folder.path()).await.unwrap();
        std::fs::remove_file(&first.file).unwrap();
        let second = keys(&service, folder.path()).await.unwrap();
        assert!(first.wrapped != second.wrapped && first.bare != second.bare);
        assert_eq!(live_keys(&service).await.len(), 2);
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
