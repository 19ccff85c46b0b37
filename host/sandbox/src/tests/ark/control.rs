//! The control plane: groups and assets through signed requests, and their use on the data plane.

use std::time::Duration;

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{body, data};
use crate::tests::client::{JSON, KEY, Response, TestSandbox, call};

const DATE: &str = "20260101T000000Z";

/// A signed call of an action, as the documentation describes it.
async fn act(test: &TestSandbox, key: &str, action: &str, body: Value) -> Response {
    let (origin, body) = (&test.sandbox.ark().control, body.to_string());
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let digest = hex(&Sha256::digest(&body));
    let query = format!("Action={action}&Version=2024-01-01");
    let host = origin.trim_start_matches("http://");
    let canonical = format!(
        "POST\n/\n{query}\nhost:{host}\nx-content-sha256:{digest}\nx-date:{DATE}\n\nhost;x-content-sha256;x-date\n{digest}"
    );
    let scope = "20260101/cn-beijing/ark/request";
    let text = format!("HMAC-SHA256\n{DATE}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
    let mac = |key: Vec<u8>, part: &str| {
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("any key");
        mac.update(part.as_bytes());
        mac.finalize().into_bytes().to_vec()
    };
    let signature = hex(&scope.split('/').chain([text.as_str()]).fold(key.as_bytes().to_vec(), mac));
    let authorization = format!(
        "HMAC-SHA256 Credential=AK{key}/{scope}, SignedHeaders=host;x-content-sha256;x-date, Signature={signature}"
    );
    let headers = [
        ("host", host),
        ("x-date", DATE),
        ("x-content-sha256", &digest),
        ("authorization", &authorization),
        JSON,
    ];
    call("POST", &format!("{origin}/?{query}"), &headers, body).await.expect("a reply")
}

async fn result(test: &TestSandbox, action: &str, body: Value) -> Value {
    let reply = act(test, KEY, action, body).await;
    assert_eq!(reply.status, 200, "{action}: {}", reply.text());
    reply.json()["Result"].clone()
}

#[tokio::test]
async fn an_asset_is_reviewed_and_used_by_its_account() {
    let keys = || vec!["sandbox-key".to_owned(), "second-key".to_owned()];
    let test =
        TestSandbox::with(|settings| (settings.keys, settings.job_time) = (keys(), Duration::from_secs(5)))
            .await;
    let group =
        result(&test, "CreateAssetGroup", json!({"Name": "faces", "GroupType": "AIGC"})).await["Id"].clone();
    let url = format!("{}/samples/800x600.png", test.sandbox.ark().samples);
    let asset =
        json!({"GroupId": group, "URL": url, "Name": "face", "AssetType": "Image", "ProjectName": "default"});
    let id = result(&test, "CreateAsset", asset.clone()).await["Id"].clone();
    assert_eq!(result(&test, "GetAsset", json!({"Id": id})).await["Status"], "Processing");
    let name = format!("asset://{}", id.as_str().expect("an id"));
    let clip = body(json!([{"type": "image_url", "image_url": {"url": name}, "role": "first_frame"}]));
    assert_eq!(data(&test, "POST", "", &clip).await.status, 400);
    test.advance(Duration::from_secs(5));
    assert_eq!(result(&test, "GetAsset", json!({"Id": id})).await["Status"], "Active");
    assert_eq!(data(&test, "POST", "", &clip).await.status, 200);
    // To another account neither the group nor the asset exists.
    assert_eq!(act(&test, "second-key", "GetAsset", json!({"Id": id})).await.status, 404);
    assert_eq!(act(&test, "second-key", "CreateAsset", asset).await.status, 404);
    let list =
        result(&test, "ListAssets", json!({"Filter": {"GroupIds": [group], "Statuses": ["Active"]}})).await;
    assert_eq!((&list["TotalCount"], &list["Items"][0]["Id"]), (&json!(1), &id));
    let groups = result(&test, "ListAssetGroups", json!({"Filter": {"Name": "face"}})).await;
    assert_eq!(groups["Items"][0]["Id"], group);
    result(&test, "DeleteAsset", json!({"Id": id})).await;
    assert_eq!(data(&test, "POST", "", &clip).await.status, 400);
}

#[tokio::test]
async fn what_the_real_one_refuses_is_refused() {
    let test = TestSandbox::start().await;
    let group = result(&test, "CreateAssetGroup", json!({"Name": "faces"})).await["Id"].clone();
    let asset = |field: &str, value: Value| {
        let mut asset =
            json!({"GroupId": group, "URL": "https://example.com/a.png", "Name": "a", "AssetType": "Image"});
        asset[field] = value;
        asset
    };
    #[rustfmt::skip]
    let rows = [
        ("CreateAssetGroup", json!({}), 400, "MissingParameter"),
        ("CreateAssetGroup", json!({"Name": "a".repeat(65)}), 400, "InvalidParameter"),
        ("CreateAssetGroup", json!({"Name": "a", "Description": "a".repeat(301)}), 400, "InvalidParameter"),
        ("CreateAssetGroup", json!({"Name": "a", "GroupType": "LivenessFace"}), 400, "InvalidParameter"),
        ("CreateAssetGroup", json!({"Name": "[[no-plan]]"}), 403, "SubscriptionRequired"),
        ("CreateAsset", asset("URL", json!("data:image/png;base64,AAAA")), 400, "InvalidParameter.URL"),
        ("CreateAsset", asset("Name", json!("")), 400, "MissingParameter"),
        ("CreateAsset", asset("AssetType", json!("image")), 400, "InvalidParameter"),
        ("CreateAsset", asset("GroupId", json!("group-0")), 404, "NotFound"),
        ("CreateAsset", asset("ProjectName", json!("other")), 404, "NotFound"),
        ("CreateAsset", asset("Name", json!("[[400]]")), 200, "InvalidParameter.URL"),
        ("CreateAsset", asset("Name", json!("[[429]]")), 429, "Throttling"),
        ("GetAsset", json!({"Id": "asset-0"}), 404, "NotFound"),
        ("PaintAsset", json!({}), 404, "InvalidActionOrVersion"),
    ];
    for (action, body, status, code) in rows {
        let reply = act(&test, KEY, action, body.clone()).await;
        let error = reply.json()["ResponseMetadata"]["Error"]["Code"].clone();
        assert_eq!((reply.status, error), (status, json!(code)), "{action} {body}");
    }
    assert!(test.sandbox.ark_record().assets.is_empty());
    let url = format!("{}/?Action=ListAssets&Version=2024-01-01", test.sandbox.ark().control);
    assert_eq!(call("POST", &url, &[JSON], "{}").await.expect("a reply").status, 401);
    assert_eq!(act(&test, "foreign-key", "ListAssets", json!({})).await.status, 401);
}

#[tokio::test]
async fn a_review_fails_for_bad_files_and_on_demand() {
    let test = TestSandbox::start().await;
    let group = result(&test, "CreateAssetGroup", json!({"Name": "faces"})).await["Id"].clone();
    let samples = test.sandbox.ark().samples.clone();
    for (sample, asset_type, name, status) in [
        ("800x600.png", "Image", "good", "Active"),
        ("800x600.png", "Image", "[[reject]]", "Failed"),
        ("100x100.png", "Image", "small", "Failed"),
        ("missing", "Image", "missing", "Failed"),
        ("1280x720-5s.mp4", "Video", "film", "Active"),
        ("800x600.png", "Video", "no film", "Failed"),
        ("5s.wav", "Audio", "song", "Active"),
    ] {
        let url = format!("{samples}/samples/{sample}");
        let asset = json!({"GroupId": group, "URL": url, "Name": name, "AssetType": asset_type});
        let id = result(&test, "CreateAsset", asset).await["Id"].clone();
        let reviewed = result(&test, "GetAsset", json!({"Id": id})).await;
        assert_eq!(reviewed["Status"], status, "{name}");
        assert_eq!(reviewed["Error"]["Message"].is_string(), status == "Failed", "{name}");
    }
}
