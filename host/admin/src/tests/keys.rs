//! Keys that are edited and rotated: every limit is set, cleared and read back; a stale edit is refused.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_harness::TestSeed;
use gatehouse_model::{ApiKey, CustomerId, KeyId};
use serde_json::{Value, json};

use super::service;
use crate::{AdminService, KeyView, NewKey, OperationError};

async fn with_key() -> (AdminService, KeyView, tempfile::TempDir) {
    let (mut service, folder) = service();
    service.seed = Arc::new(TestSeed::counting_from(5));
    service.open_customer(CustomerId::from("a")).await.unwrap();
    let (key, _) = service.create_key(NewKey::unlimited(CustomerId::from("a"), "laptop")).await.unwrap();
    (service, key, folder)
}

async fn edit(
    service: &AdminService,
    key: &KeyId,
    revision: Option<u64>,
    patch: Value,
) -> Result<Value, OperationError> {
    let patch = serde_json::from_value(patch).unwrap();
    let edited = service.edit_key(key, revision, &patch).await?;
    assert_eq!(edited, service.show_key(key).unwrap());
    Ok(serde_json::to_value(edited).unwrap())
}

#[tokio::test]
async fn every_limit_is_set_read_back_and_taken_away() {
    let (service, key, _folder) = with_key().await;
    let mut revision = 0;
    for (patch, empty) in [
        (json!({"quota": 5_000_000}), json!(null)),
        (json!({"expires": 2_000_000}), json!(null)),
        (json!({"models": ["ctx-pro"]}), json!([])),
        (json!({"networks": ["10.0.0.0/8"]}), json!([])),
        (json!({"limits": {"requests_per_minute": 5}}), json!(null)),
        (json!({"limits": {"tokens_per_minute": 5}}), json!(null)),
        (json!({"limits": {"concurrency": 5}}), json!(null)),
    ] {
        let (name, value) = patch.as_object().unwrap().iter().next().unwrap();
        let inner = value.as_object().map(|fields| fields.keys().next().unwrap().clone());
        let read = |view: &Value| match &inner {
            Some(inner) => view[name][inner].clone(),
            None => view[name].clone(),
        };
        let set = edit(&service, &key.id, Some(revision), patch.clone()).await.unwrap();
        assert_eq!(read(&set), inner.as_ref().map_or_else(|| value.clone(), |inner| value[inner].clone()));
        let clear = match &inner {
            Some(inner) => json!({name: {inner: null}}),
            None => json!({name: null}),
        };
        let cleared = edit(&service, &key.id, Some(revision + 1), clear).await.unwrap();
        assert_eq!(read(&cleared), empty, "{name}");
        revision += 2;
        assert_eq!(cleared["revision"], revision);
    }
    let expected = KeyView { revision, ..key.clone() };
    assert_eq!(service.show_key(&key.id).unwrap(), expected, "nothing is left of any of them");
}

#[tokio::test]
async fn a_stale_or_impossible_edit_changes_nothing() {
    let (service, key, _folder) = with_key().await;
    edit(&service, &key.id, Some(0), json!({"name": "desk"})).await.unwrap();
    let before = service.show_key(&key.id).unwrap();
    for (revision, patch, expected) in [
        (Some(0), json!({"name": "late"}), "has changed since: it is at revision 1, not 0"),
        (Some(2), json!({"name": "early"}), "it is at revision 1, not 2"),
        (None, json!({"name": " "}), "name: expected 1 to 100 bytes"),
        (None, json!({"quota": -1}), "quota: expected zero or more"),
        (None, json!({"expires": 999}), "expires: expected a moment in the future"),
        (None, json!({"models": [""]}), "expected a model's id or alias"),
        (
            None,
            json!({"model_limits": {"x": {"concurrency": 1}}}),
            "that the running gateway serves, not \"x\"",
        ),
    ] {
        let error = edit(&service, &key.id, revision, patch).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(matches!(error, OperationError::Stale(_)), revision.is_some(), "{error:?}");
        assert_eq!(service.show_key(&key.id).unwrap(), before);
    }
    service.revoke_key(&key.id).await.unwrap();
    let error = edit(&service, &key.id, None, json!({"name": "late"})).await.unwrap_err();
    assert!(matches!(&error, OperationError::Refused(text) if text.contains("was revoked")), "{error:?}");
    let unknown = edit(&service, &KeyId::from("x"), None, json!({})).await.unwrap_err();
    assert!(matches!(unknown, OperationError::NotFound(_)), "{unknown:?}");
}

#[tokio::test]
async fn a_rotation_makes_a_key_with_the_same_policy() {
    let (service, key, _folder) = with_key().await;
    edit(&service, &key.id, None, json!({"quota": 9_000_000, "limits": {"concurrency": 2}})).await.unwrap();
    let rotate = |key: &KeyId, overlap_ms| service.rotate_key(key.clone(), Duration::from_millis(overlap_ms));
    let (new, secret) = rotate(&key.id, 60_000).await.unwrap();
    let old = service.show_key(&key.id).unwrap();
    assert_eq!((old.rotated_to.as_ref(), old.revision), (Some(&new.id), 2));
    assert_eq!(old.expires, Some(service.clock.now().plus(Duration::from_secs(60))));
    assert_eq!((new.rotated_from.as_ref(), new.revision, new.expires), (Some(&key.id), 0, None));
    assert_eq!((&new.name, new.quota, new.limits), (&old.name, old.quota, old.limits));
    let digest = ApiKey::parse(&secret.0).unwrap().digest(&service.pepper);
    assert_eq!(service.store.key_by_digest(&digest).unwrap().unwrap().id, new.id);

    let again = rotate(&key.id, 0).await.unwrap_err();
    assert!(matches!(&again, OperationError::Refused(text) if text.contains("was rotated to")), "{again:?}");
    let week = 7 * 86_400_000;
    let long = rotate(&new.id, week + 1).await.unwrap_err();
    assert!(matches!(&long, OperationError::Invalid(text) if text.contains("0 to 7 days")), "{long:?}");
    rotate(&new.id, week).await.unwrap();
}
