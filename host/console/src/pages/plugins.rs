//! Plugins: families with their versions, what may be done to a version, and a component that a browser sends: it is checked, or
//! installed, and the answer is a fragment with the stages it went through.

use std::collections::BTreeMap;

use gatehouse_admin::{ApiRequest, Component, FamilyDefaultsFile, PluginOffer};
use http::StatusCode;
use maud::{Markup, html};
use serde_json::Value;

use crate::error::{Outcome, PageError};
use crate::form::Form;
use crate::format::plain;
use crate::kinds::plugins::{FAMILIES, VERSIONS, stages};
use crate::parts::elements::{Tone, chip, empty};
use crate::parts::shell::{Shell, html_response};
use crate::request::PageRequest;
use crate::resource::list::every;
use crate::resource::{members, text};

/// `GET /plugins`.
pub(crate) async fn show(request: PageRequest) -> Outcome {
    let families = every(&request, || ApiRequest::get(&["families"])).await?;
    let mut versions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for version in every(&request, || ApiRequest::get(&["plugins"])).await? {
        versions.entry(text(&version, "family").to_owned()).or_default().push(version);
    }
    for versions in versions.values_mut() {
        versions.sort_by_key(|version| rank(text(version, "state")));
    }
    let of = |family: &Value| versions.get(text(family, "family")).map(Vec::as_slice).unwrap_or_default();
    let shell = Shell::new(&request, "/plugins", "Plugins");
    Ok(shell.show(&html! {
        h1 { "Plugins" }
        p.muted { "Each family of models is served by one version of its plugin. A version is switched while requests are served. " a href="/deployments" { "Deployments so far" } }
        @if request.is_operator() { (install()) }
        @if families.is_empty() {
            (empty("No plugin is installed, so no model is served.", None, "gatehouse plugin install FILE.wasm"))
        }
        @for family in &families { (card(family, of(family), &request)) }
    }))
}

/// The serving version first, then what may serve.
fn rank(state: &str) -> usize {
    let order = ["active", "serves", "broken", "disabled", "standby", "pinned", "checked", "kept"];
    order.iter().position(|word| *word == state).unwrap_or(order.len())
}

/// The form that its script sends with its files.
fn install() -> Markup {
    html! {
        details.box {
            summary { "Install version" }
            form #upload.stack method="post" action="/plugins/upload" data-uploads {
                div.field {
                    label for="component" { "Component" }
                    p.help #component-help { "A .wasm file. It goes through every stage of a deployment; a refusal leaves everything as it is." }
                    input #component type="file" name="component" accept=".wasm,application/wasm" required aria-describedby="component-help";
                }
                div.field {
                    label for="defaults" { "Defaults (optional)" }
                    p.help #defaults-help { "The family.toml that comes with it: prices, providers and models; in place of those in the component, if it was packed with some. \"Check only\" shows what each value would change." }
                    input #defaults type="file" name="defaults" accept=".toml" aria-describedby="defaults-help";
                }
                div.field {
                    label for="signature" { "Signature (optional)" }
                    p.help #signature-help { "The .sig file of its author." }
                    input #signature type="file" name="signature" accept=".sig" aria-describedby="signature-help";
                }
                label.check { input type="checkbox" name="allow_removal" value="1"; " It may leave out models and aliases that are served today" }
                div.buttons {
                    button.primary name="do" value="install" { "Install and switch" }
                    button name="do" value="check" { "Check only" }
                }
                noscript { p.muted { "This form needs a script. On the command line: " code { "gatehouse plugin install FILE.wasm" } } }
            }
            div #upload-result role="status" {}
        }
    }
}

fn card(family: &Value, versions: &[Value], request: &PageRequest) -> Markup {
    let name = text(family, "family");
    let actions = FAMILIES.actions.iter().filter(|action| request.is_operator() && (action.when)(family));
    html! {
        section.card id=(name) aria-labelledby={ "family-" (name) } {
            div.title {
                h2 id={ "family-" (name) } { (name) }
                div.buttons { @for action in actions { (action.show(&FAMILIES, family, request, &html! {})) } }
            }
            @if let Some(first) = versions.first() { p.muted { (about(first)) } p.muted { (models(first)) } }
            p { a href={ "/deployments?family=" (name) } { "Deployments of " (name) } }
            (VERSIONS.table(versions, &format!("Versions of {name}"), request))
        }
    }
}

