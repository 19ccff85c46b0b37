//! Which of body, `metadata` and prompt decides, for every argument of the engine.

use serde_json::{Value, json};

use super::*;

fn read_body(body: &Value) -> Result<Arguments, String> {
    let fields = Fields::read(body).map_err(|invalid| invalid.to_string())?;
    read(&fields, body["prompt"].as_str().unwrap_or_default()).map_err(|refusal| match refusal {
        Refusal::Invalid { message, .. } => message,
        other => format!("{other:?}"),
    })
}

fn sent(body: Value) -> String {
    read_body(&body).map_or_else(|message| message, |arguments| arguments.prompt)
}

fn judged(body: Value) -> (Option<&'static str>, Speed) {
    let arguments = read_body(&body).unwrap();
    (arguments.version.map(Version::name), arguments.speed)
}

#[test]
fn every_field_becomes_its_flag() {
    for (field, value, flag) in [
        ("size", json!("16:9"), "--ar 16:9"),
        ("version", json!("8.1"), "--v 8.1"),
        ("version", json!(7), "--v 7"),
        ("version", json!(6.1), "--v 6.1"),
        ("version", json!("niji6"), "--niji 6"),
        ("niji", json!(true), "--niji 7"),
        ("quality", json!("0.25"), "--q 0.25"),
        ("quality", json!(2), "--q 2"),
        ("style", json!("raw"), "--style raw"),
        ("stylize", json!(1000), "--s 1000"),
        ("chaos", json!(0), "--c 0"),
        ("weird", json!(3000), "--w 3000"),
        ("seed", json!(4_294_967_295_i64), "--seed 4294967295"),
        ("negative_prompt", json!("red, blue sky"), "--no red, blue sky"),
        ("tile", json!(true), "--tile"),
        ("iw", json!(1.5), "--iw 1.5"),
        ("iw", json!(2), "--iw 2"),
        ("cw", json!(100), "--cw 100"),
        ("sw", json!(1000), "--sw 1000"),
        ("dw", json!(100), "--dw 100"),
        ("cref", json!("https://x.example/a.png"), "--cref https://x.example/a.png"),
        ("cref", json!("HTTPS://x.example/A.png"), "--cref https://x.example/A.png"),
        ("sref", json!("https://x.example/a.png 1234"), "--sref https://x.example/a.png 1234"),
        ("dref", json!("https://x.example/a.png"), "--dref https://x.example/a.png"),
        ("raw", json!(true), "--raw"),
        ("draft", json!(true), "--draft"),
        ("hd", json!(true), "--hd"),
        ("stop", json!(10), "--stop 10"),
        ("extra", json!("--exp 20 --weird 5"), "--exp 20 --weird 5"),
    ] {
        let mut body = json!({"prompt": "a red kite"});
        body[field] = value.clone();
        assert_eq!(sent(body), format!("a red kite {flag}"), "{field}");
        let from_metadata = json!({"prompt": "a red kite", "metadata": {field: value}});
        assert_eq!(sent(from_metadata), format!("a red kite {flag}"), "metadata.{field}");
    }
    for field in ["tile", "raw", "draft", "hd", "niji"] {
        let mut body = json!({"prompt": "a red kite"});
        body[field] = json!(false);
        assert_eq!(sent(body), "a red kite", "{field}");
    }
}

