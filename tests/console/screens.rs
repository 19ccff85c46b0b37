//! Every page is accessible in both themes, within its window in three widths, and without a problem. With
//! `GATEHOUSE_SCREENS=1` a picture of each is kept for people, in `target/screens`.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_harness::{run, variable};
use serde_json::json;

use crate::console::accessibility::{Axe, overflow};
use crate::console::browser::Tab;
use crate::console::scene::{Scene, ask_for_picture, start};

/// Width and theme, and whether the rules of axe are run: once a theme, in the widest and the narrowest layout.
const VIEWS: [(u32, &str, bool); 3] = [(1280, "light", true), (768, "light", false), (360, "dark", true)];
/// The views of pictures beside them.
const MORE_PICTURES: [(u32, &str); 3] = [(360, "light"), (1280, "dark"), (768, "dark")];

#[test]
fn every_page_is_accessible_and_fits() {
    run(async {
        let scene = start().await;
        let (pages, payer) = furnish(&scene).await;
        let (axe, mut wrong) = (Axe::ready(), Vec::new());
        for (name, path) in &pages {
            scene.tab.goto(path).await;
            check(&scene.tab, name, &axe, &mut wrong).await;
        }
        // Pages that only a form leads to.
        scene.tab.goto("/keys/new").await;
        scene.tab.press("Create key").await;
        scene.tab.see("This could not be saved").await;
        check(&scene.tab, "key-refused", &axe, &mut wrong).await;
        scene.tab.fill("#f-name", "shown once").await;
        scene.tab.fill("#f-customer", "acme").await;
        scene.tab.press("Create key").await;
        scene.tab.see("I have stored it").await;
        check(&scene.tab, "key-created", &axe, &mut wrong).await;
        scene.tab.goto("/prices").await;
        scene.tab.press("Show the price").await;
        scene.tab.see("Keys tried").await;
        check(&scene.tab, "prices-preview", &axe, &mut wrong).await;
        scene.tab.goto(&format!("/playground/context-image?key={payer}")).await;
        scene.tab.press("Dry run").await;
        scene.tab.see("Nothing was made.").await;
        check(&scene.tab, "playground-price", &axe, &mut wrong).await;
        scene.tab.click("[data-runs]").await;
        scene.tab.see("completed").await;
        check(&scene.tab, "playground-result", &axe, &mut wrong).await;
        scene.tab.goto("/system").await;
        scene.tab.press("Check the ledger").await;
        scene.tab.see("The ledger adds up").await;
        check(&scene.tab, "doctor", &axe, &mut wrong).await;
        let folder = tempfile::tempdir().expect("a folder");
        scene.tab.goto("/system/backup").await;
        scene.tab.fill("#to", &folder.path().join("copy").display().to_string()).await;
        scene.tab.press("Back up").await;
        scene.tab.see("The last backup begun here is complete").await;
        check(&scene.tab, "backup", &axe, &mut wrong).await;
        scene.tab.goto("/plugins").await;
        scene.tab.press("Install version").await;
        check(&scene.tab, "plugin-install", &axe, &mut wrong).await;
        scene.tab.goto("/webhooks/new").await;
        scene.tab.fill("#f-customer", "acme").await;
        scene.tab.fill("#f-url", "https://hooks.example.com/other").await;
        scene.tab.press("Create webhook").await;
        scene.tab.see("whsec_").await;
        check(&scene.tab, "webhook-created", &axe, &mut wrong).await;
        scene.tab.expect_no_problems().await;
        scene.tab.press("Log out").await;
        scene.tab.see("Login link or token").await;
        check(&scene.tab, "login", &axe, &mut wrong).await;
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        scene.tab.close().await;
    });
}

