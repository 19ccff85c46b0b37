//! Schemathesis, a public program that makes requests of a document and compares the answers with it. Used by the tests of both
//! documents.

use std::path::Path;
use std::process::{Command, Output};

use crate::clients::kit::{Set, Tool};

pub(crate) const FUZZER: Set = Set { tool: Tool::Python, name: "schemathesis" };
/// What every answer is compared with: its status, its type, its headers and its body are those of the document, nothing
/// fails, a path has exactly its methods, and nothing is answered without a credential that needs one.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,unsupported_method,allow_header_conformance,\
    ignored_auth";

/// Makes requests of a document, of the API at the address `base`, with the credential `bearer`; the same ones in every run.
pub(crate) fn compared(document: &Path, base: &str, bearer: &str, more: &[&str]) -> Output {
    let (python, _) = FUZZER.ready();
    let mut command = Command::new(python.with_file_name("schemathesis"));
    command.arg("run").arg(document);
    command.args(["--url", base]);
    command.args(["--header", &format!("Authorization: {bearer}")]);
    command.args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", "3"]);
    command.args(["--seed", "1", "--generation-database", "none", "--no-shrink", "--no-color"]);
    command.args(["--continue-on-failure", "--request-timeout", "60", "--workers", "1"]);
    // No settings of the developer count.
    command.args(more).current_dir(document.parent().expect("a folder"));
    command.output().expect("schemathesis runs")
}