#[test]
fn every_field_has_its_range() {
    for (field, value, message) in [
        ("size", json!("big"), "expected a ratio such as 16:9, got the string \"big\""),
        ("size", json!("16:0"), "expected a ratio such as 16:9, got the string \"16:0\""),
        ("size", json!("16:9 --fast"), "expected a ratio such as 16:9, got the string \"16:9 --fast\""),
        ("version", json!("6"), "expected 8.2, 8.1, 7, 6.1, 5.2 or 5.1, got the string \"6\""),
        ("version", json!(true), "expected a string or a number, got true"),
        ("niji", json!("yes"), "expected true or false, got the string \"yes\""),
        ("quality", json!("3"), "expected 0.25, 0.5, 1 or 2, got the string \"3\""),
        ("style", json!("raw --v 8.1"), "expected one word such as raw, got the string \"raw --v 8.1\""),
        ("stylize", json!(1001), "expected at most 1000, got 1001"),
        ("stylize", json!("7"), "expected an integer, got the string \"7\""),
        ("chaos", json!(-1), "expected at least 0, got -1"),
        ("weird", json!(3001), "expected at most 3000, got 3001"),
        ("seed", json!(4_294_967_296_i64), "expected at most 4294967295, got 4294967296"),
        (
            "negative_prompt",
            json!("red --fast"),
            "expected a text without flags, got the string \"red --fast\"",
        ),
        ("tile", json!("true"), "expected true or false, got the string \"true\""),
        ("iw", json!(3.5), "expected at most 3, got 3.5"),
        ("cw", json!(101), "expected at most 100, got 101"),
        ("sw", json!(1001), "expected at most 1000, got 1001"),
        ("dw", json!(101), "expected at most 100, got 101"),
        ("cref", json!("1234"), "expected an http(s) URL, got the string \"1234\""),
        ("cref", json!("https:///a.png"), "expected an http(s) URL, got the string \"https:///a.png\""),
        ("sref", json!("red"), "expected an http(s) URL or a style's number, got the string \"red\""),
        ("dref", json!(""), "expected an http(s) URL, got an empty string"),
        ("repeat", json!(2), "not supported by this model, send one request for each picture; got 2"),
        ("stop", json!(9), "expected at least 10, got 9"),
        ("extra", json!(7), "expected a string, got 7"),
        ("speed", json!("slow"), "expected one of `relax`, `fast`, `turbo`, got the string \"slow\""),
    ] {
        let mut body = json!({"prompt": "a red kite"});
        body[field] = value.clone();
        assert_eq!(sent(body), format!("`{field}`: {message}"));
        let from_metadata = json!({"prompt": "a red kite", "metadata": {field: value}});
        let quoted_number = field == "stylize" && message.contains("\"7\"");
        let quoted_truth = field == "tile";
        if field == "repeat" {
            assert_eq!(sent(from_metadata), "a red kite", "no argument in a note, which is only that");
        } else if !quoted_number && !quoted_truth {
            assert_eq!(sent(from_metadata), format!("`metadata.{field}`: {message}"));
        }
    }
}

#[test]
fn body_goes_before_the_prompt_and_the_prompt_before_metadata() {
    let prompt = "a kite --ar 1:1 --s 5 --v 6.1";
    assert_eq!(sent(json!({"prompt": prompt})), prompt);
    assert_eq!(
        sent(json!({"prompt": prompt, "metadata": {"size": "2:3", "stylize": "50", "chaos": "7"}})),
        "a kite --ar 1:1 --s 5 --v 6.1 --c 7"
    );
    assert_eq!(
        sent(json!({"prompt": prompt, "size": "3:2", "metadata": {"size": "2:3", "version": "7"}})),
        "a kite --s 5 --v 6.1 --ar 3:2"
    );
    assert_eq!(sent(json!({"prompt": "a kite --tile", "tile": false})), "a kite");
    assert_eq!(
        sent(json!({"prompt": "a kite --aspect 1:1 --stylize 5", "size": "3:2"})),
        "a kite --stylize 5 --ar 3:2"
    );
    assert_eq!(
        sent(json!({"prompt": "a kite", "size": "3:2", "extra": "--ar 1:1 --exp 5"})),
        "a kite --ar 3:2 --exp 5"
    );
}

