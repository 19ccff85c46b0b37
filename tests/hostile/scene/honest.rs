//! Requests of another family beside the hostile ones; each must be accepted and completed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_harness::Caller;
use serde_json::json;
use tokio::task::JoinHandle;

use super::gateway::IMAGES;

/// Two clients that send requests until they are stopped.
pub(crate) struct Honest {
    over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<usize>>,
}

impl Honest {
    pub(crate) fn start(caller: &Caller) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let clients = (0..2)
            .map(|_| {
                let (caller, over) = (caller.clone(), Arc::clone(&over));
                tokio::spawn(async move {
                    let mut served = 0;
                    while !over.load(Ordering::SeqCst) {
                        serve(&caller).await;
                        served += 1;
                    }
                    served
                })
            })
            .collect();
        Self { over, clients }
    }

    /// Stops; how many requests were served, all successfully.
    pub(crate) async fn stop(self) -> usize {
        self.over.store(true, Ordering::SeqCst);
        let mut served = 0;
        for client in self.clients {
            served += client.await.expect("no honest request failed");
        }
        served
    }
}

/// One honest request from its beginning to its end.
pub(crate) async fn serve(caller: &Caller) {
    let answer = caller.post(IMAGES, &json!({"model": "ctx-pro", "prompt": "an honest kite"})).await;
    let task = caller.end_of(&answer.task_id()).await;
    assert!(task["status"] == "completed" && task["cost"] == 4.0, "{task}");
}
