//! `gatehouse plugin play`, `surfaces` and `dev`: what they print, and how they refuse.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use gatehouse_harness::component_file;

use crate::authors::scene::{REPOSITORY, done, refused};

/// A component of this repository that serves jobs.
pub(crate) fn component() -> String {
    component_file("sdk/templates/rust").display().to_string()
}

#[test]
fn a_script_that_does_not_fit_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let wasm = component();
    let submit =
        r#"{"submit": {"surface": "images.generate", "body": {"model": "sketch-1", "prompt": "a kite"}}}"#;
    for (script, expected) in [
        ("\"start\"".to_owned(), "`start` at s.play:1:\n  unexpected here"),
        (
            format!("{submit}\n{{\"expect\": {{\"refused\": {{}}}}}}"),
            "s.play:2:\n  refused: expected {}\n  came: nothing",
        ),
        (submit.to_owned(), "the script ends, but the family answered and no line expects it"),
        (format!("\n{submit}\n\"stat\""), "s.play:3: unknown variant `stat`"),
        (
            submit.replace("images.generate", "images.create"),
            "expected a surface of the manifest (\"images.generate\"), got \"images.create\"",
        ),
        (
            format!("{submit}\n{{\"expect\": {{\"accepted\": {{\"charge\": {{\"quantity\": 2}}}}}}}}"),
            "accepted.charge.quantity: expected 2\n  came: 1",
        ),
    ] {
        std::fs::write(folder.path().join("s.play"), &script).unwrap();
        let problem = refused(folder.path(), &["plugin", "play", "s.play", &wasm], 1);
        assert!(problem.contains(expected), "{script}: {problem}");
    }
    let problem = refused(folder.path(), &["plugin", "play", "none.play", "none.wasm"], 1);
    assert!(problem.contains("none.wasm: No such file"), "{problem}");
    std::fs::write(folder.path().join("no.wasm"), "no component").unwrap();
    let problem = refused(folder.path(), &["plugin", "play", "s.play", "no.wasm"], 1);
    assert!(problem.contains("no.wasm: the component does not load: admit"), "{problem}");
}

