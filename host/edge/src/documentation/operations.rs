//! What each route is, for people and programs that read of it. Taken from the tables of routes and errors: a route
//! without words does not compile.

use gatehouse_docs::{Answer, Content, ErrorCase, ErrorForm, Operation, OwnBody, Parameter, Security};
use gatehouse_model::ReceiptShape;

use crate::documentation::parameters::{
    CONDITION, DELIVERY_PAGE, FORMAT, IDEMPOTENCY, ITEMS, KEPT_ANSWER, PAGE, REPLAY, RESUME, SIGNATURE,
    SUBMISSION, USAGE_FILTER, VARIANT, VERSIONED, VIDEO_PAGE, WAIT,
};
use crate::errors::{Form, error_table};
use crate::routing::routes::{Endpoint, KeyUse, Route, Submission};
use crate::routing::table::RouteTable;

/// An answer's body as JSON: one of these components.
macro_rules! json {
    ($($component:literal),+) => {
        &[Content::Json(&[$($component),+])]
    };
}

/// The group of routes whose family names none.
const FAMILIES: &str = "Plugins";

/// Every route, in the order of the table.
pub(super) fn all(table: &RouteTable) -> Vec<Operation> {
    let mut found: Vec<Operation> = Vec::new();
    for mut operation in table.rows().iter().filter_map(operation) {
        let is_twin = |before: &&Operation| before.id.trim_end_matches(char::is_numeric) == operation.id;
        let twins = found.iter().filter(is_twin).count();
        if twins > 0 {
            operation.id = format!("{}{}", operation.id, twins + 1);
            operation.summary += " (the same under its own name)";
        }
        found.push(operation);
    }
    found
}

/// Every error, in each form's words.
pub(super) fn errors() -> Vec<ErrorCase> {
    let case = |row: &crate::errors::ErrorRow| ErrorCase {
        status: row.status,
        responses_status: row.status_in(Form::Responses),
        type_word: row.type_word,
        journey_word: row.journey_word(),
        reason: row.reason,
        messages_code: row.messages_code,
        retry: row.retry,
    };
    error_table().iter().map(case).collect()
}

/// The words of an endpoint.
struct Words {
    tag: &'static str,
    summary: String,
    description: &'static str,
    parameters: &'static [Parameter],
    answers: Vec<Answer>,
}

impl Words {
    fn new(tag: &'static str, summary: impl Into<String>) -> Self {
        Self { tag, summary: summary.into(), description: "", parameters: &[], answers: Vec::new() }
    }

