//! A public linter of OpenAPI documents, with its recommended rules. Used by the tests of both documents.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::clients::kit::{Set, Tool};

pub(crate) const LINTER: Set = Set { tool: Tool::Node, name: "redocly" };

/// What the linter finds in a document: a line for each problem, warnings too.
pub(crate) fn problems(folder: &Path, document: &Path) -> Vec<String> {
    let mut linter = Command::new("node");
    linter.arg(folder.join("node_modules/@redocly/cli/bin/cli.js"));
    linter.args(["lint", "--extends=recommended", "--format=json"]).arg(document);
    // It does not see that forms are apart whose models differ, where one of them may leave the model out.
    linter.arg("--skip-rule=no-illogical-composition-keywords");
    // Nothing leaves the machine, and no settings of the developer count.
    linter.current_dir(document.parent().expect("a folder")).env("CI", "true");
    linter.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    let output = linter.output().expect("the linter runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value =
        serde_json::from_str(text.get(text.find('{').unwrap_or_default()..).unwrap_or_default())
            .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    let found = report["problems"].as_array().expect("a list of problems");
    let line = |problem: &Value| {
        format!("{} {} at {}", problem["ruleId"], problem["message"], problem["location"][0]["pointer"])
    };
    found.iter().map(line).collect()
}