#[test]
fn a_text_family_plays_its_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let wasm = component_file("plugins/chat").display().to_string();
    let script = r#"
        {"text": {
          "surface": "chat.completions",
          "body": {"model": "lm-1", "stream": true, "messages": [{"role": "user", "content": "hi"}]},
          "route": {"upstream": "u-1", "provider": "p", "protocol": "chat"}
        }}
        {"expect": {"prepared": {"streaming": true, "input_bytes": 2, "call": {"provider": "p", "json": {"model": "u-1"}}}}}
        {"events": [{"data": {"id": "c1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "yes"}}]}}]}
        {"expect": {"chunk": {
          "send": [{"data": {"model": "lm-1", "choices": [{"delta": {"content": "yes"}}]}}], "output_bytes": 3, "last": false
        }}}
        {"events": [
          {"data": {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}},
          {"data": {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}}
        ]}
        {"expect": {"chunk": {"usage": {"input": 3, "output": 1}}}}
        "end"
        {"expect": {"chunk": {"send": [{"data": "[DONE]"}], "last": true}}}
        {"text": {
          "surface": "chat.completions", "body": {"model": "lm-1", "messages": []},
          "route": {"provider": "p", "protocol": "messages"}
        }}
        {"expect": {"refused": {"reason": "invalid", "field": "messages"}}}
    "#;
    std::fs::write(folder.path().join("says.play"), script).unwrap();
    let played = done(folder.path(), &["plugin", "play", "says.play", &wasm]);
    assert!(played.contains("ok  says.play"), "{played}");
    for (line, expected) in [
        ("\"output_bytes\": 3", "chunk.output_bytes: expected 4\n  came: 3"),
        ("\"input_bytes\": 2", "prepared.input_bytes: expected 4\n  came: 2"),
    ] {
        let (name, _) = line.rsplit_once(' ').unwrap();
        std::fs::write(folder.path().join("says.play"), script.replace(line, &format!("{name} 4"))).unwrap();
        let problem = refused(folder.path(), &["plugin", "play", "says.play", &wasm], 1);
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn a_component_under_the_limits_of_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let wasm = component();
    let play = format!("{REPOSITORY}/sdk/templates/rust/play");
    let played = done(folder.path(), &["plugin", "play", &play, &wasm]);
    assert!(played.contains("sketch 0.1.0"), "{played}");
    std::fs::write(folder.path().join("gatehouse.toml"), "[plugins.limits]\nmemory_mib = 1\n").unwrap();
    let problem = refused(folder.path(), &["plugin", "play", &play, &wasm], 1);
    assert!(problem.contains("memory"), "{problem}");
}

/// An author plays the same component again and again; one made from Python takes 15 s to compile.
#[test]
fn a_component_is_compiled_once() {
    let folder = tempfile::tempdir().unwrap();
    let (wasm, play) = (component(), format!("{REPOSITORY}/sdk/templates/rust/play"));
    let played = |cache: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatehouse"));
        command.current_dir(folder.path()).args(["plugin", "play", &play, &wasm]);
        let output = command.env("XDG_CACHE_HOME", cache).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let cache = folder.path().join("cache");
    assert!(played(&cache).contains("compiled now"));
    assert!(played(&cache).contains("compiled before"));
    let code = cache.join("gatehouse/code");
    assert_eq!(std::fs::metadata(&code).unwrap().permissions().mode() & 0o777, 0o700);
    for file in std::fs::read_dir(&code).unwrap() {
        std::fs::write(file.unwrap().path(), "damaged").unwrap();
    }
    assert!(played(&cache).contains("compiled now"), "damaged code is not run");
    std::fs::write(folder.path().join("file"), "").unwrap();
    assert!(played(&folder.path().join("file")).contains("compiled now"), "no folder, and no error");
}

#[test]
fn surfaces_are_listed_without_a_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let listed = done(folder.path(), &["plugin", "surfaces"]);
    for line in [
        "| `videos.remix` | jobs | `POST /v1/videos/{task_id}/remix` | yes |",
        "`component_mib`",
        "`wasi:random`",
    ] {
        assert!(listed.contains(line), "{line}: {listed}");
    }
}

#[test]
fn dev_builds_plays_and_stops_at_the_first_failure() {
    let folder = tempfile::tempdir().unwrap();
    let wasm = component();
    let family = folder.path().join("family");
    std::fs::create_dir_all(family.join("play")).unwrap();
    let problem = refused(folder.path(), &["plugin", "dev", "family", "--once"], 2);
    assert!(problem.contains("family: expected a folder with build.sh"), "{problem}");
    std::fs::write(family.join("build.sh"), format!("cp '{wasm}' family.wasm\n")).unwrap();
    let draws = std::fs::read_to_string(format!("{REPOSITORY}/sdk/templates/rust/play/draws.play")).unwrap();
    std::fs::write(family.join("play/draws.play"), &draws).unwrap();
    let said = done(folder.path(), &["plugin", "dev", "family", "--once", "--no-install"]);
    for part in ["build: done in", "ok  family/play/draws.play", "check and play: done in"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    std::fs::write(family.join("play/draws.play"), draws.replace("a kite\", \"detail", "a boat\", \"detail"))
        .unwrap();
    let problem = refused(folder.path(), &["plugin", "dev", "family", "--once", "--no-install"], 1);
    assert!(problem.contains("expected \"a boat\""), "{problem}");
    let dev = ["plugin", "dev", "family", "--once", "--no-install", "--defaults", "family/family.toml"];
    assert!(refused(folder.path(), &dev, 2).contains("family/family.toml: No such file"));
    std::fs::write(family.join("family.toml"), "[prices]\n\"sketch-1\" = \"1\"\n\n[server]\n").unwrap();
    let problem = refused(folder.path(), &dev, 2);
    assert!(problem.contains("family/family.toml:4:"), "{problem}");
    std::fs::write(family.join("build.sh"), "exit 3\n").unwrap();
    let problem = refused(folder.path(), &["plugin", "dev", "family", "--once"], 1);
    assert!(problem.contains("build.sh: exit status: 3"), "{problem}");
}

/// Without it an author of answers at once could check them only in a running gateway.
#[test]
fn a_family_that_answers_at_once_plays_its_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let wasm = component_file("tests/fixtures/speech").display().to_string();
    let speak = r#"{"direct": {"surface": "audio.speech", "model": "voice-1", "body": {"input": "hello"}}}
        {"expect": {"planned": {
          "call": {"provider": "speaker", "path": "/v1/speak", "json": {"text": "hello"}, "replay": "once"},
          "charge": {"keys": ["voice-1"], "quantity": 5}, "passes": ["audio/*"]
        }}}"#;
    let script = format!(
        r#"{speak}
        {{"answer": {{"status": 200, "text": "a sound", "headers": {{"content-type": "audio/mpeg"}}}}}}
        {{"expect": {{"passed": {{"mime": "audio/mpeg"}}}}}}
        {{"answer": {{"status": 401}}}}
        {{"expect": {{"fail": {{"blame": "account"}}}}}}
        {{"direct": {{"surface": "voices.list", "body": {{"language": "de"}}}}}}
        {{"expect": {{"planned": {{"call": {{"path": "/v1/voices/de", "replay": "safe"}}, "charge": null}}}}}}
        {{"answer": {{"status": 200, "json": {{"voices": []}}}}}}
        {{"expect": {{"responded": {{"mime": "application/json", "body": {{"voices": []}}, "fresh_s": 60}}}}}}"#
    );
    std::fs::write(folder.path().join("says.play"), script).unwrap();
    done(folder.path(), &["plugin", "play", "says.play", &wasm]);
    std::fs::write(folder.path().join("says.play"), speak.replace("hello", "")).unwrap();
    let problem = refused(folder.path(), &["plugin", "play", "says.play", &wasm], 1);
    assert!(problem.contains("came: {\"refused\"") || problem.contains("planned: expected"), "{problem}");
}