/// Fills the gateway with what pages show, long and strange names included; every page to look at, and the id of a key that
/// has credit.
async fn furnish(scene: &Scene) -> (Vec<(String, String)>, String) {
    let gateway = &scene.gateway;
    let key = gateway.open_account("acme", "1000").await;
    gateway.command(&["account", "open", "empty"]).await;
    let long = "a name of two hundred characters ".repeat(3) + "!";
    let long = &long[..100];
    gateway
        .command(&["key", "create", long, "--account", "acme", "--quota", "12.5", "--model", "ctx-pro"])
        .await;
    gateway
        .command(&["key", "create", "مفتاح التطبيق", "--account", "acme", "--unlimited", "--expires", "30d"])
        .await;
    // It never answers, so its pages have failures to show. Nothing leaves the machine for it.
    let hook = ["webhook", "create", "https://hooks.example.com/hook", "--account", "acme", "--json"];
    let made: serde_json::Value = serde_json::from_str(&gateway.command(&hook).await).expect("JSON");
    let hook = made["webhook"]["id"].as_str().expect("an id").to_owned();
    let (status, receipt) = ask_for_picture(&key).await;
    assert_eq!(status, 200);
    let task = receipt["data"][0]["task_id"].as_str().expect("a task");
    key.end_of(task).await;
    let body = json!({ "model": "ctx-pro", "prompt": "a kite [[error]]" });
    let refused = key.post("/v1/images/generations", &body).await.json();
    let lost = refused["data"][0]["task_id"].as_str().expect("a task");
    key.end_of(lost).await;
    let body = json!({ "model": "ctx-pro", "prompt": "a kite [[never-ready]]" });
    let waiting = key.post("/v1/images/generations", &body).await.json();
    let waiting = waiting["data"][0]["task_id"].as_str().expect("a task");
    let body = json!({ "model": "ctx-pro", "prompt": "a kite [[submit-cut]]" });
    let unclear = key.post("/v1/images/generations", &body).await.task_id();
    let page = |name: &str, path: &str| (name.to_owned(), path.to_owned());
    let pages = vec![
        page("home", "/"),
        page("keys", "/keys"),
        page("keys-none", "/keys?q=nothing"),
        page("key-new", "/keys/new"),
        page("key", &format!("/keys/{}", key.id())),
        page("customers", "/customers"),
        page("customers-without-credit", "/customers?without_credit=true"),
        page("customer", "/customers/acme"),
        page("customer-empty", "/customers/empty"),
        page("customer-new", "/customers/new"),
        page("key-edit", &format!("/keys/{}/edit", key.id())),
        page("tasks", "/tasks"),
        page("tasks-none", "/tasks?model=nothing"),
        page("task", &format!("/tasks/{task}")),
        page("task-live", &format!("/tasks/{waiting}")),
        page("task-failed", &format!("/tasks/{lost}")),
        page("task-ambiguous", &format!("/tasks/{unclear}")),
        page("tasks-ambiguous", "/tasks?ambiguous=true"),
        page("usage", "/usage?range=24h"),
        page("usage-none", "/usage?model=nothing"),
        page("statements", "/statements?customer=acme"),
        page("statements-all", "/statements"),
        page("statements-none", "/statements?customer=empty"),
        page("statements-usage", "/statements?of=usage"),
        page("statements-wrong", "/statements?from=2026-09-02&to=2026-09-01"),
        page("prices", "/prices"),
        page("playground", "/playground"),
        page("playground-image", "/playground/context-image"),
        page("playground-film", "/playground/clip"),
        page("playground-input", &format!("/playground?input={task}.0")),
        page(
            "playground-rows",
            &format!(
                "/playground/clip?surface=videos.generate&input={task}.0&into=%2Fimage_with_roles%2F0%2Furl"
            ),
        ),
        page("playground-keys", "/playground/context-image?find=acme"),
        page("playground-text", "/playground/chat"),
        page("providers", "/providers"),
        page("plugins", "/plugins"),
        page("deployments", "/deployments"),
        page("deployments-none", "/deployments?family=nothing"),
        page("deployment", "/deployments/1"),
        page("price-books", "/price-books"),
        page("price-book", "/price-books/1"),
        page("webhooks", "/webhooks"),
        page("webhook", &format!("/webhooks/{hook}")),
        page("webhook-new", "/webhooks/new"),
        page("logs", "/logs"),
        page("logs-process", "/logs?kind=process"),
        page("logs-none", "/logs?text=nothing"),
        page("audit", "/audit"),
        page("system", "/system"),
        page("backup-none", "/system/backup"),
        page("not-found", "/nowhere"),
    ];
    (pages, key.id().to_owned())
}

/// Looks at the page that is open, in every theme and width.
pub(super) async fn check(tab: &Tab, name: &str, axe: &Axe, wrong: &mut Vec<String>) {
    let with_pictures = variable("GATEHOUSE_SCREENS").is_some();
    for (width, theme, with_axe) in VIEWS {
        tab.show_as(width, theme).await;
        if let Some(wide) = overflow(tab).await {
            wrong.push(format!("{name} {width}: wider than its window: {wide}"));
        }
        if with_axe {
            let violations = axe.violations(tab).await;
            wrong.extend(violations.into_iter().map(|found| format!("{name} {theme} {width}: {found}")));
        }
        if with_pictures {
            keep(&format!("{name}-{theme}-{width}"), &tab.picture().await);
        }
    }
    for (width, theme) in MORE_PICTURES.into_iter().filter(|_| with_pictures) {
        tab.show_as(width, theme).await;
        keep(&format!("{name}-{theme}-{width}"), &tab.picture().await);
    }
    tab.show_as(1280, "light").await;
}

fn keep(name: &str, picture: &str) {
    let folder: PathBuf = [env!("CARGO_TARGET_TMPDIR"), "..", "screens"].iter().collect();
    std::fs::create_dir_all(&folder).expect("a folder for pictures");
    let bytes = STANDARD.decode(picture).expect("base64");
    std::fs::write(folder.join(format!("{name}.png")), bytes).expect("a picture");
}
