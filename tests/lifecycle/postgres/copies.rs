//! The store moves from its file to a database, and back.

use std::collections::BTreeSet;
use std::fs;

use gatehouse_fault_injection::PostgresServer;
use gatehouse_harness::run;

use super::{at, seen};
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
        let data = gateway.folder().join("data");
        let file = data.join("core.redb");
        let of_file = gateway.config();
        let of_database = format!("{}{of_file}", at(&url));

        let (_, said) = gateway.refused(&["store", "copy", "--to", "database"]).await;
        assert!(said.contains("data.url names no database"), "{said}");
        gateway.set_config(&of_database);
        let (code, said) = gateway.refused(&["store", "copy", "--to", "database"]).await;
        assert!(code == Some(1) && said.contains("another gatehouse process"), "{code:?}: {said}");

        assert_eq!(gateway.terminate().await, Some(0));
        let said = gateway.command(&["store", "copy", "--to", "database"]).await;
        assert!(said.contains("rows, of them"), "{said}");
        gateway.expect_sound_ledger().await;
        let (code, said) = gateway.refused(&["store", "copy", "--to", "database"]).await;
        assert_eq!(code, Some(1), "{said}");
        gateway.restart().await;
        let caller = caller.at(gateway.public);
        assert_eq!(seen(&gateway, &caller, &tasks).await, before);
        let more = webhooks::submit(&caller, "one more").await;
        caller.end_of(&more).await;
        tasks.insert(more);
        gateway.account_without_holds("acme").await;
        let before = seen(&gateway, &caller, &tasks).await;

        let (code, said) = gateway.refused(&["store", "copy", "--to", "file"]).await;
        assert_eq!(code, Some(1), "{said}");
        assert_eq!(gateway.terminate().await, Some(0));
        let (code, said) = gateway.refused(&["store", "copy", "--to", "file"]).await;
        assert!(code == Some(1) && said.contains("there is a store already"), "{code:?}: {said}");
        fs::rename(&file, data.join("old.redb")).expect("the old store goes");
        gateway.command(&["store", "copy", "--to", "file"]).await;
        gateway.set_config(&of_file);
        gateway.expect_sound_ledger().await;
        gateway.restart().await;
        assert_eq!(seen(&gateway, &caller.at(gateway.public), &tasks).await, before);
    });
}
