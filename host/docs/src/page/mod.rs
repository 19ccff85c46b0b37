//! The page for people: every operation with its fields, answers, errors and lines to paste. Plain HTML with one style
//! sheet; it needs no script, and nothing of it comes from elsewhere.

mod fields;
mod samples;

use gatehouse_schema::{Kind, Reader};
use maud::{DOCTYPE, Markup, html};
use serde_json::{Map, Value};

use crate::api::RESULT;
pub use crate::page::samples::Sample;

/// The style sheet.
pub const STYLE: &str = include_str!("style.css");

/// Stands for the gateway's address until the page is served. No text of a plugin holds it: it is no JSON text.
const BASE: &str = "\u{0}";
const DEPTH: usize = 4;

/// A rendered page.
#[derive(Clone, Debug)]
pub struct Page(String);

impl Page {
    /// The HTML between the places where the gateway's address stands: [`Page::address`] goes between each two parts. So
    /// one page serves every address that a client may name, and is copied for none of them.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split(BASE)
    }

    /// The address `base` (no slash at its end) as it stands in the page.
    #[must_use]
    pub fn address(base: &str) -> String {
        html! { (base) }.into_string()
    }
}

/// Renders a document; `style` is the path of the style sheet.
#[must_use]
pub fn page(document: &Value, style: &str) -> Page {
    let groups = groups(document);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Gatehouse API" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(style);
            }
            body {
                a.skip href="#top" { "Skip to the content" }
                (navigation(&groups))
                main #top {
                    h1 { "Gatehouse API" }
                    (introduction(document))
                    @for (tag, operations) in &groups {
                        section {
                            h2 #(slug(tag)) { (tag) }
                            @for operation in operations { (operation_of(document, operation)) }
                        }
                    }
                }
            }
        }
    };
    Page(markup.into_string())
}

/// One operation of the document.
struct Shown<'a> {
    method: String,
    path: &'a str,
    spec: &'a Value,
}

impl Shown<'_> {
    fn id(&self) -> String {
        slug(self.spec["operationId"].as_str().unwrap_or_default())
    }

    fn summary(&self) -> &str {
        self.spec["summary"].as_str().unwrap_or_default()
    }
}

/// Operations by tag, in the order of the document's tags.
fn groups(document: &Value) -> Vec<(&str, Vec<Shown<'_>>)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let all: Vec<Shown<'_>> = paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(move |(method, spec)| Shown { method: method.to_uppercase(), path, spec })
        })
        .collect();
    let mut left = all;
    let mut groups = Vec::new();
    for tag in document["tags"].as_array().into_iter().flatten().filter_map(|tag| tag["name"].as_str()) {
        let (own, others) = left.into_iter().partition(|one| one.spec["tags"][0] == tag);
        groups.push((tag, own));
        left = others;
    }
    groups
}

