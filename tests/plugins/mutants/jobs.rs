//! The families of tasks: the provider's answer to a submission and to a poll in every wrong form. Nothing is submitted twice, what
//! was made is delivered, and no fault of the provider is the client's.

use clip::Clip;
use context_image::ContextImage;
use gatehouse_sdk::{Action, Blame, Context, Event, Jobs, Replay, Reply, Submission, UnixMs, run};
use imagine::Imagine;
use journey::Journey;
use motion::Motion;
use scene::Scene;
use serde_json::{Value, json};

use super::bend::{Bend, NO_ANSWERS, SECRETS, mutants};

/// How a task has ended.
#[derive(Debug)]
enum End {
    /// With the sources of its products.
    Done(Vec<String>),
    Failed(Blame, String),
    /// It still asks.
    Waits,
}

/// A family, a request, the answers of its provider in their order (the last for every further call), and what the last delivers.
struct Job {
    family: &'static str,
    surface: &'static str,
    body: Value,
    answers: Vec<Value>,
    made: &'static str,
    /// Members without which nobody knows what was made.
    matters: &'static [&'static str],
    play: fn(&Self, &[String]) -> (End, usize),
}

/// Calls that a task may make until it is left alone.
const CALLS: usize = 12;

/// Plays a task against these answers; how it ends, and how many of its calls may not be repeated.
fn play<F: Jobs>(job: &Job, answers: &[String]) -> (End, usize) {
    let mut now = UnixMs(1_790_000_000_000);
    let cx = |now| Context { seed: 7, ..Context::at(now) };
    let accepted = run::submit::<F>(&cx(now), Submission::new(job.surface, job.body.clone()));
    let (mut state, mut event) =
        (accepted.expect("a good request").state.expect("a state"), Event::Start(Default::default()));
    let (mut calls, mut submissions) = (0, 0);
    loop {
        let step = run::advance::<F>(&cx(now), &state, event);
        state = step.state;
        event = match step.next {
            Action::Call(_) if calls == CALLS => return (End::Waits, submissions),
            Action::Call(call) => {
                submissions += usize::from(call.replay != Replay::Safe);
                calls += 1;
                Event::Reply(Reply::raw(200, answers[(calls - 1).min(answers.len() - 1)].as_str()))
            }
            Action::Wait(until) => {
                now = until;
                Event::Timer
            }
            Action::Done(outcome) => {
                let sources = outcome.products.into_iter().map(|product| product.source);
                return (End::Done(sources.collect()), submissions);
            }
            Action::Fail(ending) => {
                return (End::Failed(ending.failure.blame, ending.failure.message), submissions);
            }
            other => panic!("{}: {other:?}", job.family),
        };
    }
}

