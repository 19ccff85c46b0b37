//! Briefs, requests that join, interim views and names in a file that is closed and opened between the commands.

use gatehouse_model::{Claim, Credits, Event, Phase, Status, Task};
use gatehouse_sample::{
    START, change, claim, completed, customer_id, delivery, failed, join_request, name, result, task, task_id,
};
use gatehouse_tasks::{Applied, Change, Command, Ending, Rejection};

use super::{begun_on_disk, reopened, submit};
use crate::store::Store;

async fn applied(store: &Store, command: Command) -> Task {
    match store.execute(command).await.unwrap() {
        Ok(Applied::Task(task)) => *task,
        other => panic!("expected a task, not {other:?}"),
    }
}

fn advance(revision: u64, change: Change) -> Command {
    Command::Advance { id: task_id(1), revision, change: Box::new(change), at: START }
}

fn finish(number: u8, revision: u64, mut ending: Ending, claimed: Vec<Claim>) -> Command {
    match &mut ending {
        Ending::Completed { claims, .. } | Ending::Failed { claims, .. } => *claims = claimed,
    }
    Command::Finish { id: task_id(number), revision, ending, audit: None, at: START }
}

#[tokio::test]
async fn what_joined_is_delivered_after_a_restart() {
    let (disk, store) = begun_on_disk().await;
    store.execute(submit(task(1, 0, 0, 10, START))).await.unwrap().unwrap();
    let begun = store.task(task_id(1)).await.unwrap().unwrap();
    assert_eq!(&begun.brief[..], [b'b', 1]);
    assert_eq!(begun.phase, Phase::Run(Event::Start(vec![].into())));

    let request = Box::new(join_request(1, 5, START));
    let brief = request.brief.clone();
    let join = Command::Join { parent: task_id(1), request, idempotency: None, at: START };
    assert_eq!(store.execute(join).await.unwrap(), Ok(Applied::Joined(task_id(1))));
    let showing = Change { view: Some(result(4)), ..change(Status::Processing, 1) };
    applied(&store, advance(0, showing)).await;

    let (disk, store) = reopened(&disk);
    let found = store.live_tasks(None).await.unwrap().remove(0);
    assert_eq!((found.brief.len(), found.joined.len(), found.held), (0, 1, Credits(15)));
    assert_eq!((found.joined[0].brief.clone(), found.public), (brief.clone(), result(4).public));
    let early = store.execute(finish(1, 1, completed(15), vec![])).await.unwrap();
    assert_eq!(early, Err(Rejection::JoinsPending(1)));
    applied(&store, advance(1, delivery(Status::Processing, 2))).await;

    // Until the step after it is durable, every restart finds it to deliver.
    let (_, store) = reopened(&disk);
    let found = store.task(task_id(1)).await.unwrap().unwrap();
    assert_eq!((found.brief, found.phase), (brief, Phase::Run(Event::Joined(vec![].into()))));
    assert_eq!(found.joined, []);
    applied(&store, advance(2, change(Status::Processing, 3))).await;
    let ended = applied(&store, finish(1, 3, completed(15), vec![])).await;
    assert_eq!((ended.cost, ended.brief.len()), (Some(Credits(15)), 0));
    assert!(store.examine().unwrap().is_clean());
}

#[tokio::test]
async fn names_are_their_customers_after_a_restart() {
    let (disk, store) = begun_on_disk().await;
    for (number, key, customer) in [(1, 0, 0), (2, 2, 1), (3, 1, 0)] {
        store.execute(submit(task(number, key, customer, 10, START))).await.unwrap().unwrap();
    }
    applied(&store, finish(1, 0, completed(10), vec![claim(1, 1), claim(2, 1)])).await;

    let (_, store) = reopened(&disk);
    let foreign = store.execute(finish(2, 0, completed(10), vec![claim(2, 9)])).await.unwrap();
    assert_eq!(foreign, Err(Rejection::NameTaken(name(2))));
    applied(&store, finish(2, 0, failed(), vec![claim(3, 3)])).await;
    applied(&store, finish(3, 0, completed(1), vec![claim(1, 7)])).await;
    assert_eq!(store.drop_history(u32::MAX).await, Ok(1));
    let asked = [3, 2, 8, 1].map(name);
    assert_eq!(store.owned_names(&customer_id(0), &asked).await.unwrap(), [claim(2, 1), claim(1, 7)]);
    assert_eq!(store.owned_names(&customer_id(1), &asked).await.unwrap(), [claim(3, 3)]);
    assert_eq!(store.owned_names(&customer_id(2), &asked).await.unwrap(), []);
    let report = store.examine().unwrap();
    assert_eq!((report.names, report.is_clean()), (3, true));
}
