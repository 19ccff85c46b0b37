//! What the scripted backend gives: tasks in several states, dry runs, refusals by name.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_driver::{
    ChargeUnit, DryRun, DryRunCharge, MemoryShortage, QuotaExceeded, QuotaOwner, SealedSecret, ServedRoute,
    StoreError, SubmitError, WebhookEndpoint, WebhookEvent, WebhookPolicy,
};
use gatehouse_model::{
    Charge, Credits, CustomerId, FailureKind, KeyId, RouteInfo, RouteMethod, RouteUse, Status, Task,
    TaskFailure, TaskId, UnixMs, WebhookId, specified_routes,
};

/// A task that has just been accepted.
pub(super) fn task(id: TaskId) -> Task {
    let created = UnixMs(1_800_000_000_250);
    Task {
        id,
        revision: 1,
        customer: CustomerId::from("payer"),
        key: KeyId::from("key"),
        family: "context-image".to_owned(),
        model: "ctx-pro".to_owned(),
        expected_ms: Some(12_500),
        charge: Charge::of(["ctx-pro"], 1),
        ..gatehouse_sample::task(0, 0, 0, 4_500_000, created)
    }
}

/// A webhook that a customer made.
pub(crate) fn webhook() -> WebhookEndpoint {
    let policy = WebhookPolicy {
        url: "https://example.com/hook".to_owned(),
        events: vec![WebhookEvent::Failed],
        description: "of the shop".to_owned(),
        enabled: true,
    };
    let secret = SealedSecret { created: UnixMs(1_800_000_000_000), sealed: vec![1] };
    let (id, owner) = (WebhookId::from_bits(7), CustomerId::from("payer"));
    WebhookEndpoint::new(id, owner, policy, secret, Some(KeyId::from("key")))
}

/// Completes a task.
pub(crate) fn complete(task: &mut Task) {
    task.status = Status::Completed;
    task.progress = 100;
    task.cost = Some(Credits(4_500_000));
    task.finished = Some(task.created.plus(Duration::from_millis(7_100)));
    task.public = b"{}".to_vec();
}

/// Fails a task.
pub(crate) fn fail(task: &mut Task, kind: FailureKind, message: &str) {
    task.status = Status::Failed;
    task.cost = Some(Credits::ZERO);
    task.finished = Some(task.created.plus(Duration::from_secs(1)));
    task.failure = Some(TaskFailure { kind, message: message.to_owned() });
}

/// A dry run of so many units at 1.5 credits each.
pub(super) fn dry_run(unit: ChargeUnit, quantity: u64, at_most: bool) -> DryRun {
    let charge = DryRunCharge {
        keys: vec!["ctx-pro@4k".to_owned(), "ctx-pro".to_owned()],
        key: "ctx-pro".to_owned(),
        unit,
        quantity,
        unit_price: Credits(1_500_000),
        per: 1,
        sum: Credits(4_500_000),
    };
    let failure = TaskFailure { kind: FailureKind::Request, message: "no picture".to_owned() };
    let failure = (!at_most).then_some(failure);
    let (model, sum) = ("ctx-pro".to_owned(), Credits(4_500_000));
    DryRun { model, charges: vec![charge], sum, at_most, expected_ms: Some(7_100), failure, basis: None }
}

/// The error named by a body's `refuse` field.
pub(super) fn refusal(word: &str) -> SubmitError {
    let credits = Credits(4_500_000);
    match word {
        "field" => SubmitError::Invalid {
            field: Some("n".to_owned()),
            message: "n: expected a number, not \"2\"".to_owned(),
        },
        "body" => SubmitError::Invalid { field: None, message: "expected a JSON object".to_owned() },
        "model" => SubmitError::UnknownModel("unknown".to_owned()),
        "model-limit" => SubmitError::ModelForbidden("ctx-max".to_owned()),
        "response" => SubmitError::UnknownResponse("resp_2".to_owned()),
        "item" => SubmitError::UnknownItem("rs_2".to_owned()),
        "missing" => SubmitError::NotFound("unknown video".to_owned()),
        "forbidden" => SubmitError::Forbidden("that blob is not yours".to_owned()),
        "balance" => SubmitError::InsufficientBalance { needed: credits, available: Credits(1) },
        "quota" => SubmitError::QuotaExceeded(QuotaExceeded {
            owner: QuotaOwner::Key,
            needed: credits,
            remaining: Credits::ZERO,
            resets: None,
        }),
        "memory" => SubmitError::Memory(MemoryShortage::Key),
        "large" => SubmitError::Memory(MemoryShortage::TooLarge { most: 9 }),
        "conflict" => SubmitError::IdempotencyConflict,
        "key" => SubmitError::KeyGone,
        "busy" => SubmitError::Busy,
        "drain" => SubmitError::Draining,
        "disk" => SubmitError::DiskFull("media"),
        "store-full" => SubmitError::Store(StoreError::NoRoom),
        "store-busy" => SubmitError::Store(StoreError::Busy),
        "store-away" => SubmitError::Store(StoreError::Unavailable),
        "store-closed" => SubmitError::Store(StoreError::Closed),
        "store" => {
            SubmitError::Store(StoreError::Failed { reason: "disk on fire at /var/secret".to_owned() })
        }
        _ => SubmitError::Internal("the plugin returned sk-secret".to_owned()),
    }
}

/// The routes of the specification, and some of the journey family.
pub(crate) fn routes() -> Arc<[ServedRoute]> {
    let model = Some("journey".to_owned());
    let verb = |path: &str, surface: &str| RouteInfo {
        path: format!("/v1/journey/{path}"),
        surface: format!("journey.{surface}"),
        model: model.clone(),
        ..specified_routes()[0].clone()
    };
    let read = RouteInfo {
        method: RouteMethod::Get,
        does: RouteUse::View,
        model: None,
        ..verb("{task_id}", "read")
    };
    let journey = [
        verb("generations", "imagine"),
        verb("generations/imagine", "imagine"),
        verb("generations/high-variation", "high_variation"),
        verb("generations/zoom", "zoom"),
        read,
    ];
    specified_routes().iter().chain(&journey).map(served).collect()
}

/// A route as an active family serves it.
pub(crate) fn served(route: &RouteInfo) -> ServedRoute {
    ServedRoute { route: route.clone(), family: "context-image".to_owned(), is_off: false, form: None }
}
