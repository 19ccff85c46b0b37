//! The answers to the submission: it is sent once, and again only when it certainly was not accepted.

use gatehouse_sdk::{Blame, Reply, Stage};
use serde_json::{Value, json};

use crate::motion::{FAILED, play, sent, taken};
use crate::tasks::{UNAVAILABLE, is_never_sent_twice, is_sent_for_five_minutes, seconds, sent_again};

fn refusal(code: &str, message: &str) -> Value {
    json!({"request_id": "7438", "code": code, "message": message})
}

#[test]
fn an_accepted_submission_is_pending() {
    play(&taken().expect_stage(Stage::Pending).expect_progress(0));
}

#[test]
fn answers_that_end_the_task() {
    let end = |status: u16, body: Value, blame: Blame, message: &str| {
        play(&sent().reply(status, body).expect_fail(blame, message));
    };
    for (status, code) in [
        (401, "InvalidApiKey"),
        (400, "Arrearage"),
        (403, "AccessDenied"),
        (403, "AccessDenied.Unpurchased"),
        (403, "Model.AccessDenied"),
        (403, "AllocationQuota.FreeTierOnly"),
        (404, "ModelNotFound"),
        (402, "Odd"),
        (429, "PostpaidBillOverdue"),
        (429, "PrepaidBillOverdue"),
        (429, "CommodityNotPurchased"),
        (429, "BudgetLimitExceeded"),
        (400, "Workspace.AccessDenied"),
    ] {
        end(status, refusal(code, "the account is in arrears"), Blame::Account, UNAVAILABLE);
    }
    end(400, refusal("InvalidParameter", "Model not exist."), Blame::Account, UNAVAILABLE);
    let invalid = "the upstream refused the request: duration must be 5";
    end(400, refusal("InvalidParameter", "parameters.duration must be 5"), Blame::Request, invalid);
    let unreachable = "dependency unavailable: an image, video or sound of the request could not be fetched";
    end(400, refusal("InvalidParameter.DataInspection", "x"), Blame::Request, unreachable);
    let moderated = "the request or the generated video was stopped by content moderation";
    end(400, refusal("DataInspectionFailed", "x"), Blame::Moderation, moderated);
    let inside = json!({"error": {"code": "data_inspection_failed", "message": "x"}, "request_id": "7438"});
    end(400, inside, Blame::Moderation, moderated);
    let infringing = "the request or the generated video was stopped: suspected infringement of rights";
    end(400, refusal("IPInfringementSuspect", "x"), Blame::Moderation, infringing);
    let size = "the upstream refused the request: too large";
    end(400, refusal("InvalidFile.Size", "too large"), Blame::Request, size);
    for (status, body) in [
        (500, refusal("InternalError", "boom")),
        (500, refusal("InternalError.Algo.Failed", "boom")),
        (503, json!({})),
        (302, json!({})),
        (400, json!({})),
        (200, json!({})),
        (200, json!({"output": {"task_status": "PENDING"}})),
        (200, json!({"output": {"task_id": "../x"}})),
        (200, json!({"output": 5})),
    ] {
        end(status, body, Blame::Upstream, FAILED);
    }
    play(
        &sent().reply_whole(Reply::raw(502, "<html>bad gateway</html>")).expect_fail(Blame::Upstream, FAILED),
    );
    play(&sent().reply_whole(Reply::raw(200, "{\"output\": ")).expect_fail(Blame::Upstream, FAILED));
}

#[test]
fn never_repeats_a_submission_after_a_lost_answer() {
    is_never_sent_twice(sent, play);
}

#[test]
fn throttled_submissions_are_sent_again_until_the_deadline() {
    let codes = ["Throttling.RateQuota", "Throttling.AllocationQuota", "Throttling"];
    let mut script = sent();
    for (round, wait) in [2, 4, 8, 16].into_iter().chain([30; 60]).enumerate() {
        script = sent_again(script.reply(429, refusal(codes[round % 3], "slow down")), wait)
            .expect_stage(Stage::Pending);
    }
    play(&script.reply(200, json!({"output": {"task_id": "1"}})).expect_wait(seconds(2)));
}

#[test]
fn retries_an_unreachable_provider_for_five_minutes() {
    is_sent_for_five_minutes(sent(), play);
}

#[test]
fn cancels_a_waiting_submission() {
    let resting = sent().reply(429, json!({})).expect_wait(|_| ());
    play(&resting.cancel().expect_fail(Blame::Request, "cancelled before it was started"));
    // The outcome of the sent call is unknown: the task continues.
    play(&sent().cancel().expect_wait(seconds(1800)));
}
