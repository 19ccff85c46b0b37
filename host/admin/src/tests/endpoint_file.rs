//! The endpoint file: mode, replacement, removal, and a broken one.

use std::os::unix::fs::PermissionsExt as _;

use super::token;
use crate::{AdminEndpoint, Config, EndpointOf::Operator};

fn endpoint(fill: u8) -> AdminEndpoint {
    AdminEndpoint { address: Config::default().listen, token: token(fill), tls: false }
}

#[test]
fn only_the_process_that_wrote_the_file_removes_it() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Operator.read(folder.path()).unwrap().is_none());
    endpoint(1).write(folder.path(), Operator).unwrap();
    endpoint(2).write(folder.path(), Operator).unwrap();
    let mode = std::fs::metadata(Operator.path(folder.path())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    endpoint(1).remove(folder.path(), Operator).unwrap();
    let found = Operator.read(folder.path()).unwrap().unwrap();
    assert_eq!(found.token.reveal(), endpoint(2).token.reveal());
    endpoint(2).remove(folder.path(), Operator).unwrap();
    assert!(Operator.read(folder.path()).unwrap().is_none());
}

#[test]
fn the_error_of_a_broken_file_does_not_quote_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"{"address":"127.0.0.1:1","token":["deadbeef"]}"#;
    std::fs::write(Operator.path(folder.path()), text).unwrap();
    let error = Operator.read(folder.path()).unwrap_err().to_string();
    assert!(!error.contains("deadbeef") && error.contains("admin.json"), "{error}");
}

#[test]
fn a_token_does_not_print() {
    assert!(!format!("{:?}", token(0xab)).contains(token(0xab).reveal()));
}
