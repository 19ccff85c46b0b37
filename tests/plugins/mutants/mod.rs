//! Every wrong form of every place of an answer, over each protocol of a provider and of a client, whole and streamed. Whatever
//! comes, no success is without a text or a call that the provider sent, the bill goes by the counts it told, trouble is the
//! provider's and not the client's, and nobody reads the operator's account or secret.

mod bend;
mod calls;
mod client;
mod counts;
mod jobs;
mod odd_forms;
mod recorded;
mod streams;
mod too_long;

use std::fmt::Display;

use gatehouse_sdk::{Obstacle, TextFailure};
use serde_json::Value;

use bend::{Bend, Mutant, NO_ANSWERS, SECRETS, mutants};
use client::{CLIENTS, Client, Heard};
use recorded::{COUNTS, PROVIDERS, Provider, WORDS};

/// What a client has of an answer.
type Found = Result<Heard, TextFailure>;

/// What is wrong with what a client has of `sent`; `None` if nothing is.
fn fault(sent: &str, place: &str, bend: Option<Bend>, found: &Found) -> Option<String> {
    match found {
        Err(failure) => {
            let shown = SECRETS.iter().any(|secret| failure.message.contains(secret));
            let blames =
                matches!(failure.obstacle, Obstacle::Invalid | Obstacle::NotFound | Obstacle::TooLarge);
            (shown || blames).then(|| format!("{failure:?}"))
        }
        Ok(heard) => {
            let said = format!("{} {:?}", heard.text, heard.calls);
            // A kind of a later version is its client's to read.
            let is_newer = matches!(bend, Some(Bend::Unknown | Bend::Half)) && place.ends_with("type");
            let lost = WORDS
                .iter()
                .filter(|_| !is_newer)
                .find(|word| sent.contains(**word) && !said.contains(**word));
            if let Some(lost) = lost {
                return Some(format!("`{lost}` is lost: {heard:?}"));
            }
            // Arguments that the provider garbled are garbled for its client.
            let is_garbled = matches!(bend, Some(Bend::OtherScalar | Bend::Unknown | Bend::Half));
            let cannot_run = |(name, arguments): &(String, String)| {
                name.is_empty() || !serde_json::from_str::<Value>(arguments).is_ok_and(|it| it.is_object())
            };
            if !is_garbled && heard.calls.iter().any(cannot_run) {
                return Some(format!("a call cannot be run: {heard:?}"));
            }
            let lower = place.to_ascii_lowercase();
            let is_of_counts = lower.contains("usage") || lower == "/message";
            let told = heard.usage.map(|usage| (usage.input, usage.output));
            let is_right = match bend {
                Some(Bend::OtherScalar | Bend::Extra | Bend::Twice) | None => told == Some(COUNTS),
                Some(_) if !is_of_counts => told == Some(COUNTS),
                Some(_) => told.is_none_or(|told| told.0 <= COUNTS.0 && told.1 <= COUNTS.1),
            };
            (!is_right).then(|| format!("the bill: {told:?}"))
        }
    }
}

/// Whether two events say something of the same kind in the same block.
fn is_alike(one: &Value, other: &Value) -> bool {
    let kind = |event: &Value| [&event["type"], &event["index"], &event["delta"]["type"]].map(Value::clone);
    one["delta"]["type"].is_string() && kind(one) == kind(other)
}

/// Another event, bent as one was.
fn bent_at(event: &Value, mutant: &Mutant) -> String {
    let all = mutants(event).into_iter();
    let mut same = all.filter(|it| it.bend == mutant.bend && it.place == mutant.place);
    same.next().map_or_else(|| event.to_string(), |it| it.body)
}

/// The places of the list below that were found wrong, and must be none.
fn none(faults: &[String]) {
    assert!(faults.is_empty(), "{} are wrong:\n{}", faults.len(), faults.join("\n"));
}

