//! What a request refers to: earlier tasks of its customer, and names the customer owns.
//!
//! The manifest says where they stand. A task or a name of another customer is as unknown as one that never existed.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::{
    BlobId, Event, Facts, Json, NameAt, OwnedName, Parent, ParentAt, Phase, SurfaceInfo, Task, TaskId,
};
use gatehouse_runtime::{Resolved, takes_list};
use gatehouse_upstream::Upstream;
use serde_json::Value;

use crate::api::{SubmitRequest, parent_kind};
use crate::errors::SubmitError;
use crate::shared::Shared;

/// Tasks one request may follow up.
const MAX_PARENTS: usize = 16;
/// Names one request may refer to.
const MAX_NAMES: usize = 64;
/// Characters of a bad reference that an error repeats.
const SHOWN: usize = 100;

/// The tasks and names of a request.
#[derive(Default)]
pub(crate) struct References {
    /// The tasks behind `parents`, in the same order.
    pub(crate) tasks: Vec<Task>,
    pub(crate) parents: Vec<Parent>,
    pub(crate) owned: Vec<OwnedName>,
    /// Blobs made of the parents' results; the new task's, if it is accepted.
    pub(crate) adopted: Vec<BlobId>,
}

/// Looks up what requests refer to.
pub(crate) struct ReferenceReader {
    pub(crate) shared: Arc<Shared>,
}

impl ReferenceReader {
    /// Looks up what the request refers to on its surface.
    pub(crate) async fn references(
        &self,
        request: &SubmitRequest,
        found: &Resolved,
        body: &Json,
    ) -> Result<References, SubmitError> {
        let mut refers = References::default();
        let Some(surface) = found.version.surface(request.surface) else { return Ok(refers) };
        // Most surfaces refer to nothing in the body, which then is not parsed here.
        let in_body = matches!(surface.parent, ParentAt::Field(_)) || !surface.names.is_empty();
        let body: Value = if in_body { serde_json::from_str(body).unwrap_or_default() } else { Value::Null };
        refers.tasks = self.parent_tasks(request, surface, &body).await?;
        let names = names(&body, &surface.names)?;
        if !names.is_empty() {
            refers.owned = self.shared.store.owned_names(&request.key.customer, &names).await?;
        }
        // Last: whatever fails before leaves no blob behind.
        if let Err(error) = self.adopt_results(&mut refers).await {
            self.shared.media.drop_blobs(&refers.adopted).await;
            return Err(error);
        }
        Ok(refers)
    }

    /// Makes blobs of the results of the tasks.
    async fn adopt_results(&self, refers: &mut References) -> Result<(), SubmitError> {
        for task in &refers.tasks {
            let media = self.adopt(task, &mut refers.adopted).await?;
            let parent = parent_of(&self.shared.upstream, task, media);
            refers.parents.push(match &task.phase {
                // What its plugin has answered already, although clients see it only with its products.
                Phase::Publish { view, .. } => {
                    Parent { public: view.public.clone(), private: view.private.clone(), ..parent }
                }
                _ => parent,
            });
        }
        Ok(())
    }

    async fn parent_tasks(
        &self,
        request: &SubmitRequest,
        surface: &SurfaceInfo,
        body: &Value,
    ) -> Result<Vec<Task>, SubmitError> {
        let (field, ids): (&str, Vec<TaskId>) = match &surface.parent {
            ParentAt::Nowhere => return Ok(Vec::new()),
            ParentAt::Path => ("task_id", request.parent.into_iter().collect()),
            ParentAt::Field(field) => (field, named_tasks(body, field, || takes_list(surface, field))?),
        };
        if ids.len() > MAX_PARENTS {
            let problem = format!("expected at most {MAX_PARENTS} tasks, got {}", ids.len());
            return Err(SubmitError::wrong_field(field, problem));
        }
        let mut tasks = Vec::with_capacity(ids.len());
        for id in ids {
            let task = self.shared.store.task(id).await?.filter(|task| task.customer == request.key.customer);
            tasks.push(task.ok_or_else(|| match surface.parent {
                ParentAt::Path => {
                    let kind = parent_kind(request.surface);
                    SubmitError::NotFound(format!("unknown {kind} \"{id}\""))
                }
                _ => SubmitError::NotFound(format!("no task {id}")),
            })?);
        }
        Ok(tasks)
    }

    /// The results of a parent as blobs. One that is gone is left out.
    async fn adopt(&self, task: &Task, adopted: &mut Vec<BlobId>) -> Result<Vec<Facts>, SubmitError> {
        let mut media = Vec::with_capacity(task.media.len());
        for result in &task.media {
            if let Some((blob, facts)) = self.shared.media.adopt(result).await? {
                adopted.push(blob);
                media.push(facts);
            }
        }
        Ok(media)
    }
}

/// A task as a plugin sees it.
pub(crate) fn parent_of(upstream: &Upstream, task: &Task, media: Vec<Facts>) -> Parent {
    Parent {
        task: task.id,
        family: task.family.clone(),
        model: task.model.clone(),
        status: task.status,
        public: record(&task.public),
        private: record(&task.private),
        media,
        affinity: task.assignment.as_ref().map(|made| upstream.affinity(&made.provider, &made.account)),
        joining: joining(task),
    }
}