    fn description(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    fn parameters(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    fn ok(self, help: &'static str, contents: &'static [Content]) -> Self {
        self.answer(200, help, contents)
    }

    fn answer(mut self, status: u16, help: &'static str, contents: &'static [Content]) -> Self {
        self.answers.push(Answer { status, help, contents });
        self
    }
}

/// A route that is not documented counts nothing and is offered by name only.
fn operation(route: &Route) -> Option<Operation> {
    let (words, form) = (words(route)?, Form::of(route.pattern));
    let (has_body, model) = match route.endpoint {
        Endpoint::Submit(submission) => (true, submission.model),
        Endpoint::Answer(model) => (true, model),
        Endpoint::Text => (true, None),
        _ => (false, None),
    };
    Some(Operation {
        method: match route.method {
            http::Method::GET => "GET",
            http::Method::DELETE => "DELETE",
            _ => "POST",
        },
        path: route.pattern,
        id: route.surface.to_owned(),
        tag: words.tag,
        summary: words.summary,
        description: words.description,
        path_parameter: path_parameter(route.pattern),
        parameters: words.parameters,
        surface: has_body.then_some(route.surface),
        own_body: own_body(route.endpoint),
        model_in_body: model.is_none(),
        makes_task: matches!(route.endpoint, Endpoint::Submit(_)),
        takes_forms: route.form.is_some()
            || matches!(route.endpoint, Endpoint::EditImages | Endpoint::CreateVideo),
        reads: matches!(route.endpoint, Endpoint::Read(_)).then_some(route.surface),
        view: (route.endpoint == Endpoint::ViewTask).then_some(route.surface),
        answers: words.answers,
        form: match form {
            _ if route.endpoint == Endpoint::ReadModel => ErrorForm::Models,
            Form::Generic => ErrorForm::Generic,
            Form::Journey => ErrorForm::Journey,
            Form::Messages => ErrorForm::Messages,
            Form::Responses => ErrorForm::Responses,
            Form::OpenAi => ErrorForm::OpenAi,
        },
        security: match route.endpoint.key_use() {
            KeyUse::Ignored => Security::Open,
            KeyUse::Allowed => Security::Optional,
            KeyUse::Needed if route.endpoint.allows_x_api_key() || form == Form::Messages => {
                Security::KeyInEither
            }
            KeyUse::Needed => Security::Key,
        },
    })
}

/// The bodies that the host describes.
fn own_body(endpoint: Endpoint) -> Option<OwnBody> {
    let body = |component, surface, example| Some(OwnBody { component, surface, example });
    match endpoint {
        Endpoint::EditImages => body(
            "ImageEdit",
            Some("images.generate"),
            r#"{"prompt": "the same at night", "images": [{"image_url": "https://example.com/kite.png"}]}"#,
        ),
        Endpoint::CreateVideo => {
            body("VideoRequest", Some("videos.generate"), r#"{"prompt": "waves at dusk"}"#)
        }
        Endpoint::Complete => body(
            "TextCompletionRequest",
            Some("chat.completions"),
            r#"{"prompt": "Once upon a time", "max_tokens": 16}"#,
        ),
        Endpoint::CreateWebhook => body(
            "NewWebhook",
            None,
            r#"{"url": "https://example.com/hook", "events": ["task.completed", "task.failed"]}"#,
        ),
        Endpoint::EditWebhook => {
            body("WebhookEdit", None, r#"{"description": "of the shop", "enabled": true}"#)
        }
        _ => None,
    }
}

fn path_parameter(pattern: &str) -> &'static str {
    match pattern.split_once('{').map(|(before, _)| before) {
        None => "",
        Some("/v1/responses/") => "The id of a response.",
        Some("/v1/webhooks/") => "The id of a webhook.",
        Some("/v1/models/") => "The id or an alias of a model.",
        Some("/v1/videos/") if !pattern.ends_with("/remix") => {
            "The id of a video, which is that of its task."
        }
        Some("/v1/media/") => "The name of a file, from a link.",
        Some(_) => "The id of a task.",
    }
}

fn words(route: &Route) -> Option<Words> {
    Some(match route.endpoint {
        Endpoint::Submit(submission) => job(route, submission),
        Endpoint::Text => text(route),
        Endpoint::Answer(_) => of_family(route)
            .parameters(KEPT_ANSWER)
            .ok("The answer, as it comes. With `dry_run`: what it would cost.", ANSWER),
        Endpoint::Read(_) => of_family(route).ok("The answer.", READING),
        Endpoint::EditImages => Words::new("Images", "Make images of images (OpenAI's shape)")
            .description(AWAITED)
            .parameters(IDEMPOTENCY)
            .ok("The images.", json!["ImageList", "DryRun"]),
        Endpoint::CreateVideo => Words::new("Videos", "Make a video (OpenAI's shape)")
            .description(
                "The same task as by `/v1/videos/generations`, which is read as a video or as a task.",
            )
            .parameters(SUBMISSION)
            .ok("The video, which is queued. With `dry_run`: what it would cost.", json!["Video", "DryRun"]),
        Endpoint::ListVideos => Words::new("Videos", "List videos (OpenAI's shape)")
            .description("Newest first.")
            .parameters(VIDEO_PAGE)
            .ok("A page.", json!["VideoList"]),
        Endpoint::ReadVideo => {
            Words::new("Videos", "Read a video (OpenAI's shape)").ok("The video.", json!["Video"])
        }
        Endpoint::DeleteVideo => Words::new("Videos", "Delete a video (OpenAI's shape)")
            .description("Its files, for good. The task stays, as what was paid for.")
            .ok("It is deleted.", json!["DeletedVideo"]),
        Endpoint::ReadVideoContent => Words::new("Videos", "Read the file of a video")
            .parameters(VARIANT)
            .ok("The file.", FILM)
            .answer(206, "A part of it.", FILM),
        Endpoint::Complete => Words::new("Text", "Complete a text (OpenAI's shape)")
            .description(
                "The prompt is the message of a user to a model that answers conversations, priced as such. Several prompts are \
                 several requests, each paid by itself.",
            )
            .ok(ANSWERED, TEXT_COMPLETION),
        Endpoint::ReadTask => Words::new("Tasks", "Read a task").parameters(WAIT).ok("The task.", TASK),
        Endpoint::TaskEvents => Words::new("Tasks", "Follow a task")
            .description(FOLLOW)
            .parameters(RESUME)
            .ok("The events, until the task has ended.", &[Content::Events(FOLLOW_EVENTS, Some("Task"))])
            .answer(204, "The task has ended, and the client has its last event.", &[]),
        Endpoint::CancelTask => Words::new("Tasks", "Cancel a task")
            .description(
                "Possible until its provider works on it, and longer where the provider can be stopped.",
            )
            .ok("The task, which has ended.", TASK)
            .answer(
                202,
                "The task, whose provider is asked to stop it: it ends as cancelled once that is done.",
                TASK,
            ),
        Endpoint::ListTasks => Words::new("Tasks", "List tasks")
            .description("Newest first.")
            .parameters(PAGE)
            .ok("A page.", json!["TaskPage"]),
        Endpoint::ViewTask => of_family(route).ok("The task.", json!["FamilyTask"]),
        Endpoint::ReadBalance => Words::new("Money", "Read the balance")
            .description("What the customer has, and what the key may still spend of it.")
            .ok("The balance.", json!["BalanceResponse"]),
        Endpoint::ReadKey => Words::new("Money", "Read what the key may do")
            .description(
                "Its models, networks and limits, and when it stops working. What it may spend is in the balance.",
            )
            .ok("The key.", json!["KeyResponse"]),
        Endpoint::ReadUsage => Words::new("Money", "Read the usage")
            .description("By key, day and model, of all keys of the customer. Days are UTC.")
            .parameters(USAGE_FILTER)
            .ok("A page, and the sum of all that the filter finds.", json!["UsagePage"]),
        Endpoint::CreateWebhook => Words::new(WEBHOOKS, "Make a webhook")
            .description(
                "The ends of all tasks of the account are posted to it, signed as Standard Webhooks 1.0.0 has it. Its secret is in \
                 this answer alone. An account makes at most 10; the address is public and https.",
            )
            .parameters(IDEMPOTENCY)
            .ok("The webhook with its secret.", WEBHOOK),
        Endpoint::ListWebhooks => Words::new(WEBHOOKS, "List webhooks")
            .description("Those that the account's keys made.")
            .ok("All of them.", json!["WebhookList"]),
        Endpoint::ReadWebhook => Words::new(WEBHOOKS, "Read a webhook").ok("The webhook.", WEBHOOK),
        Endpoint::EditWebhook => Words::new(WEBHOOKS, "Change a webhook")
            .description(
                "The fields that the request has; the others stay. One that an operator disabled is enabled and moved by an \
                 operator only.",
            )
            .parameters(IDEMPOTENCY)
            .ok("The webhook.", WEBHOOK),
        Endpoint::DeleteWebhook => Words::new(WEBHOOKS, "Remove a webhook")
            .description("What waits for it is never sent.")
            .ok("It is removed.", json!["RemovedWebhook"]),
        Endpoint::RotateWebhook => Words::new(WEBHOOKS, "Rotate a webhook's secret")
            .description("The new secret is in this answer alone; the one before signs too for 24 hours.")
            .parameters(IDEMPOTENCY)
            .ok("The webhook with its new secret.", WEBHOOK),
        Endpoint::TestWebhook => Words::new(WEBHOOKS, "Try a webhook out")
            .description("Sends the event `webhook.test`.")
            .parameters(IDEMPOTENCY)
            .ok("The delivery, which waits.", json!["DeliveryResponse"]),
        Endpoint::ListDeliveries => Words::new(WEBHOOKS, "List a webhook's deliveries")
            .description("Those of the last seven days, newest first, with the attempts and why they failed.")
            .parameters(DELIVERY_PAGE)
            .ok("A page.", json!["DeliveryPage"]),
        Endpoint::ReadCallback => Words::new(WEBHOOKS, "Read what became of a task's callback")
            .description(
                "The address without its query, the attempts and why they failed; of the last seven days. A task without \
                 `callback_url` is a 404.",
            )
            .ok("The callback.", json!["CallbackResponse"]),
        Endpoint::ReadCallbackSecret => Words::new(WEBHOOKS, "Read the secret of callbacks")
            .description(
                "It signs what is posted to the `callback_url` of tasks that are submitted with this key, as a webhook's secret \
                 does. Another key, also one that this key is rotated to, has another secret.",
            )
            .ok("The secret.", json!["CallbackSecret"]),
        Endpoint::ListModels => Words::new("Models", "List models")
            .description("Those that the key may use.")
            .parameters(VERSIONED)
            .ok("The models.", json!["ModelList", "MessagesModelPage"]),
        Endpoint::ReadModel => Words::new("Models", "Read a model")
            .parameters(VERSIONED)
            .ok("The model.", json!["Model", "MessagesModel"]),
        Endpoint::ReadResponse => Words::new("Text", "Read a response")
            .parameters(REPLAY)
            .ok("The response, or its events with `stream=true`.", KEPT_RESPONSE),
        Endpoint::DeleteResponse => {
            Words::new("Text", "Delete a response").ok("It is deleted.", json!["DeletedResponse"])
        }
        Endpoint::ListResponseItems => Words::new("Text", "List the items of a response's request")
            .parameters(ITEMS)
            .ok("A page.", json!["ResponseItems"]),
        Endpoint::ReadMedia => Words::new("Tasks", "Read a result")
            .description("Links come signed with a task.")
            .parameters(SIGNATURE)
            .ok("The file.", MEDIA)
            .answer(206, "A part of it.", MEDIA),
        Endpoint::Live => Words::new("Gateway", "Whether the process lives").ok("It does.", HEALTH),
        Endpoint::Ready => Words::new("Gateway", "Whether new work is taken").ok("It is.", HEALTH),
        Endpoint::OpenApi => Words::new("Gateway", "This document")
            .description("With a key: only what the key may use.")
            .parameters(CONDITION)
            .ok("The document.", json!["OpenApi"])
            .answer(304, "The client has it.", &[]),
        Endpoint::Docs => Words::new("Gateway", "This document for people")
            .parameters(CONDITION)
            .ok("The page.", &[Content::Html])
            .answer(304, "The client has it.", &[]),
        // Never answered but with an error, and a part of the page.
        Endpoint::CountTokens
        | Endpoint::CancelResponse
        | Endpoint::DocsStyle
        | Endpoint::AccountPage
        | Endpoint::AccountFile
        | Endpoint::SwitchedOff(_) => return None,
    })
}

fn job(route: &Route, submission: Submission) -> Words {
    let help = "Accepted: the receipt, or the task once it has ended where the client waits. With `dry_run`: what it would cost.";
    let words = of_family(route).parameters(SUBMISSION);
    match submission.receipt {
        ReceiptShape::Task if route.surface == "images.generate" => {
            words.description(BARE_IMAGES).ok(help, RECEIPT)
        }
        ReceiptShape::Task => words.ok(help, RECEIPT),
        ReceiptShape::Asset => words.ok(help, json!["AssetReceipt"]),
    }
}

/// The words of a family's route: its own, or what its surface's name says.
fn of_family(route: &Route) -> Words {
    let named = || {
        let mut words = route.surface.replace(['.', '_', '-'], " ");
        if let Some(first) = words.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        words
    };
    Words::new(route.words.tag.unwrap_or(FAMILIES), route.words.summary.map_or_else(named, str::to_owned))
}

fn text(route: &Route) -> Words {
    let words = |summary: &str| Words::new("Text", summary);
    match route.surface {
        "messages.create" => words("Answer messages").ok(ANSWERED, MESSAGE),
        "responses.create" => words("Answer with a response").ok(ANSWERED, RESPONSE_STREAM),
        "embeddings.create" => words("Make vectors of texts").ok(ANSWERED, json!["EmbeddingList", "DryRun"]),
        "chat.completions" => words("Answer a conversation").parameters(FORMAT).ok(ANSWERED, COMPLETION),
        _ => of_family(route).ok(ANSWERED, OF_FAMILY),
    }
}

const ANSWERED: &str =
    "The answer, or its events with `stream: true`. With `dry_run`: the most it would cost.";

const AWAITED: &str = "The request waits for its task and has the images in its answer. A task that takes longer than the gateway \
    lets a request wait is told by a 504 that names it; it goes on.";
// A union of both answers would be all that programs make of the receipt.
const BARE_IMAGES: &str = "With `x-response-format: bare`, or a key whose format that is, the answer is that of `images.edit`, and \
    fields are OpenAI's.";

const FILM: &[Content] = &[Content::Bytes(&["video/*", "application/octet-stream"])];
const TEXT_COMPLETION: &[Content] = &[
    Content::Json(&["TextCompletion", "DryRun"]),
    Content::Events("Pieces of the completion (`text_completion`), then `[DONE]`.", None),
];
const TASK: &[Content] = json!["TaskResponse"];
const WEBHOOKS: &str = "Webhooks";
const WEBHOOK: &[Content] = json!["WebhookResponse"];
const KEPT_RESPONSE: &[Content] = &[
    Content::Json(&["Response"]),
    Content::Events("The events of the responses protocol, under the numbers they had.", None),
];
const HEALTH: &[Content] = json!["Health"];
const RECEIPT: &[Content] = json!["TaskReceipt"];
const MEDIA: &[Content] =
    &[Content::Bytes(&["image/*", "video/*", "audio/*", "text/plain", "application/octet-stream"])];
const ANSWER: &[Content] = &[Content::Bytes(&["*/*"]), Content::Json(&["DryRun"])];
const READING: &[Content] = &[Content::Bytes(&["*/*"])];
const OF_FAMILY: &[Content] = &[
    Content::Json(&["FamilyAnswer", "DryRun"]),
    Content::Events("The events of the family's protocol.", None),
];
const COMPLETION: &[Content] = &[
    Content::Json(&["WrappedChatCompletion", "ChatCompletion", "DryRun"]),
    Content::Events("Chunks of the chat completion (`chat.completion.chunk`), then `[DONE]`.", None),
];
const MESSAGE: &[Content] = &[
    Content::Json(&["Message", "DryRun"]),
    Content::Events("The events of the messages protocol, from `message_start` to `message_stop`.", None),
];
const RESPONSE_STREAM: &[Content] = &[
    Content::Json(&["Response", "DryRun"]),
    Content::Events("The events of the responses protocol, from `response.created` to the last one.", None),
];

const FOLLOW: &str = "Each event is named by what changed: `status`, `progress`, and at the end `result` or `error`. Its \
    data is the task as it is read, its id the number of the event. A client that comes back with `Last-Event-ID` gets \
    what is newer; after the end it gets a 204, and need not come again. A client that reads slowly misses progress, \
    never the end.";
const FOLLOW_EVENTS: &str =
    "`status`, `progress`, `result` and `error`, each with a task as data; a comment every few seconds.";