fn jobs() -> Vec<Job> {
    let job = |family, surface, body, answers: &[Value], made, matters, play| Job {
        family,
        surface,
        body,
        answers: answers.to_vec(),
        made,
        matters,
        play,
    };
    let grid = "https://cdn.discordapp.com/attachments/1/2/lighthouse.png";
    vec![
        job(
            "context-image",
            context_image::SURFACE,
            json!({"model": "ctx-pro", "prompt": "a kite"}),
            &[
                json!({"id": "5f0c", "polling_url": "https://api.eu4.bfl.ai/v1/get_result?id=5f0c", "cost": null}),
                json!({"id": "5f0c", "status": "Ready", "progress": null, "details": null,
                    "result": {"sample": "https://delivery.eu4.bfl.ai/results/a.png?sig=A", "prompt": "a kite", "seed": 42, "duration": 5.8}}),
            ],
            "https://delivery.eu4.bfl.ai/results/a.png?sig=A",
            &["/id", "/polling_url", "/status", "/result", "/sample"],
            play::<ContextImage>,
        ),
        job(
            "imagine",
            imagine::SURFACE,
            json!({"model": "imagine-1.5-gw", "prompt": "a kite"}),
            &[
                json!({"data": [{"url": "https://imgen.x.ai/a.jpeg", "mime_type": "image/jpeg", "revised_prompt": ""}],
                "usage": {"cost_in_usd_ticks": 200_000_000}}),
            ],
            "https://imgen.x.ai/a.jpeg",
            &["/data", "/0", "/url"],
            play::<Imagine>,
        ),
        job(
            "motion",
            motion::SURFACE,
            json!({"model": "motion-2.6", "prompt": "a kite"}),
            &[
                json!({"request_id": "e259", "output": {"task_id": "3659aa57", "task_status": "PENDING"}}),
                json!({"request_id": "c6b9", "output": {"task_id": "3659aa57", "task_status": "SUCCEEDED", "submit_time": "2026-06-30 18:07:20.235",
                    "video_url": "https://dashscope-result.oss-ap-southeast-1.aliyuncs.com/a.mp4?Expires=1", "orig_prompt": "a kite"}}),
            ],
            "https://dashscope-result.oss-ap-southeast-1.aliyuncs.com/a.mp4?Expires=1",
            &["/output", "/task_id", "/task_status", "/video_url"],
            play::<Motion>,
        ),
        job(
            "clip",
            clip::VIDEOS,
            json!({"model": "clip-2.0", "prompt": "a kite"}),
            &[
                json!({"id": "cgt-1"}),
                json!({"id": "cgt-1", "model": "m", "status": "succeeded", "created_at": 1_778_754_737, "updated_at": 1_778_755_025,
                    "content": {"video_url": "https://ark-x.tos-cn-beijing.volces.com/a.mp4"}, "seed": 12, "usage": {"total_tokens": 108_900}}),
            ],
            "https://ark-x.tos-cn-beijing.volces.com/a.mp4",
            &["/id", "/status", "/content", "/video_url"],
            play::<Clip>,
        ),
        job(
            "scene",
            scene::VIDEOS,
            json!({"model": "scene-3.1-fast-official", "prompt": "a kite"}),
            &[
                json!({"name": "projects/p/locations/l/publishers/google/models/m/operations/8f1e"}),
                json!({"name": "projects/p/locations/l/publishers/google/models/m/operations/8f1e", "done": true,
                    "response": {"raiMediaFilteredCount": 0, "videos": [{"bytesBase64Encoded": "blob:01ARZ3NDEKTSV4RRFFQ69G5FAV", "mimeType": "video/mp4"}]}}),
            ],
            "blob:01ARZ3NDEKTSV4RRFFQ69G5FAV",
            &["/name", "/done", "/response", "/videos", "/0", "/bytesBase64Encoded"],
            play::<Scene>,
        ),
        job(
            "journey",
            "journey.imagine",
            json!({"prompt": "a kite", "version": "7"}),
            &[
                json!({"code": 1, "description": "ok", "result": "1754200000000123", "properties": {"discordInstanceId": "1"}}),
                json!({"id": "1754200000000123", "action": "IMAGINE", "status": "SUCCESS", "prompt": "a kite --v 7", "description": "d", "state": "",
                    "submitTime": 1_754_200_000_000_i64, "imageUrl": grid, "progress": "100%", "failReason": null, "properties": null,
                    "buttons": [{"customId": "MJ::JOB::upsample::1::a", "emoji": "", "label": "U1", "type": 2, "style": 2}]}),
            ],
            "https://cdn.discordapp.com/attachments/1/2/lighthouse.png",
            &["/code", "/result", "/status", "/imageUrl"],
            play::<Journey>,
        ),
    ]
}

/// What is wrong with an end; `None` if nothing is. A task whose answer is `read` has to deliver.
fn fault(job: &Job, last: &str, is_read: bool, (end, submissions): &(End, usize)) -> Option<String> {
    if *submissions > 1 {
        return Some(format!("submitted {submissions} times: {end:?}"));
    }
    match end {
        // One that says another address is fetched from there.
        End::Done(sources)
            if last.contains(&format!("\"{}\"", job.made))
                && !sources.iter().any(|source| source == job.made) =>
        {
            Some(format!("{end:?}"))
        }
        End::Failed(blame, message) => {
            let shown = SECRETS.iter().any(|secret| message.contains(secret));
            let is_blamed = matches!(blame, Blame::Request | Blame::Moderation);
            // What was paid is not thrown away for what does not matter.
            (shown || is_blamed || is_read).then(|| format!("{end:?}"))
        }
        End::Waits if is_read => Some("it still asks".to_owned()),
        _ => None,
    }
}

#[test]
fn a_bent_answer_of_a_task_ends_it_well_or_fails_it() {
    let mut faults = Vec::new();
    for job in jobs() {
        let whole: Vec<String> = job.answers.iter().map(Value::to_string).collect();
        assert!(matches!((job.play)(&job, &whole).0, End::Done(_)), "{}", job.family);
        for at in 0..whole.len() {
            for mutant in mutants(&job.answers[at]) {
                let mut sent = whole.clone();
                sent[at].clone_from(&mutant.body);
                let found = (job.play)(&job, &sent);
                let matters = job.matters.iter().any(|name| mutant.place.ends_with(name));
                let is_harmless = match mutant.bend {
                    Bend::Extra | Bend::Twice => true,
                    Bend::Absent | Bend::Null | Bend::Unknown | Bend::Empty | Bend::Half => !matters,
                    _ => false,
                };
                let last = sent.last().map_or("", String::as_str);
                let fault = fault(&job, last, is_harmless && !mutant.place.is_empty(), &found);
                faults.extend(
                    fault.map(|fault| {
                        format!("{} {at}{} {:?}: {fault}", job.family, mutant.place, mutant.bend)
                    }),
                );
            }
            for body in NO_ANSWERS {
                let mut sent = whole.clone();
                sent[at] = body.to_owned();
                let found = (job.play)(&job, &sent);
                let fault = fault(&job, body, false, &found);
                faults.extend(fault.map(|fault| format!("{} {at} {body}: {fault}", job.family)));
            }
        }
    }
    super::none(&faults);
}