/// The briefs that the plugin has not answered: the one of its present step, then those that wait.
fn joining(task: &Task) -> Vec<Bytes> {
    let delivered = matches!(task.phase, Phase::Run(Event::Joined(_))).then(|| task.brief.clone());
    delivered.into_iter().chain(task.joined.iter().map(|request| request.brief.clone())).collect()
}

/// A stored record; `null` while there is none.
fn record(bytes: &[u8]) -> Json {
    let text = if bytes.is_empty() { "null" } else { str::from_utf8(bytes).unwrap_or("null") };
    text.into()
}

/// The names of a body, each once.
fn names(body: &Value, places: &[NameAt]) -> Result<Vec<String>, SubmitError> {
    let mut found = BTreeSet::new();
    for place in places {
        match place {
            NameAt::Field(field) => found.extend(texts_at(body, field)),
            NameAt::Scheme(scheme) => with_scheme(body, &format!("{scheme}://"), &mut found),
        }
    }
    if found.len() > MAX_NAMES {
        let message = format!("expected at most {MAX_NAMES} names of assets, got {}", found.len());
        return Err(SubmitError::invalid(message));
    }
    Ok(found.into_iter().map(str::to_owned).collect())
}

/// The tasks that a field names. A list where the surface takes one task, and whatever else is no name, is for the plugin to judge.
fn named_tasks(
    body: &Value,
    field: &str,
    takes_list: impl FnOnce() -> bool,
) -> Result<Vec<TaskId>, SubmitError> {
    let one =
        |text: &str| text.parse().map_err(|_| SubmitError::NotFound(format!("no task {}", shown(text))));
    match body.get(field) {
        Some(Value::String(text)) if !text.is_empty() => Ok(vec![one(text)?]),
        Some(Value::Array(items)) if takes_list() => {
            let named = |(at, item): (usize, &Value)| match item.as_str() {
                Some(text) => one(text),
                None => {
                    let problem = format!("expected the id of a task, got {}", shown(&item.to_string()));
                    Err(SubmitError::wrong_field(format!("{field}[{at}]"), problem))
                }
            };
            items.iter().enumerate().map(named).collect()
        }
        _ => Ok(Vec::new()),
    }
}

/// The text of a field, or the texts of the list in it. The rest is for the plugin to judge.
fn texts_at<'a>(body: &'a Value, field: &str) -> Vec<&'a str> {
    match body.get(field) {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn with_scheme<'a>(value: &'a Value, scheme: &str, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) if text.starts_with(scheme) => drop(found.insert(text)),
        Value::Array(items) => items.iter().for_each(|item| with_scheme(item, scheme, found)),
        Value::Object(fields) => fields.values().for_each(|field| with_scheme(field, scheme, found)),
        _ => {}
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_stand_in_fields_and_behind_schemes() {
        let places = [NameAt::Scheme("asset".to_owned()), NameAt::Field("group_id".to_owned())];
        let check = |body: Value, expected: &[&str]| {
            assert_eq!(names(&body, &places).unwrap(), expected, "{body}");
        };
        check(json!({}), &[]);
        check(
            json!({"group_id": "g1", "a": [{"b": "asset://2"}, "asset://1", "asset://2"]}),
            &["asset://1", "asset://2", "g1"],
        );
        check(
            json!({"group_id": ["g1", 7, "g2"], "asset": "asset:/1", "x": {"group_id": "g3"}}),
            &["g1", "g2"],
        );
    }

    /// Without it a list where one task is expected is a task of an odd name that nobody finds.
    #[test]
    fn a_field_names_a_task_or_where_the_surface_takes_it_a_list() {
        const TASK: &str = "task_01KDWFAMDV000000000000000B";
        for (value, takes_list, expected) in [
            (json!(TASK), false, Ok(1)),
            (json!([TASK, TASK]), true, Ok(2)),
            (json!([]), true, Ok(0)),
            (json!([TASK]), false, Ok(0)),
            (json!(["x"]), false, Ok(0)),
            (json!(""), false, Ok(0)),
            (json!(5), true, Ok(0)),
            (json!("x"), false, Err("no task x")),
            (json!([TASK, "x"]), true, Err("no task x")),
            (json!([TASK, 5]), true, Err("follows[1]: expected the id of a task, got 5")),
        ] {
            let found = named_tasks(&json!({"follows": value}), "follows", || takes_list);
            let found = found.map(|tasks| tasks.len()).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{value}");
        }
        assert_eq!(named_tasks(&json!({}), "follows", || true).map(|tasks| tasks.len()).ok(), Some(0));
    }

    #[test]
    fn too_many_names_are_the_request_s_fault() {
        let body = json!((0..=MAX_NAMES).map(|n| format!("asset://{n}")).collect::<Vec<_>>());
        let places = [NameAt::Scheme("asset".to_owned())];
        let error = names(&body, &places).unwrap_err().to_string();
        assert_eq!(error, "expected at most 64 names of assets, got 65");
    }
}
