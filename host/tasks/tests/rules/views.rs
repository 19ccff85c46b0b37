//! What a task's record shows and hands over before its end: briefs, interim views, and what a failure leaves.

use bytes::Bytes;
use gatehouse_model::{
    Action, Event, InterimView, Media, MediaId, Outcome, Phase, Status, TaskFailure, UnixMs,
};

use super::{
    advance, changed, finish, funded, malformed, refused, refused_field, run, submit, task_of, with_task,
};
use gatehouse_sample::{START, change, completed, failed, result, task};
use gatehouse_tasks::{Change, Ending, ResultRecord, timed_out};

fn shown(task: &gatehouse_model::Task) -> ResultRecord {
    ResultRecord { public: task.public.clone(), private: task.private.clone(), media: task.media.clone() }
}

fn with_media(number: u8) -> ResultRecord {
    let id = MediaId::from_bits(number.into());
    ResultRecord {
        media: vec![Media { id, mime: "image/png".into(), bytes: 9, expires: UnixMs(START.0 + 1) }],
        ..result(number)
    }
}

fn interim() -> InterimView {
    InterimView { public: "{}".into(), private: "{}".into(), products: vec![] }
}

#[test]
fn a_brief_stays_until_its_event_was_handled() {
    let mut storage = funded();
    let brief = Bytes::from_static(b"a prompt without limit");
    let start = |brief: &Bytes| Phase::Run(Event::Start(brief.clone()));
    let begin = changed(task(1, 0, 0, 5, START), |task| {
        task.brief = brief.clone();
        task.phase = start(&brief);
    });
    run(&mut storage, begin).unwrap();
    // The record holds it once.
    let task = storage.live_tasks().next().unwrap();
    assert_eq!((&task.brief, &task.phase), (&brief, &start(&Bytes::new())));
    let again = Change { phase: start(&brief), ..change(Status::Pending, 1) };
    let task = task_of(run(&mut storage, advance(1, 0, again.clone())));
    assert_eq!((task.brief, task.phase), (brief, start(&Bytes::new())));
    let view = Phase::Publish { view: interim(), next: Box::new(Action::Wait(START)) };
    let publishing = Change { phase: view, ..change(Status::Pending, 1) };
    assert_eq!(task_of(run(&mut storage, advance(1, 1, publishing))).brief, Bytes::new());
    // A task starts once.
    assert_eq!(refused_field(&mut storage, advance(1, 2, again)), "change.phase");
}

#[test]
fn an_end_leaves_no_brief() {
    for ending in [completed(5), failed()] {
        let mut storage = with_task(0, 5);
        assert!(!storage.live_tasks().next().unwrap().brief.is_empty());
        assert!(task_of(run(&mut storage, finish(1, 0, ending))).brief.is_empty());
    }
}

#[test]
fn an_interim_view_replaces_the_last_one() {
    let mut storage = with_task(0, 10);
    let showing = |number| Change { view: Some(with_media(number)), ..change(Status::Processing, 9) };
    assert_eq!(shown(&task_of(run(&mut storage, advance(1, 0, showing(1))))), with_media(1));
    // A change without a view leaves it.
    let same = task_of(run(&mut storage, advance(1, 1, change(Status::Processing, 9))));
    assert_eq!(shown(&same), with_media(1));
    assert_eq!(shown(&task_of(run(&mut storage, advance(1, 2, showing(2))))), with_media(2));
    assert_eq!(shown(storage.live_tasks().next().unwrap()), with_media(2));

    let mut other = storage.clone();
    assert_eq!(shown(&task_of(run(&mut other, finish(1, 3, completed(10))))), result(0));
    let mut other = storage.clone();
    assert_eq!(shown(&task_of(run(&mut other, finish(1, 3, failed())))), with_media(2));
    let failure = TaskFailure { message: "half of it".into(), ..timed_out() };
    let partly = |progress| {
        let (failure, result) = (failure.clone(), Some(with_media(3)));
        Ending::Failed { failure, progress, result, claims: vec![] }
    };
    for (progress, expected) in [(0, 9), (8, 9), (60, 60), (101, 100)] {
        let mut other = storage.clone();
        assert_eq!(task_of(run(&mut other, finish(1, 3, partly(progress)))).progress, expected);
    }
    let task = task_of(run(&mut storage, finish(1, 3, partly(0))));
    assert_eq!((shown(&task), task.status), (with_media(3), Status::Failed));
    assert_eq!(task.failure, Some(failure));
    assert!(storage.examine().is_clean());
}

#[test]
fn views_and_failures_are_saved_before_they_are_shown() {
    let mut storage = with_task(0, 10);
    let outcome =
        Outcome { public: "{}".into(), private: "{}".into(), products: vec![], claims: vec![], settle: None };
    let failure = gatehouse_model::Failure { blame: gatehouse_model::Blame::Upstream, message: "no".into() };
    let phases = [
        Phase::Publish { view: interim(), next: Box::new(Action::Fail(failure.clone().into())) },
        Phase::SaveFailed(failure.into()),
        Phase::Save(outcome),
    ];
    for (revision, phase) in phases.into_iter().enumerate() {
        let moved = Change { phase: phase.clone(), ..change(Status::Processing, 9) };
        assert_eq!(task_of(run(&mut storage, advance(1, revision as u64, moved))).phase, phase);
    }
}

#[test]
fn nothing_joined_before_the_beginning() {
    let mut storage = funded();
    let joined = changed(task(1, 0, 0, 1, START), |task| task.joined_held = gatehouse_model::Credits(1));
    let handed =
        changed(task(1, 0, 0, 1, START), |task| task.phase = Phase::Run(Event::Joined(Bytes::new())));
    for command in [joined, handed] {
        let rejection = malformed("task.joined", "expected no request that joined before it began");
        assert_eq!(refused(&mut storage, command), rejection);
    }
    assert!(matches!(run(&mut storage, submit(1, 0, 1)), Ok(gatehouse_tasks::Applied::Submitted(_))));
}
