//! A start whose database is not there, refuses, or is of no use.

use gatehouse_fault_injection::PostgresServer;
use gatehouse_harness::{Gateway, Setup, binary, run, send, until_some};

use super::{at, words};

fn setup(url: &str) -> Setup {
    Setup::sandbox_mode(&binary(env!("CARGO_BIN_EXE_gatehouse"))).with(&at(url))
}

/// Where an order of starts is wrong, or after a power cut, every gateway would have to be started by hand.
#[test]
fn a_start_waits_for_its_database_and_says_so() {
    run(async {
        let server = PostgresServer::start();
        let mut gateway = Gateway::start(setup(&server.database())).await;
        let caller = gateway.open_account("acme", "10").await;
        gateway.terminate().await;
        tokio::task::block_in_place(|| server.stop_immediately());
        let said = gateway.try_command(&["check-config"]).await;
        assert!(
            said.status.success() && words(&said).contains("warning: ") && words(&said).contains("data.url"),
            "{said:?}"
        );

        let log = gateway.folder().join("log");
        let before = std::fs::read_to_string(&log).expect("a log").len();
        let waiting = async {
            let admin = until_some("the start waits", async || {
                let text = std::fs::read_to_string(&log).expect("a log").split_off(before);
                let (_, rest) = text.split_once("/livez and /readyz are answered")?;
                let (_, rest) = rest.split_once("admin=")?;
                rest.split_whitespace().next()?.parse().ok()
            })
            .await;
            assert_eq!(send(admin, "GET", "/livez", &[], "").await.text(), "alive\n");
            let ready = send(admin, "GET", "/readyz", &[], "").await;
            assert!(ready.status == 503 && ready.text().contains("does not answer"), "{}", ready.text());
            tokio::task::block_in_place(|| server.start_again());
        };
        tokio::join!(gateway.restart(), waiting);
        assert_eq!(caller.at(gateway.public).get("/v1/balance").await.status, 200);
        assert_eq!(send(gateway.admin(), "GET", "/readyz", &[], "").await.status, 200);
        gateway.expect_sound_ledger().await;
    });
}

/// A start would wait for ever for what only an operator can mend.
#[test]
fn a_start_ends_where_the_database_refuses() {
    run(async {
        let (server, _) = PostgresServer::start_with_tls("sekret");
        let url = server.database();
        let password = |word: &str| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), word).expect("a password");
            file
        };
        let (right, wrong) = (password("sekret\n"), password("guess\n"));
        let with = |file: &tempfile::NamedTempFile, parameters: &str| {
            let keys = format!("password = {{ file = \"{}\" }}\n\n", file.path().display());
            setup(&format!("{url}?{parameters}")).with(&format!("[data]\n{keys}"))
        };
        let gateway = Gateway::start(with(&right, "sslmode=require")).await;
        gateway.expect_sound_ledger().await;
        drop(gateway);
        let cases = [
            (&wrong, "sslmode=require", "password authentication failed"),
            (&right, "sslmode=disable", "pg_hba.conf"),
            (&right, "sslmode=verify-full", "invalid peer certificate"),
        ];
        for (file, parameters, expected) in cases {
            let folder = tempfile::tempdir().expect("a folder");
            let config = folder.path().join("gatehouse.toml");
            let text = format!(
                "[server]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n[sandbox]\nenabled = true\n[data]\n\
                 url = \"{url}?{parameters}\"\npassword = {{ file = \"{}\" }}\n",
                file.path().display()
            );
            std::fs::write(&config, text).expect("a configuration");
            let mut start = tokio::process::Command::new(env!("CARGO_BIN_EXE_gatehouse"));
            start.arg("--config").arg(&config).arg("--data").arg(folder.path().join("data"));
            let ended = start.output().await.expect("the gateway runs");
            let said = words(&ended);
            assert_eq!(ended.status.code(), Some(2), "{parameters}: {said}");
            assert!(said.contains(expected) && !said.contains("guess") && !said.contains("sekret"), "{said}");
        }
    });
}
