//! Disks without room: what writes is refused with the reason, what reads and what was accepted goes on, and room is
//! enough to serve again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Cancelled, Disk, DiskSpace, Receipt, SubmitError, SubmitRequest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_harness::{Received, reply, until};
use gatehouse_model::{Key, Status, UnixMs};
use serde_json::{Value, json};

use crate::tests::support::{PuppetTest, customer_named, fine, gate, submission};

const SIZE: u64 = 100 << 30;
/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(1);
/// The mark of a disk without a configured one.
const MARK: u64 = 256 << 20;

/// Free bytes of a disk, as the test says.
#[derive(Clone)]
struct Free(Arc<AtomicU64>);

impl Free {
    fn disk(&self, name: &'static str) -> Disk {
        let free = self.clone();
        Disk::new(name, None, move || match free.0.load(Ordering::SeqCst) {
            u64::MAX => Err(io::Error::other("no such disk")),
            free => Ok(DiskSpace { free, size: SIZE }),
        })
    }

    fn set(&self, free: u64) {
        self.0.store(free, Ordering::SeqCst);
    }
}

async fn submit(test: &PuppetTest, steps: &Value, token: Option<&str>) -> Result<Receipt, SubmitError> {
    let body = json!({"model": "puppet-1", "script": {"steps": steps}});
    let idempotency = token.map(str::to_owned);
    let request = SubmitRequest { idempotency, ..submission(&test.key, &body) };
    test.process.driver.intake.submit(request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_low_disk_takes_no_new_task_and_serves_the_others() {
    for low in ["store", "media"] {
        let disks = ["store", "media"].map(|name| (name, Free(Arc::new(AtomicU64::new(SIZE)))));
        let watched = disks.iter().map(|(name, free)| free.disk(name)).collect();
        let answer = |_: &Received| reply(200, &[], "{}");
        let test = PuppetTest::started(answer, &["main"], 200, watched).await;
        let free = &disks.iter().find(|(name, _)| *name == low).expect("one of them").1;
        // Not as long as a pause of the watch: the test would take the one for the other.
        let steps = json!([{"wait": 1500}, {"done": {}}]);
        let before = submit(&test, &steps, Some("first")).await.expect("a receipt").task;

        // After the next look at the disks.
        let outcome = || async {
            test.clock.end_pauses(INTERVAL).await;
            test.clock.armed(INTERVAL).await;
            submit(&test, &json!([{"done": {}}]), None).await
        };
        assert!(outcome().await.is_ok());
        free.set(MARK - 1);
        let refused = outcome().await;
        assert!(matches!(refused, Err(SubmitError::DiskFull(name)) if name == low), "{refused:?}");
        // A lost receipt is given again, and a task that was accepted comes to its end.
        let again = submit(&test, &steps, Some("first")).await.expect("the first receipt");
        assert_eq!((again.task, again.repeated), (before, true));
        until("the task has ended", async || {
            test.clock.advance_ms(10);
            let task =
                test.process.driver.tasks.task(&test.key, before).await.expect("readable").expect("known");
            task.status == Status::Completed
        })
        .await;
        // A disk that cannot be read stays as it was, and a little more room is not enough.
        for free_bytes in [u64::MAX, MARK + 1] {
            free.set(free_bytes);
            let refused = outcome().await;
            assert!(matches!(refused, Err(SubmitError::DiskFull(_))), "{refused:?}");
        }
        free.set(SIZE / 2);
        outcome().await.expect("a receipt");
    }
}

/// One customer that sends pictures as fast as it can fills the disk; without a share everybody's tasks get a 503 then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_customer_that_fills_the_disk_is_refused_and_another_is_not() {
    const PICTURE: usize = 1 << 20;
    let free = Free(Arc::new(AtomicU64::new(MARK + 10 * PICTURE as u64)));
    let answer = |_: &Received| reply(200, &[], "{}");
    let test = PuppetTest::started(answer, &["main"], 200, vec![free.disk("media")]).await;
    let other = customer_named(&test.process.store, "other", 77, UnixMs(1)).await;
    let picture = format!("data:image/png;base64,{}", STANDARD.encode(vec![b'x'; PICTURE]));
    let submit = async |key: &Arc<Key>| {
        let script = json!({"steps": [{"wait": 100_000}, {"done": {}}]});
        test.try_body(key, &json!({"model": "puppet-1", "script": script, "picture": picture})).await
    };
    for number in 0..5 {
        submit(&test.key).await.unwrap_or_else(|error| panic!("picture {number}: {error}"));
    }
    let refused = submit(&test.key).await.expect_err("half of what was free");
    let message = "the unfinished tasks of this account hold 5 MiB of files, which is its share of the disk; retry when some of \
                   them have ended";
    assert_eq!(refused.to_string(), message);
    submit(&other).await.expect("another customer has a share");
}

/// A picture of one pixel, short enough to stay in a request.
const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

/// Without it tasks that fail after a look at their files, and so cost nothing, fill the disk for a day, and their customer's share of
/// it for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_did_not_become_a_tasks_own_go_with_it() {
    const PICTURE: usize = 1 << 20;
    const ROUNDS: usize = 4;
    let free = Free(Arc::new(AtomicU64::new(MARK + 5 * PICTURE as u64)));
    let uri = format!("data:image/png;base64,{}", STANDARD.encode(vec![b'x'; PICTURE]));
    let embedded = json!({"model": "puppet-1", "script": {}, "picture": uri});
    let (told, picture) = (embedded.to_string(), vec![b'x'; PICTURE]);
    let answer = move |request: &Received| match request.path() {
        "/cut" => reply(200, &[("content-type", "application/json")], told.clone()),
        _ => reply(200, &[("content-type", "image/png")], picture.clone()),
    };
    let test = PuppetTest::started(answer, &["main"], 200, vec![free.disk("media")]).await;
    for first in [
        json!({"probe": [format!("{}/probed", test.provider.url())], "keep": true}),
        json!({"call": {"method": "GET", "path": "/saved", "replay": "safe", "save-body": true}}),
        json!({"call": {"method": "GET", "path": "/cut", "replay": "safe", "cut-body": true}}),
    ] {
        for _ in 0..ROUNDS {
            let task = test.run(&json!([first, {"fail": "no"}])).await;
            assert_eq!(test.end_of(task).await.status, Status::Failed, "{first}");
            until("its file is gone", async || test.kept_files() == 0).await;
        }
    }
    assert_eq!(["/probed", "/saved", "/cut"].map(|path| test.calls(path)), [ROUNDS; 3]);
    test.try_body(&test.key, &embedded).await.expect("what was kept before takes no room");
}