fn navigation(groups: &[(&str, Vec<Shown<'_>>)]) -> Markup {
    html! {
        nav aria-label="Operations" {
            details open {
                summary { "Operations" }
                @for (tag, operations) in groups {
                    a.group href={ "#" (slug(tag)) } { (tag) }
                    ul {
                        @for operation in operations {
                            li { a href={ "#" (operation.id()) } { (operation.summary()) } }
                        }
                    }
                }
            }
        }
    }
}

fn introduction(document: &Value) -> Markup {
    let plugins = document["x-gatehouse-plugins"].as_array();
    html! {
        p { (document["info"]["description"].as_str().unwrap_or_default()) }
        p {
            "Base URL: " code { (BASE) "/v1" } ". The same as a document for programs: "
            a href="/v1/openapi.json" { "openapi.json" } "."
        }
        p {
            "Send your key as " code { "Authorization: Bearer <key>" } "; the lines below take it from "
            code { "$GATEHOUSE_KEY" } "."
        }
        details {
            summary { "Versions described here" }
            ul.versions {
                @for plugin in plugins.into_iter().flatten() {
                    li {
                        (text(plugin, "family")) " " (text(plugin, "version")) " "
                        code title=(text(plugin, "digest")) {
                            (text(plugin, "digest").chars().take(12).collect::<String>())
                        }
                    }
                }
            }
        }
    }
}

fn operation_of(document: &Value, operation: &Shown<'_>) -> Markup {
    let spec = operation.spec;
    html! {
        article id=(operation.id()) {
            h3 { a href={ "#" (operation.id()) } { (operation.summary()) } }
            p.route { span.method { (operation.method) } " " code { (operation.path) } }
            @if let Some(more) = spec["description"].as_str() { p { (more) } }
            (parameters(document, spec))
            (bodies(document, spec))
            (answers(document, spec))
            (result(document, spec))
            (sample_lines(operation))
        }
    }
}

fn parameters(document: &Value, spec: &Value) -> Markup {
    let Some(parameters) = spec["parameters"].as_array() else { return html! {} };
    let reader = Reader::new(document);
    let rows: Vec<fields::Row> = parameters
        .iter()
        .map(|parameter| {
            let required = parameter["required"] == true;
            let mut field = reader.field(text(parameter, "name"), &parameter["schema"], required);
            field.help = parameter["description"].as_str().map(str::to_owned);
            let place = match text(parameter, "in") {
                "header" => "header",
                "path" => "in the path",
                _ => "query",
            };
            fields::Row::of(&field, String::new(), place)
        })
        .collect();
    html! { h4 { "Parameters" } (fields::table("Parameters", &rows)) }
}

/// The body by family: where there are several, each with its own fields.
fn bodies(document: &Value, spec: &Value) -> Markup {
    let whole = &spec["requestBody"]["content"]["application/json"]["schema"];
    if whole.is_null() {
        return html! {};
    }
    let reader = Reader::new(document);
    let forms = ["oneOf", "anyOf"].iter().find_map(|word| whole[*word].as_array());
    let forms: Vec<&Value> = forms.map_or_else(|| vec![whole], |forms| forms.iter().collect());
    html! {
        h4 { "Body" }
        @for form in forms {
            @let name = text(form, "$ref").rsplit('/').next().unwrap_or_default();
            @let schema = &document["components"]["schemas"][name];
            @let family = name.split('.').next().unwrap_or_default();
            @let title = match schema.pointer("/properties/model/const").and_then(Value::as_str) {
                Some(model) => format!("{family}: {model}"),
                None => family.to_owned(),
            };
            @match reader.kind(form) {
                Kind::Object(all) => {
                    h5 { (title) }
                    @if let Some(help) = schema["description"].as_str() { p.help { (help) } }
                    (fields::table(&title, &fields::rows(&all, "", DEPTH)))
                }
                Kind::Variants(variants) => @for variant in &variants {
                    h5 { (title) ": " (variant.name) }
                    @if let Some(help) = &variant.help { p.help { (help) } }
                    @if let Kind::Object(all) = &variant.kind {
                        (fields::table(&variant.name, &fields::rows(all, "", DEPTH)))
                    }
                },
                _ => { h5 { (title) } p { "Any JSON object." } }
            }
        }
    }
}

/// What the task comes to.
fn result(document: &Value, spec: &Value) -> Markup {
    let names = components(&spec[RESULT]);
    html! {
        @if !names.is_empty() { h4 { "Result" } p { "What " code { "result" } " of the completed task is." } }
        @for name in names {
            (component(document, &name))
        }
    }
}

/// The fields of a component, folded.
fn component(document: &Value, name: &str) -> Markup {
    let schema = &document["components"]["schemas"][name];
    html! {
        @if let Kind::Object(all) = Reader::new(document).kind(schema) {
            details {
                summary { (name) }
                (fields::table(name, &fields::rows(&all, "", DEPTH)))
            }
        }
    }
}

fn answers(document: &Value, spec: &Value) -> Markup {
    let empty = Map::new();
    let responses = spec["responses"].as_object().unwrap_or(&empty);
    let full = |response: &Value| -> Value {
        let target = response["$ref"].as_str().and_then(|reference| document.pointer(&reference[1..]));
        target.unwrap_or(response).clone()
    };
    let (good, errors): (Vec<_>, Vec<_>) = responses
        .iter()
        .map(|(status, response)| (status, full(response)))
        .partition(|(status, _)| status.as_str() < "400");
    html! {
        h4 { "Answers" }
        @for (status, response) in &good {
            p { code { (status) } " " (text(response, "description")) }
            @for (mime, content) in response["content"].as_object().into_iter().flatten() {
                p.help {
                    code { (mime) } " "
                    @let names = components(&content["schema"]);
                    (names.join(" or "))
                    @if let Some(help) = content["schema"]["description"].as_str() { (help) }
                }
                @for name in components(&content["schema"]) {
                    (component(document, &name))
                }
            }
        }
        details {
            summary { "Errors" }
            table {
                tbody {
                    @for (status, response) in &errors {
                        tr { th scope="row" { (status) } td { (text(response, "description")) } }
                    }
                }
            }
        }
    }
}

/// The components that an answer may be.
fn components(schema: &Value) -> Vec<String> {
    let forms = schema["anyOf"].as_array().map_or_else(|| vec![schema], |forms| forms.iter().collect());
    forms.iter().filter_map(|form| form["$ref"].as_str()?.rsplit('/').next().map(str::to_owned)).collect()
}

fn sample_lines(operation: &Shown<'_>) -> Markup {
    let examples = operation.spec["requestBody"]["content"]["application/json"]["examples"].as_object();
    let body = examples.and_then(|all| all.values().next()).map(|example| &example["value"]);
    let has_body = operation.spec["requestBody"].is_object();
    let open = operation.spec["security"].as_array().is_some_and(Vec::is_empty);
    let empty = Value::Object(Map::new());
    let sample = Sample {
        method: &operation.method,
        path: operation.path,
        body: body.or_else(|| has_body.then_some(&empty)),
        has_key: !open,
        base: BASE,
    };
    html! {
        @for (name, source, open) in
            [("curl", sample.curl(), true), ("Python", sample.python(), false), ("JavaScript", sample.javascript(), false)]
        {
            details open[open] { summary { (name) } pre tabindex="0" { code { (source) } } }
        }
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// An anchor: letters, digits and hyphens.
fn slug(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}
