//! Lines to paste: the same request with curl, Python and JavaScript.

use serde_json::Value;

/// A request to show.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// GET, POST or DELETE.
    pub method: &'a str,
    /// A parameter in braces is shown as a word to replace.
    pub path: &'a str,
    /// JSON; none for a request without a body.
    pub body: Option<&'a Value>,
    /// Whether it is sent with a key, which stands in `$GATEHOUSE_KEY`.
    pub has_key: bool,
    /// What addresses begin with.
    pub base: &'a str,
}

impl Sample<'_> {
    /// The path with its parameter as a word to replace.
    fn path(&self) -> String {
        match self.path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
            Some((before, (name, after))) => format!("{before}{}{after}", name.to_uppercase()),
            None => self.path.to_owned(),
        }
    }

    fn body_text(&self) -> Option<String> {
        serde_json::to_string_pretty(self.body?).ok()
    }

    /// For a shell.
    #[must_use]
    pub fn curl(&self) -> String {
        // In quotation marks: what a reader puts in the place of a parameter may have a `&`.
        let address = format!("\"{}{}\"", self.base, self.path());
        let is_plain = self.method == "GET" || self.method == "POST" && self.body.is_some();
        let mut lines = vec![if is_plain {
            format!("curl {address}")
        } else {
            format!("curl -X {} {address}", self.method)
        }];
        if self.has_key {
            lines.push("-H \"Authorization: Bearer $GATEHOUSE_KEY\"".to_owned());
        }
        if let Some(body) = self.body_text() {
            lines.push("-H 'Content-Type: application/json'".to_owned());
            lines.push(format!("-d '{}'", body.replace('\'', r"'\''")));
        }
        lines.join(" \\\n  ")
    }

    /// With `requests`.
    #[must_use]
    pub fn python(&self) -> String {
        let mut lines = vec!["import os, requests".to_owned(), String::new()];
        lines.push(format!("answer = requests.{}(", self.method.to_lowercase()));
        lines.push(format!("    \"{}{}\",", self.base, self.path()));
        if self.has_key {
            lines.push(
                "    headers={\"Authorization\": \"Bearer \" + os.environ[\"GATEHOUSE_KEY\"]},".to_owned(),
            );
        }
        if let Some(body) = self.body {
            lines.push(format!("    json={},", indented(&python_value(body, 0))));
        }
        lines.push(")".to_owned());
        lines.push("print(answer.status_code, answer.text)".to_owned());
        lines.join("\n")
    }

    /// With `fetch`.
    #[must_use]
    pub fn javascript(&self) -> String {
        let mut lines = vec![format!("const answer = await fetch(\"{}{}\", {{", self.base, self.path())];
        lines.push(format!("  method: \"{}\",", self.method));
        let mut headers = Vec::new();
        if self.has_key {
            headers.push("Authorization: `Bearer ${process.env.GATEHOUSE_KEY}`".to_owned());
        }
        if self.body.is_some() {
            headers.push("\"Content-Type\": \"application/json\"".to_owned());
        }
        if !headers.is_empty() {
            lines.push(format!("  headers: {{ {} }},", headers.join(", ")));
        }
        if let Some(body) = self.body_text() {
            lines.push(format!("  body: JSON.stringify({}),", body.replace('\n', "\n  ")));
        }
        lines.push("});".to_owned());
        lines.push("console.log(answer.status, await answer.text());".to_owned());
        lines.join("\n")
    }
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}

/// A value as Python writes it.
fn python_value(value: &Value, depth: usize) -> String {
    let (pad, end) = ("    ".repeat(depth + 1), "    ".repeat(depth));
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| format!("{pad}{},\n", python_value(item, depth + 1))).collect();
            format!("[\n{}{end}]", items.concat())
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{pad}{}: {},\n", Value::from(name.as_str()), python_value(value, depth + 1))
            };
            format!("{{\n{}{end}}}", members.iter().map(member).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_request_in_three_ways() {
        let body = json!({"prompt": "it's", "n": null, "raw": true});
        let sample = Sample {
            method: "POST",
            path: "/v1/videos/{task_id}/remix",
            body: Some(&body),
            has_key: true,
            base: "http://a",
        };
        assert_eq!(
            sample.curl(),
            "curl \"http://a/v1/videos/TASK_ID/remix\" \\\n  -H \"Authorization: Bearer $GATEHOUSE_KEY\" \\\n  \
             -H 'Content-Type: application/json' \\\n  \
             -d '{\n  \"n\": null,\n  \"prompt\": \"it'\\''s\",\n  \"raw\": true\n}'"
        );
        let python = sample.python();
        for part in ["requests.post(", "\"n\": None,", "\"raw\": True,", "os.environ[\"GATEHOUSE_KEY\"]"] {
            assert!(python.contains(part), "{python}");
        }
        let script = sample.javascript();
        for part in ["fetch(\"http://a/v1/videos/TASK_ID/remix\"", "method: \"POST\"", "JSON.stringify({"] {
            assert!(script.contains(part), "{script}");
        }
        let plain = Sample { method: "DELETE", path: "/v1/a", body: None, has_key: false, base: "http://a" };
        assert_eq!(plain.curl(), "curl -X DELETE \"http://a/v1/a\"");
        assert!(!plain.python().contains("headers"));
    }
}