/// Without it a task goes on without the file that it has kept, once it has waited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_became_a_tasks_own_stays_until_its_end() {
    let test = PuppetTest::with(fine, &["main"]).await;
    let steps = json!([
        {"probe": [PIXEL], "keep": true},
        {"wait": 1500},
        {"done": {"products": [{"source": {"$blob": 0}}]}},
    ]);
    let task = test.run(&steps).await;
    test.until_waits(task).await;
    until("the task has ended", async || {
        test.clock.advance_ms(200);
        test.stored(task).status.is_final()
    })
    .await;
    let ended = test.stored(task);
    assert_eq!((ended.status, ended.media.len()), (Status::Completed, 1), "{ended:?}");
    until("its file is gone", async || test.kept_files() == 0).await;
}

/// Without it what a probe has kept stays for a day where its task ends before it does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_probe_go_where_its_task_is_cancelled_meanwhile() {
    let (go, script) = gate();
    let test = PuppetTest::with(script, &["main"]).await;
    let sources = [PIXEL.to_owned(), format!("{}/slow", test.provider.url())];
    let task = test.run(&json!([{"probe": sources, "keep": true}, {"fail": "no"}])).await;
    until("the first is kept", async || test.kept_files() == 1).await;
    let cancelled = test.process.driver.cancels.cancel(&test.key, task).await;
    assert!(matches!(cancelled, Ok(Cancelled::Ended(_))), "{cancelled:?}");
    go.send(()).expect("a provider");
    until("both are gone", async || test.kept_files() == 0).await;
}

/// Without it a request that only asks, and costs nothing, leaves what it has kept for a day.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_dry_run_go_where_its_time_ends_before_a_link_answers() {
    const PATIENCE: Duration = Duration::from_secs(30);
    let (_go, script) = gate();
    let test = PuppetTest::with(script, &["main"]).await;
    let sources = [PIXEL.to_owned(), format!("{}/slow", test.provider.url())];
    let steps = json!([{"probe": sources, "keep": true}, {"fail": "no"}]);
    let body = json!({"model": "puppet-1", "script": {"steps": steps}});
    let ends = async {
        until("the first is kept", async || test.kept_files() == 1).await;
        test.clock.end_pauses(PATIENCE).await;
    };
    let asked = test.process.driver.intake.dry_run(submission(&test.key, &body));
    let (told, ()) = tokio::join!(asked, ends);
    assert!(told.expect("a price").failure.is_none(), "its links were not all looked at");
    until("it is gone", async || test.kept_files() == 0).await;
}
