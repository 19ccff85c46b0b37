//! The store moves from its file to a database, and back.

use std::collections::BTreeSet;
use std::fs;

use gatehouse_fault_injection::PostgresServer;
use gatehouse_harness::run;

use super::{at, seen, words};
use crate::lifecycle::webhooks;

/// An operator who outgrows a file would begin with an empty store, or lose what only one of the two kinds keeps.
#[test]
fn a_store_moves_to_a_database_and_back() {
    run(async {
        let url = PostgresServer::shared().database();
        let (_receiver, address) = webhooks::Receiver::start(|_, _| webhooks::Answer::Status(204)).await;
        let (mut gateway, caller) = webhooks::start_with(address, "").await;
        webhooks::webhook(&gateway, &format!("http://{address}/hook")).await;
        let mut tasks = BTreeSet::new();
        for number in 0..3 {
            tasks.insert(webhooks::submit(&caller, &format!("picture {number}")).await);
        }
        for task in &tasks {
            caller.end_of(task).await;
        }
        gateway.account_without_holds("acme").await;
        let before = seen(&gateway, &caller, &tasks).await;
        let (config, data) = (gateway.folder().join("gatehouse.toml"), gateway.folder().join("data"));
        let file = data.join("core.redb");
        let of_file = fs::read_to_string(&config).expect("a configuration");
        let of_database = format!("{}{of_file}", at(&url));

        let refused = gateway.try_command(&["store", "copy", "--to", "database"]).await;
        assert!(words(&refused).contains("data.url names no database"), "{}", words(&refused));
        fs::write(&config, &of_database).expect("a configuration");
        let refused = gateway.try_command(&["store", "copy", "--to", "database"]).await;
        let (code, said) = (refused.status.code(), words(&refused));
        assert!(code == Some(1) && said.contains("another gatehouse process"), "{code:?}: {said}");

        assert_eq!(gateway.terminate().await, Some(0));
        let said = gateway.command(&["store", "copy", "--to", "database"]).await;
        assert!(said.contains("rows, of them"), "{said}");
        gateway.expect_sound_ledger().await;
        let again = gateway.try_command(&["store", "copy", "--to", "database"]).await;
        assert_eq!(again.status.code(), Some(1), "{}", words(&again));
        gateway.restart().await;
        let caller = caller.at(gateway.public);
        assert_eq!(seen(&gateway, &caller, &tasks).await, before);
        let more = webhooks::submit(&caller, "one more").await;
        caller.end_of(&more).await;
        tasks.insert(more);
        gateway.account_without_holds("acme").await;
        let before = seen(&gateway, &caller, &tasks).await;

        let busy = gateway.try_command(&["store", "copy", "--to", "file"]).await;
        assert_eq!(busy.status.code(), Some(1), "{}", words(&busy));
        assert_eq!(gateway.terminate().await, Some(0));
        let there = gateway.try_command(&["store", "copy", "--to", "file"]).await;
        let (code, said) = (there.status.code(), words(&there));
        assert!(code == Some(1) && said.contains("there is a store already"), "{code:?}: {said}");
        fs::rename(&file, data.join("old.redb")).expect("the old store goes");
        gateway.command(&["store", "copy", "--to", "file"]).await;
        fs::write(&config, &of_file).expect("a configuration");
        gateway.expect_sound_ledger().await;
        gateway.restart().await;
        assert_eq!(seen(&gateway, &caller.at(gateway.public), &tasks).await, before);
    });
}