#[test]
fn the_version_is_known_wherever_it_stands() {
    for (body, version) in [
        (json!({"prompt": "a kite"}), None),
        (json!({"prompt": "a kite --v 8.2"}), Some("v8.2")),
        (json!({"prompt": "a kite \u{2014}v 7"}), Some("v7")),
        (json!({"prompt": "a kite --version 5.2"}), Some("v5.2")),
        (json!({"prompt": "a kite --v 6"}), None),
        (json!({"prompt": "a kite --niji 6"}), Some("niji6")),
        (json!({"prompt": "a kite --niji 6 --v 7"}), Some("v7")),
        (json!({"prompt": "a kite --v 7", "version": "v8.1"}), Some("v8.1")),
        (json!({"prompt": "a kite --niji 6", "version": "7"}), Some("v7")),
        (json!({"prompt": "a kite --niji 6", "niji": false}), None),
        (json!({"prompt": "a kite --niji 6", "niji": true}), Some("niji6")),
        (json!({"prompt": "a kite --v 6", "niji": true}), Some("niji6")),
        (json!({"prompt": "a kite", "niji": true}), Some("niji7")),
        (json!({"prompt": "a kite", "niji": true, "version": "6"}), Some("niji6")),
        (json!({"prompt": "a kite --v 7", "extra": "--v 8.1"}), Some("v8.1")),
    ] {
        assert_eq!(judged(body.clone()).0, version, "{body}");
    }
    assert_eq!(
        sent(json!({"prompt": "a kite", "niji": true, "version": "8.1"})),
        "`version`: expected 7 or 6 with `niji`, got the string \"8.1\""
    );
    assert_eq!(
        sent(json!({"prompt": "a kite --v 7 --niji 6", "version": "7", "niji": true})),
        "a kite --niji 7"
    );
}

#[test]
fn the_speed_is_known_wherever_it_stands_and_leaves_the_prompt() {
    for (body, speed, prompt) in [
        (json!({"prompt": "a kite"}), Speed::Relax, "a kite"),
        (json!({"prompt": "a kite --fast"}), Speed::Fast, "a kite"),
        (json!({"prompt": "a kite --TURBO --v 7"}), Speed::Turbo, "a kite --v 7"),
        (json!({"prompt": "a kite --fast --turbo"}), Speed::Turbo, "a kite"),
        (json!({"prompt": "a kite --fast", "speed": "relax"}), Speed::Relax, "a kite"),
        (json!({"prompt": "a kite --fast", "metadata": {"speed": "turbo"}}), Speed::Fast, "a kite"),
        (json!({"prompt": "a kite", "metadata": {"speed": "turbo"}}), Speed::Turbo, "a kite"),
        (json!({"prompt": "a kite", "extra": "--turbo --exp 1"}), Speed::Turbo, "a kite --exp 1"),
    ] {
        assert_eq!(judged(body.clone()).1, speed, "{body}");
        assert_eq!(sent(body), prompt);
    }
    let follow_up = of_prompt("night --fast --v 7", None).unwrap();
    assert_eq!((follow_up.prompt.as_str(), follow_up.speed), ("night --v 7", Speed::Fast));
    assert_eq!(of_prompt("night --fast", Some(Speed::Turbo)).unwrap().speed, Speed::Turbo);
}

#[test]
fn one_request_is_one_job_at_one_price() {
    let repeat = "expected a text without --repeat, send one request for each picture";
    let film = "expected a text without --bs, which belongs to the route `video`";
    let flags_only = "expected a text before the flags, got flags only";
    for (body, field, problem) in [
        (json!({"prompt": "a kite --repeat 4"}), "prompt", repeat),
        (json!({"prompt": "a kite --r 4"}), "prompt", repeat),
        (json!({"prompt": "a kite", "extra": "--repeat 4"}), "extra", repeat),
        (json!({"prompt": "a kite --video 1 --bs 4"}), "prompt", film),
        (json!({"prompt": " --v 7"}), "prompt", flags_only),
        (json!({"prompt": " --v 7", "image_urls": null}), "prompt", flags_only),
        (json!({"prompt": " --v 7", "image_urls": []}), "prompt", flags_only),
    ] {
        assert_eq!(sent(body), format!("`{field}`: {problem}"));
    }
}

#[test]
fn arguments_of_some_versions_are_refused_with_others() {
    for (field, version, message) in [
        ("draft", "6.1", "`draft`: expected version 7, 8.1 or 8.2, got version v6.1"),
        ("hd", "7", "`hd`: expected version 8.1 or 8.2, got version v7"),
    ] {
        let mut body = json!({"prompt": "a kite", "version": version});
        body[field] = json!(true);
        assert_eq!(sent(body), message);
    }
    assert_eq!(sent(json!({"prompt": "a kite", "version": "8.1", "hd": true})), "a kite --v 8.1 --hd");
    assert_eq!(sent(json!({"prompt": "a kite", "version": "7", "draft": true})), "a kite --v 7 --draft");
}
