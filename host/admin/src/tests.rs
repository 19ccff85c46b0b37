//! The door over real sockets: pages, token, operations there and back, the file, and the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gatehouse_model::{Clock, Credits, Customer, CustomerId, Pause, Seed, UnixMs};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{
    Admin, ClientError, Component, Config, Door, NewKey, Operation, OperationError, Operations, Outcome,
    Performing, Token, ask,
};

struct Still;
impl Clock for Still {
    fn now(&self) -> UnixMs {
        UnixMs(0)
    }
    fn pause(&self, _: Duration) -> Pause {
        Box::pin(std::future::ready(()))
    }
}

struct Filled(u8);
impl Seed for Filled {
    fn fill(&self, into: &mut [u8]) {
        into.fill(self.0);
    }
}

/// Knows one account, and says back what it was given as a memo.
#[derive(Default)]
struct Fake {
    ready: AtomicBool,
}

impl Operations for Fake {
    fn perform(&self, operation: Operation) -> Performing<'_> {
        Box::pin(async move {
            match operation {
                Operation::AccountShow { account } if account.0 == "known" => Ok(Outcome::Customer(known())),
                Operation::AccountShow { account } => {
                    Err(OperationError::NotFound(format!("no account {account}")))
                }
                Operation::PluginCheck { component, .. } => {
                    Err(OperationError::Refused(format!("{} bytes", component.0.len())))
                }
                other => Err(OperationError::Failed(format!("{other:?}"))),
            }
        })
    }
    fn metrics(&self) -> String {
        "gatehouse_up 1\n".to_owned()
    }
    fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }
}

fn known() -> Customer {
    Customer {
        id: CustomerId::from("known"),
        created: UnixMs(7),
        available: Credits(1_500_000),
        reserved: Credits::ZERO,
        spent: Credits::ZERO,
        deposited: Credits(1_500_000),
    }
}

async fn stand() -> (Admin, Door, Arc<Fake>) {
    let (fake, token) = (Arc::new(Fake::default()), Token::mint(&Filled(0xab)));
    let admin =
        Admin::start(Config::default().listen, token.clone(), fake.clone(), Arc::new(Still)).await.unwrap();
    let door = Door { address: admin.address(), token };
    (admin, door, fake)
}

