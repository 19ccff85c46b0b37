//! Families with their versions.

use std::collections::BTreeMap;

use gatehouse_admin::{PluginState, PluginView, ResponseBody};
use gatehouse_model::UnixMs;
use http::{Response, StatusCode};
use maud::{Markup, html};

use crate::context::PageContext;
use crate::error::PageError;
use crate::format::{digest, moment};
use crate::parts::elements::{Confirm, Tone, chip, empty};
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// `GET /plugins`.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let plugins = pages.service.plugins().await?;
    let mut families: BTreeMap<String, Vec<PluginView>> = BTreeMap::new();
    for plugin in plugins {
        families.entry(plugin.family.clone()).or_default().push(plugin);
    }
    for versions in families.values_mut() {
        versions.sort_by_key(|version| rank(&version.state));
    }
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/plugins", "Plugins");
    Ok(shell.page(StatusCode::OK, &html! {
        h1 { "Plugins" }
        p.muted { "Each family of models is served by one version of its plugin. A version is switched while requests are served. " a href="/deployments" { "Deployments so far" } }
        @if request.is_operator() { (install()) }
        @if families.is_empty() {
            (empty("No plugin is installed, so no model is served.", None, "gatehouse plugin install FILE.wasm"))
        }
        @for (family, versions) in &families { (card(family, versions, request)) }
    }))
}

/// The serving version first, then what may serve.
fn rank(state: &PluginState) -> u8 {
    match state {
        PluginState::Active { .. } | PluginState::Serves => 0,
        PluginState::Broken { .. }
        | PluginState::DisabledByConfiguration
        | PluginState::DisabledByOperator { .. } => 1,
        PluginState::Standby { .. } => 2,
        PluginState::Pinned => 3,
        PluginState::Checked | PluginState::Kept => 4,
        PluginState::RolledBack { .. } => 5,
    }
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

fn card(family: &str, versions: &[PluginView], request: &PageRequest) -> Markup {
    let may_roll_back = versions.iter().any(|version| matches!(version.state, PluginState::Standby { .. }));
    let models = versions.first().map(models).unwrap_or_default();
    html! {
        section.card id=(family) aria-labelledby={ "family-" (family) } {
            div.title {
                h2 id={ "family-" (family) } { (family) }
                @if request.is_operator() {
                    div.buttons {
                        @if may_roll_back { (roll_back(family, versions)) }
                        @match versions.first().map(|version| &version.state) {
                            Some(PluginState::Active { .. }) => { (disable(family)) }
                            Some(PluginState::DisabledByOperator { .. }) => { (enable(family)) }
                            _ => {}
                        }
                    }
                }
            }
            p.muted { (models) }
            p { a href={ "/deployments?family=" (family) } { "Deployments of " (family) } }
            div.scroll role="region" aria-label={ "Versions of " (family) } tabindex="0" {
                table.cards {
                    caption { "Versions of " (family) }
                    thead { tr {
                        @for name in ["Version", "Digest", "State"] { th scope="col" { (name) } }
                        @if request.is_operator() { th scope="col" { "Action" } }
                    } }
                    tbody { @for version in versions {
                        tr {
                            td data-label="Version" { (version.version) }
                            td { (digest(&version.digest)) }
                            td.wide { (state(&version.state, request.now)) }
                            @if request.is_operator() { td { (actions(version)) } }
                        }
                    } }
                }
            }
        }
    }
}

/// Models, each with its other names.
fn models(plugin: &PluginView) -> String {
    let named = |model: &String| match plugin.aliases.get(model) {
        Some(aliases) => format!("{model} ({})", aliases.join(", ")),
        None => model.clone(),
    };
    if plugin.models.is_empty() {
        return "Its text models are in the configuration.".to_owned();
    }
    plugin.models.iter().map(named).collect::<Vec<_>>().join(", ")
}

fn state(state: &PluginState, now: UnixMs) -> Markup {
    html! {
        @match state {
            PluginState::Active { since } => { (chip(Tone::Ok, "active")) " since " (moment(*since, now)) }
            PluginState::Serves => { (chip(Tone::Ok, "active")) }
            PluginState::Broken { reason } => { (chip(Tone::Error, "broken")) " " (reason) }
            PluginState::DisabledByConfiguration => { (chip(Tone::Warn, "disabled")) " by the configuration" }
            PluginState::DisabledByOperator { since } => { (chip(Tone::Warn, "disabled")) " since " (moment(*since, now)) }
            PluginState::Checked => { (chip(Tone::Neutral, "checked")) }
            PluginState::Kept => { (chip(Tone::Neutral, "kept")) }
            PluginState::Pinned => { (chip(Tone::Info, "pinned")) " finishes the tasks it admitted" }
            PluginState::Standby { until } => { (chip(Tone::Info, "standby")) " takes over if its successor fails; until " (moment(*until, now)) }
            PluginState::RolledBack { at, reason } => { (chip(Tone::Warn, "rolled back")) " " (moment(*at, now)) ": " (reason) }
        }
    }
}

/// What may be done to a version that does not serve.
fn actions(version: &PluginView) -> Markup {
    let short = version.digest.short();
    let name = format!("{} {}", version.family, version.version);
    let (activate, remove) = (format!("activate-{short}"), format!("remove-{short}"));
    let may_activate = !matches!(version.state, PluginState::Active { .. } | PluginState::Serves);
    let may_remove = matches!(version.state, PluginState::Kept | PluginState::RolledBack { .. });
    html! {
        @if may_activate {
            (Confirm {
                id: &activate,
                button: "Activate",
                title: &format!("Activate {name}"),
                consequence: "It serves new requests of its family from now on. Tasks under way finish on the version that admitted them.",
                action: &format!("/plugins/{}/activate", version.digest),
                danger: false,
            }.with(&html! {
                label.check { input type="checkbox" name="allow_removal" value="1"; " It may leave out models and aliases that are served today" }
            }))
        }
        @if may_remove {
            (Confirm {
                id: &remove,
                button: "Remove",
                title: &format!("Remove {name}"),
                consequence: "Its file is deleted from the plugin store. It can be installed again.",
                action: &format!("/plugins/{}/remove", version.digest),
                danger: true,
            }.show())
        }
        @if !may_activate && !may_remove { span.muted { "none" } }
    }
}

fn roll_back(family: &str, versions: &[PluginView]) -> Markup {
    let named = |wanted: fn(&PluginState) -> bool| {
        versions.iter().find(|version| wanted(&version.state)).map_or("", |version| version.version.as_str())
    };
    let standby = named(|state| matches!(state, PluginState::Standby { .. }));
    let active = named(|state| matches!(state, PluginState::Active { .. }));
    let id = format!("roll-back-{family}");
    Confirm {
        id: &id,
        button: "Roll back",
        title: &format!("Roll back {family}"),
        consequence: &format!("{standby} takes over. Tasks that {active} admitted finish on {active}."),
        action: &format!("/plugins/{family}/rollback"),
        danger: true,
    }
    .show()
}

fn disable(family: &str) -> Markup {
    Confirm {
        id: &format!("disable-{family}"),
        button: "Disable",
        title: &format!("Disable {family}"),
        consequence: "Its models are listed no more, and new requests for them are refused. Tasks under way finish.",
        action: &format!("/plugins/{family}/disable"),
        danger: true,
    }
    .show()
}

fn enable(family: &str) -> Markup {
    Confirm {
        id: &format!("enable-{family}"),
        button: "Enable",
        title: &format!("Enable {family}"),
        consequence: "It serves new requests again, with the version it had.",
        action: &format!("/plugins/{family}/enable"),
        danger: false,
    }
    .show()
}
