//! Polling by list as a script that an author of any language may write: its lines `merge` and `split`, played against
//! the component.

use gatehouse_testkit::Script;

use crate::journey::COMPONENT;

const LIST: &str = r#"
    # Many polls become one list.
    {"merge": {"key": "tasks", "items": ["1", "2", "3"]}}
    {"expect": {"merged": {
      "provider": "midjourney", "method": "POST", "path": "/mj/task/list-by-condition", "replay": "safe",
      "json": {"ids": ["1", "2", "3"]}
    }}}
    # Each task gets its own record. One is not in the list, and asks for itself.
    {"split": {"key": "tasks", "items": ["1", "2", "3"], "reply": {
      "status": 200, "affinity": "account-7",
      "json": [{"id": 3, "status": "SUBMITTED"}, {"id": "1", "status": "IN_PROGRESS", "progress": "40%"}]
    }}}
    {"expect": {"parts": [
      {"status": 200, "body": {"id": "1", "progress": "40%"}, "affinity": "account-7"},
      null,
      {"status": 200, "body": {"id": 3, "status": "SUBMITTED"}}
    ]}}
    # A provider that is busy is busy for all of them.
    {"split": {"key": "tasks", "items": ["1", "2"], "reply": {"status": 429, "json": {}}}}
    {"expect": {"parts": [{"status": 429}, {"status": 429}]}}
"#;

fn played(script: &str) -> Result<(), String> {
    Script::parse(script, "list.play".as_ref())?.play(&*COMPONENT)
}

#[test]
fn a_list_is_asked_for_and_split() {
    assert_eq!(played(LIST), Ok(()));
}

#[test]
fn a_wrong_expectation_says_where() {
    for (line, wrong, expected) in [
        (r#""replay": "safe""#, r#""replay": "once""#, "merged.replay: expected \"once\"\n  came: \"safe\""),
        (
            r#"["1", "2", "3"]}
    }}}"#,
            r#"["1"]}
    }}}"#,
            "merged.json.ids: expected [\"1\"]\n  came: [\"1\",\"2\",\"3\"]",
        ),
        ("      null,\n", "      {},\n", "parts[1]: expected {}\n  came: null"),
        (r#"[{"status": 429}, {"#, r#"[{"status": 200}, {"#, "parts[0].status: expected 200\n  came: 429"),
        (r#"[{"status": 429}, {"status": 429}]"#, "[]", "parts: expected []"),
    ] {
        let script = LIST.replacen(line, wrong, 1);
        assert_ne!(script, LIST, "{line}");
        let problem = played(&script).expect_err(wrong);
        assert!(problem.contains("at list.play:") && problem.contains(expected), "{wrong}: {problem}");
    }
}