/// Notes what is `wrong` with what each client has of `given`, in all ways in which it `asks` for it.
fn check_all<const WAYS: usize>(
    faults: &mut Vec<String>,
    given: &dyn Display,
    asks: impl Fn(Client) -> [(&'static str, Found); WAYS],
    wrong: impl Fn(Client, &Found) -> Option<String>,
) {
    for client in CLIENTS {
        for (how, found) in asks(client) {
            let fault = wrong(client, &found);
            faults.extend(fault.map(|it| format!("{client:?} {how} {given}:\n    {it}")));
        }
    }
}

fn each(mut check: impl FnMut(Provider, Client, &mut Vec<String>)) {
    let mut faults = Vec::new();
    for provider in PROVIDERS {
        for client in CLIENTS {
            check(provider, client, &mut faults);
        }
    }
    none(&faults);
}

#[test]
fn a_bent_whole_answer_is_read_or_fails() {
    each(|provider, client, faults| {
        for mutant in mutants(&provider.whole()) {
            let found = client.whole(provider, &mutant.body);
            if let Some(fault) = fault(&mutant.body, &mutant.place, Some(mutant.bend), &found) {
                faults
                    .push(format!("{provider:?} to {client:?}, {} {:?}: {fault}", mutant.place, mutant.bend));
            }
        }
    });
}

#[test]
fn a_bent_event_is_read_or_fails_its_stream() {
    each(|provider, client, faults| {
        let events = provider.events();
        for (number, event) in events.iter().enumerate() {
            for mutant in mutants(event) {
                let mut data = provider.data(&events);
                data[number].clone_from(&mutant.body);
                // A server that leaves something out does so each time.
                if mutant.bend == Bend::Absent
                    && events.get(number + 1).is_some_and(|next| is_alike(event, next))
                {
                    data[number + 1] = bent_at(&events[number + 1], &mutant);
                }
                let found = client.stream(provider, &data);
                let place = if event.to_string().contains("usage") && mutant.place.is_empty() {
                    "usage"
                } else {
                    &mutant.place
                };
                if let Some(fault) = fault(&data.concat(), place, Some(mutant.bend), &found) {
                    faults.push(format!(
                        "{provider:?} to {client:?}, event {number}{} {:?}: {fault}\n    {}",
                        mutant.place, mutant.bend, mutant.body
                    ));
                }
            }
        }
    });
}

#[test]
fn what_is_no_answer_fails_and_shows_nothing() {
    each(|provider, client, faults| {
        for body in NO_ANSWERS {
            let events = provider.events();
            for (place, found) in [
                ("whole", client.whole(provider, body)),
                ("as a stream", client.stream(provider, &[body.to_owned()])),
            ] {
                match found {
                    Ok(heard) => {
                        faults.push(format!("{provider:?} to {client:?}, {place} {body}: {heard:?}"));
                    }
                    Err(_) => faults.extend(
                        fault("", "", None, &found)
                            .map(|it| format!("{provider:?} to {client:?}, {place} {body}: {it}")),
                    ),
                }
            }
            for number in 0..events.len() {
                let mut data = provider.data(&events);
                data[number] = body.to_owned();
                let found = client.stream(provider, &data);
                if let Some(fault) = fault(&data.concat(), "usage", Some(Bend::Absent), &found) {
                    faults.push(format!("{provider:?} to {client:?}, event {number} {body}: {fault}"));
                }
            }
        }
    });
}

/// A body cut anywhere, with a mark of byte order, and with line ends of another system.
#[test]
fn a_cut_answer_fails_and_a_dressed_one_is_read() {
    each(|provider, client, faults| {
        let whole = provider.whole();
        let (plain, pretty) = (whole.to_string(), serde_json::to_string_pretty(&whole).expect("JSON"));
        for at in 1..plain.len() {
            if let Ok(heard) = client.whole(provider, &plain[..at]) {
                faults.push(format!("{provider:?} to {client:?}, cut at {at}: {heard:?}"));
            }
        }
        for body in
            [format!("\u{feff}{plain}"), pretty.replace('\n', "\r\n"), format!("\r\n\t {plain}\r\n\0")]
        {
            let found = client.whole(provider, body.trim_end_matches('\0'));
            if found.is_err() {
                faults.push(format!("{provider:?} to {client:?}, {:?}: {found:?}", &body[..9]));
            }
            faults.extend(fault(&body, "", None, &found));
        }
        let events: Vec<String> = provider.events().iter().map(Value::to_string).collect();
        for cut in 0..events.len() {
            let found = client.stream(provider, &events[..cut]);
            // Counts that come last may be missing, and so may the end itself once the reason has come.
            let has_reason = found.as_ref().is_ok_and(|heard| !heard.reason.is_empty());
            if found.is_ok() && !has_reason {
                faults.push(format!("{provider:?} to {client:?}, cut before event {cut}: {found:?}"));
            }
        }
    });
}