async fn raw(door: &Door, request: &str) -> String {
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn first_line(door: &Door, line: &str, more: &str) -> String {
    let answer =
        raw(door, &format!("{line} HTTP/1.1\r\nhost: door\r\nconnection: close\r\n{more}\r\n")).await;
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn every_page_answers_as_it_should() {
    let (admin, door, fake) = stand().await;
    let cases = [
        ("GET /livez", "HTTP/1.1 200 OK"),
        ("HEAD /livez", "HTTP/1.1 200 OK"),
        ("GET /readyz", "HTTP/1.1 503 Service Unavailable"),
        ("GET /metrics", "HTTP/1.1 200 OK"),
        ("POST /metrics", "HTTP/1.1 405 Method Not Allowed"),
        ("GET /admin/operations", "HTTP/1.1 405 Method Not Allowed"),
        ("GET /v1/models", "HTTP/1.1 404 Not Found"),
        ("POST /admin/operations", "HTTP/1.1 401 Unauthorized"),
    ];
    for (line, expected) in cases {
        assert_eq!(first_line(&door, line, "").await, expected, "{line}");
    }
    fake.ready.store(true, Ordering::Relaxed);
    assert_eq!(first_line(&door, "GET /readyz", "").await, "HTTP/1.1 200 OK");
    let metrics = raw(&door, "GET /metrics HTTP/1.1\r\nhost: door\r\nconnection: close\r\n\r\n").await;
    assert!(metrics.ends_with("gatehouse_up 1\n"), "{metrics}");
    admin.stop().await;
}

#[tokio::test]
async fn only_the_token_opens() {
    let (admin, door, _) = stand().await;
    let right = door.token.reveal().to_owned();
    let body = r#"{"operation":"account-show","account":"known"}"#;
    for (authorization, expected) in [
        (format!("Bearer {right}"), "200"),
        (format!("bearer {right}"), "200"),
        (format!("Basic {right}"), "401"),
        (format!("Bearer {}", right.replace('a', "b")), "401"),
        (format!("Bearer {}", &right[1..]), "401"),
        ("Bearer ".to_owned(), "401"),
        (right.clone(), "401"),
    ] {
        let more = format!("authorization: {authorization}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let line = first_line(&door, "POST /admin/operations", &more).await;
        assert_eq!(line.split(' ').nth(1), Some(expected), "{line}");
    }
    admin.stop().await;
}

#[tokio::test]
async fn an_operation_travels_there_and_back() {
    let (admin, door, _) = stand().await;
    let show = |name: &str| Operation::AccountShow { account: CustomerId::from(name) };
    assert_eq!(ask(&door, &show("known")).await.unwrap(), Outcome::Customer(known()));
    let missing = ask(&door, &show("nobody")).await;
    assert!(
        matches!(&missing, Err(ClientError::Refused(OperationError::NotFound(text))) if text == "no account nobody"),
        "{missing:?}"
    );
    let component = Component(vec![0xff; 3 << 20]);
    let checked = ask(&door, &Operation::PluginCheck { component, signature: None }).await.unwrap_err();
    assert_eq!(checked.to_string(), format!("{} bytes", 3 << 20));
    admin.stop().await;
}

#[tokio::test]
async fn a_closed_or_foreign_door_is_told_apart() {
    let (admin, door, _) = stand().await;
    let stranger = Door { token: Token::mint(&Filled(1)), ..door.clone() };
    assert!(matches!(ask(&stranger, &Operation::Doctor).await, Err(ClientError::Foreign { .. })));
    admin.stop().await;
    assert!(matches!(ask(&door, &Operation::Doctor).await, Err(ClientError::Closed { .. })));
}

#[tokio::test]
async fn stopping_does_not_wait_for_an_idle_connection() {
    let (admin, door, _) = stand().await;
    let mut idle = TcpStream::connect(door.address).await.unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: door\r\n\r\n").await.unwrap();
    let mut some = [0; 16];
    assert!(idle.read(&mut some).await.unwrap() > 0);
    admin.stop().await;
}

#[test]
fn the_file_comes_back_and_only_its_owner_removes_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let door = |fill| Door { address: Config::default().listen, token: Token::mint(&Filled(fill)) };
    assert!(Door::read(folder.path()).unwrap().is_none());
    door(1).write(folder.path()).unwrap();
    door(2).write(folder.path()).unwrap();
    let mode = std::fs::metadata(Door::path(folder.path())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    door(1).remove(folder.path()).unwrap();
    assert_eq!(Door::read(folder.path()).unwrap().unwrap().token.reveal(), door(2).token.reveal());
    door(2).remove(folder.path()).unwrap();
    assert!(Door::read(folder.path()).unwrap().is_none());
}

#[test]
fn a_broken_file_does_not_spill_its_content() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(Door::path(folder.path()), r#"{"address":"127.0.0.1:1","token":["deadbeef"]}"#).unwrap();
    let error = Door::read(folder.path()).unwrap_err().to_string();
    assert!(!error.contains("deadbeef") && error.contains("admin.json"), "{error}");
}

#[test]
fn secrets_do_not_print() {
    let token = Token::mint(&Filled(0xab));
    assert!(!format!("{token:?}").contains("abab"));
    assert_eq!(format!("{:?}", crate::Revealed("sk-secret".to_owned())), "(secret)");
}

#[test]
fn a_listener_others_can_reach_must_be_asked_for() {
    let open = Config { listen: "0.0.0.0:9090".parse().unwrap(), ..Config::default() };
    let (key, message) = open.check().unwrap_err();
    assert_eq!(key, "listen");
    assert!(message.contains("allow_remote"), "{message}");
    assert!(Config { allow_remote: true, ..open }.check().is_ok());
    assert!(Config::default().check().is_ok());
}

#[test]
fn every_operation_reads_back() {
    let account = CustomerId::from("a");
    let amount = Credits(250_000);
    let new = NewKey {
        account: account.clone(),
        name: "n".to_owned(),
        quota: Some(amount),
        models: vec!["ctx-pro".to_owned()],
        networks: vec!["10.0.0.0/8".parse().unwrap()],
        expires: Some(UnixMs(5)),
        chat_format: gatehouse_model::ChatFormat::Bare,
    };
    let all = [
        Operation::AccountOpen { account: account.clone() },
        Operation::AccountList,
        Operation::AccountDeposit { account: account.clone(), amount, memo: String::new() },
        Operation::AccountWithdraw { account, amount, memo: "m".to_owned() },
        Operation::KeyCreate(new),
        Operation::KeyList { account: None, revoked: true },
        Operation::KeyRevoke { key: "k".into() },
        Operation::Doctor,
        Operation::PluginCheck { component: Component(vec![0, 255]), signature: Some("s".to_owned()) },
    ];
    for operation in all {
        let text = serde_json::to_string(&operation).unwrap();
        assert_eq!(serde_json::from_str::<Operation>(&text).unwrap(), operation, "{text}");
    }
    let unknown = r#"{"operation":"key-revoke","key":"k","softly":true}"#;
    assert!(serde_json::from_str::<Operation>(unknown).is_err());
}
