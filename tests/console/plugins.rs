//! A version is installed from its file, activated and rolled back, while requests are served.

use gatehouse_harness::{component, run};

use crate::console::scene::{ask_for_picture, start};

#[test]
fn a_version_is_swapped_and_rolled_back() {
    run(async {
        let scene = start().await;
        let tab = &scene.tab;
        let key = scene.gateway.open_account("acme", "1000").await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("next.wasm");
        std::fs::write(&file, another_build()).expect("a component");

        tab.goto("/plugins").await;
        tab.press("Install version").await;
        tab.choose("#component", &file).await;
        tab.press("Check only").await;
        tab.see("passed every stage").await;
        let defaults = folder.path().join("family.toml");
        std::fs::write(&defaults, "[server]\nlisten = \"127.0.0.1:1\"\n").expect("a file");
        tab.choose("#defaults", &defaults).await;
        tab.press("Check only").await;
        tab.see("a family may bring [prices]").await;
        std::fs::write(&defaults, "[plugins.settings.context-image]\npace = { longest_ms = 1000 }\n")
            .expect("a file");
        tab.choose("#defaults", &defaults).await;
        tab.press("Check only").await;
        tab.see("plugins.settings.context-image").await;
        tab.press("Install and switch").await;
        tab.see("serves now").await;
        assert_eq!(ask_for_picture(&key).await.0, 200);
        tab.press("Show the versions").await;
        tab.see("takes over if its successor fails").await;
        tab.click("#context-image button[commandfor='roll-back-context-image']").await;
        tab.confirm("Roll back").await;
        tab.see("The family was rolled back.").await;
        assert_eq!(ask_for_picture(&key).await.0, 200);

        tab.click("#context-image button[commandfor='disable-context-image']").await;
        tab.confirm("Disable").await;
        tab.see("The family is disabled.").await;
        assert_ne!(ask_for_picture(&key).await.0, 200);
        tab.click("#context-image button[commandfor='enable-context-image']").await;
        tab.confirm("Enable").await;
        tab.see("The family serves again.").await;
        assert_eq!(ask_for_picture(&key).await.0, 200);

        std::fs::write(&file, b"no component").expect("a file");
        tab.press("Install version").await;
        tab.choose("#component", &file).await;
        tab.press("Install and switch").await;
        tab.see("Nothing was changed").await;
        tab.expect_no_problems().await;
        scene.tab.close().await;
    });
}

/// The context image plugin as another build: a custom section changes its digest and nothing else.
fn another_build() -> Vec<u8> {
    [component("plugins/context-image").as_slice(), &[0, 3, 1, b'b', 1]].concat()
}