/// What its manifest says of it to people: name, licence, address. An address is a link only where it can do no harm.
fn about(version: &Value) -> Markup {
    let homepage = text(version, "homepage");
    html! {
        (text(version, "title"))
        @if !text(version, "licence").is_empty() { " " span { (text(version, "licence")) } }
        @if homepage.starts_with("https://") { " " a href=(homepage) rel="noreferrer" { (homepage) } }
        @else if !homepage.is_empty() { " " (homepage) }
    }
}

/// Models, each with its other names.
fn models(version: &Value) -> String {
    let named = |model: &Value| {
        let model = plain(model);
        match version["aliases"][model.as_str()].as_array() {
            Some(aliases) => {
                format!("{model} ({})", aliases.iter().map(plain).collect::<Vec<_>>().join(", "))
            }
            None => model,
        }
    };
    let models: Vec<String> = version["models"].as_array().into_iter().flatten().map(named).collect();
    if models.is_empty() { "Its text models are in the configuration.".to_owned() } else { models.join(", ") }
}

/// What a browser sends: the form with its files, or the component's bytes alone, with the fields behind the question mark.
async fn read(request: &PageRequest) -> Result<(Form, PluginOffer), PageError> {
    let (fields, files) = request.form_with_files().await?;
    if files.is_empty() {
        let offer = PluginOffer::of(Component(request.body.to_vec()));
        let fields = request.query.clone();
        let allow_removal = fields.is_on("allow_removal");
        return Ok((fields, PluginOffer { allow_removal, ..offer }));
    }
    let file = |name: &str| files.iter().find(|file| file.name == name).map(|file| &file.bytes);
    let text = |name: &str| {
        let bytes = file(name)?;
        let why = format!("{name}: expected text in UTF-8");
        Some(String::from_utf8(bytes.to_vec()).map_err(|_| PageError::new(StatusCode::BAD_REQUEST, why)))
    };
    let missing = || PageError::new(StatusCode::BAD_REQUEST, "component: choose a file".to_owned());
    let component = Component(file("component").ok_or_else(missing)?.to_vec());
    let defaults = text("defaults").transpose()?;
    let offer = PluginOffer {
        signature: text("signature").transpose()?,
        allow_removal: fields.is_on("allow_removal"),
        defaults: defaults.map(|text| FamilyDefaultsFile { name: "family.toml".to_owned(), text }),
        ..PluginOffer::of(component)
    };
    Ok((fields, offer))
}

/// `POST /plugins/upload`, with `do` install or check.
pub(crate) async fn take(request: PageRequest) -> Outcome {
    let (fields, offer) = read(&request).await?;
    let installs = fields.text("do") == "install";
    let path: &[&str] = if installs { &["plugins"] } else { &["plugins", "check"] };
    let deployed = request.ask(ApiRequest::post(path).json(&offer)).await;
    let (status, report) = match deployed {
        Ok(answer) => {
            let (done, plugin) = (&answer.body, &answer.body["plugin"]);
            let (family, version) = (text(plugin, "family"), text(plugin, "version"));
            let report = html! {
                @if installs {
                    h2 { (chip(Tone::Ok, "active")) " " (family) " " (version) " serves now" }
                    @if let Some(before) = done["replaced"].as_str() { p { "It replaces " code { (before.get(..12).unwrap_or(before)) } "." } }
                } @else {
                    h2 { (chip(Tone::Ok, "passed")) " " (family) " " (version) " passed every stage; nothing was switched" }
                }
                (stages(members(done, "stages")))
                (changes(members(done, "defaults")))
                @if installs { p { a.button href="/plugins?done=activated" { "Show the versions" } } }
            };
            (StatusCode::OK, report)
        }
        Err(refusal) => {
            let error = PageError::from(refusal);
            let report = html! {
                h2 { (chip(Tone::Error, "refused")) " Nothing was changed" }
                p { (error.message) }
                @if !error.stages.is_empty() { (stages(&error.stages)) }
            };
            (error.status, report)
        }
    };
    Ok(html_response(status, report))
}

/// What became of the defaults that a plugin brings.
fn changes(defaults: &[Value]) -> Markup {
    html! {
        @if !defaults.is_empty() {
            h3 { "Its defaults" }
            ul { @for change in defaults {
                @let of = |name: &str| text(change, name);
                li { code { (of("key")) } " " @match of("effect") {
                    "added" => { "is new: " code { (of("value")) } }
                    "changed" => { "was " code { (of("before")) } ", is " code { (of("value")) } }
                    "overridden" => { "stays " code { (of("by")) } ", set at " (of("at")) }
                    "removed" => { "goes, it was " code { (of("before")) } }
                    _ => { "stays" }
                } }
            } }
        }
    }
}
