//! Home: lines to paste, and what needs a person.

use gatehouse_admin::{
    AccountHealth, AuditQuery, AuditRecord, OperationError, PluginVersion, ProviderView, ResponseBody,
};
use gatehouse_model::{TaskId, UnixMs};
use http::Response;
use maud::{Markup, html};
use std::time::Duration;

use crate::error::{Outcome, PageError};
use crate::format::moment;
use crate::kinds::customers::CUSTOMERS;
use crate::parts::elements::{Tone, chip};
use crate::parts::live;
use crate::parts::shell::Shell;
use crate::recipes::{self, Keys};
use crate::request::{PageContext, PageRequest};

/// Rows of the list, and of each kind.
const MOST: usize = 10;
/// Lines of the audit record among which decisions are looked for; most lines are about what operators did.
const AUDIT_LINES: usize = 200;
/// How a person's own ruling begins: of its task nothing is left to look at.
const RULED: &str = "ruled by an operator";
/// Decisions of the last day are worth a look.
const RECENT: Duration = Duration::from_secs(86_400);

/// Something a person should look at.
struct Notice {
    tone: Tone,
    word: &'static str,
    text: String,
    link: String,
    at: Option<UnixMs>,
}

/// `GET /`.
pub(crate) async fn show(request: PageRequest) -> Outcome {
    let pages = &request.pages;
    let keys = Keys::of(&pages.facts, request.is_operator());
    let is_sandbox = pages.facts.sandbox.is_some();
    let shell = Shell::new(&request, "/", "Home");
    Ok(shell.show(&html! {
        h1 { "Gatehouse" }
        p.muted { "Clients connect to " code { (pages.facts.public_url) } }
        div.halves {
            section aria-labelledby="try" {
                h2 #try { "Try it" }
                @if !is_sandbox {
                    p.muted { "Put one of your keys in place of " code { "$KEY" } ". " a href="/keys/new" { "New key" } }
                }
                (recipes::show(&pages.facts.public_url, &keys))
            }
            section aria-labelledby="look" {
                h2 #look { "To look at" }
                div data-live="/live" { (notices(pages, request.now).await?) }
            }
        }
    }))
}

/// `GET /live`: the list again whenever it changes.
pub(crate) fn live(request: PageRequest) -> Response<ResponseBody> {
    live::stream(request, |request| async move {
        let pages = &request.pages;
        notices(pages, pages.service.clock.now()).await.ok().map(Into::into)
    })
}

async fn notices(pages: &PageContext, now: UnixMs) -> Result<Markup, PageError> {
    // What is wrong now and strikes every client comes first.
    let mut notices: Vec<Notice> = of_disks(pages).into_iter().collect();
    notices.extend(of_providers(pages)?);
    notices.extend(of_ambiguous(pages));
    notices.extend(of_plugins(pages).await?);
    let (webhooks, other_webhooks) = of_webhooks(pages).await?;
    notices.extend(webhooks);
    // After all others but decisions: they may be many, and have a page of their own.
    let (customers, other_customers) = of_customers(pages).await?;
    let has_customers = !customers.is_empty();
    notices.extend(customers);
    notices.extend(of_audit(pages, now).await?);
    let more = notices.len().saturating_sub(MOST) as u64 + other_customers + other_webhooks;
    notices.truncate(MOST);
    Ok(html! {
        @if notices.is_empty() {
            p.empty { "Nothing needs a person." }
        } @else {
            ul.notices {
                @for notice in &notices {
                    li {
                        (chip(notice.tone, notice.word)) " "
                        a href=(notice.link) { (notice.text) }
                        @if let Some(at) = notice.at { " " span.muted { (moment(at, now)) } }
                    }
                }
            }
            @if more > 0 {
                p.muted {
                    "and " (more) " more"
                    @if has_customers { ": " a href="/customers?without_credit=true" { "customers without credit" } }
                }
            }
        }
    })
}

/// A disk without room.
fn of_disks(pages: &PageContext) -> Option<Notice> {
    let disk = pages.service.attention.full_disk()?;
    let text = format!("the disk of the {disk} is nearly full; new tasks are refused");
    Some(Notice { tone: Tone::Error, word: "disk full", text, link: "/system".to_owned(), at: None })
}

/// Providers of which no account takes work: each is refused, failing or kept away.
fn of_providers(pages: &PageContext) -> Result<Vec<Notice>, PageError> {
    let providers = match pages.service.providers.list() {
        // There is no gateway beside these pages.
        Err(OperationError::Refused(_)) => Vec::new(),
        found => found?,
    };
    let without = providers.iter().filter_map(|provider| {
        let reason = no_account_works(provider)?;
        let text = format!("{}: {reason}", provider.name);
        let link = format!("/providers#{}", provider.name);
        Some(Notice { tone: Tone::Error, word: "provider", text, link, at: None })
    });
    Ok(without.collect())
}

/// Why a provider with accounts cannot be used.
fn no_account_works(provider: &ProviderView) -> Option<&'static str> {
    let all = |health: &[AccountHealth]| {
        !provider.accounts.is_empty()
            && provider.accounts.iter().all(|account| health.contains(&account.health))
    };
    if all(&[AccountHealth::Refused]) {
        Some("the credentials or credit of every account are refused")
    } else if all(&[AccountHealth::Failing]) {
        Some("every account fails")
    } else if all(&[AccountHealth::Drained]) {
        Some("every account is drained")
    } else if all(&[AccountHealth::Refused, AccountHealth::Failing, AccountHealth::Drained]) {
        Some("no account can be used")
    } else {
        None
    }
}

/// Tasks that wait for a ruling.
fn of_ambiguous(pages: &PageContext) -> Option<Notice> {
    let text = match pages.service.attention.ambiguous_tasks() {
        0 => return None,
        1 => "1 task waits for a ruling about a call without a reply".to_owned(),
        count => format!("{count} tasks wait for a ruling about a call without a reply"),
    };
    let link = "/tasks?ambiguous=true".to_owned();
    Some(Notice { tone: Tone::Warn, word: "ambiguous", text, link, at: None })
}

/// Versions that cannot serve.
async fn of_plugins(pages: &PageContext) -> Result<Vec<Notice>, PageError> {
    let plugins = pages.service.versions.list().await?;
    let notice = |plugin: PluginVersion| {
        let (tone, word) = match plugin.state {
            "broken" => (Tone::Error, "broken"),
            "rolled_back" => (Tone::Warn, "rolled back"),
            _ => return None,
        };
        let text = format!("{} {}: {}", plugin.family, plugin.version, plugin.reason.unwrap_or_default());
        let link = format!("/plugins#{}", plugin.family);
        Some(Notice { tone, word, text, link, at: plugin.at.map(|at| at.0) })
    };
    let mut notices: Vec<Notice> = plugins.into_iter().filter_map(notice).collect();
    notices.sort_by_key(|notice| notice.tone != Tone::Error);
    Ok(notices)
}

/// The first customers whose every request is refused, and how many others there are.
async fn of_customers(pages: &PageContext) -> Result<(Vec<Notice>, u64), PageError> {
    let customers = pages.service.store.customers_without_credit(None, MOST).await?.rows;
    let notice = |customer: gatehouse_model::Customer| Notice {
        tone: Tone::Warn,
        word: "402",
        text: format!("{} has no credit; its requests are refused", customer.id),
        link: CUSTOMERS.address(&customer.id.0),
        at: None,
    };
    let others = pages.service.store.count_without_credit().await?.saturating_sub(customers.len() as u64);
    Ok((customers.into_iter().map(notice).collect(), others))
}

/// The first webhooks that do not reach their receiver, disabled by the gateway or failing since some time, and how many
/// others there are.
async fn of_webhooks(pages: &PageContext) -> Result<(Vec<Notice>, u64), PageError> {
    let troubled = pages.service.store.troubled_webhooks(MOST).await?;
    let notice = |webhook: gatehouse_admin::WebhookEndpoint| {
        let (tone, word, what, at) = match webhook.disabled {
            Some(disabled) => (Tone::Error, "disabled", disabled.reason, Some(disabled.at)),
            None => {
                (Tone::Warn, "failing", format!("{} events wait", webhook.pending), webhook.failing_since)
            }
        };
        let text = format!("webhook of {} to {}: {what}", webhook.customer, webhook.url);
        Notice { tone, word, text, link: format!("/webhooks/{}", webhook.id), at }
    };
    let others = pages.service.store.count_troubled_webhooks().await?.saturating_sub(troubled.len() as u64);
    Ok((troubled.into_iter().map(notice).collect(), others))
}

/// Decisions the gateway took without all facts.
async fn of_audit(pages: &PageContext, now: UnixMs) -> Result<Vec<Notice>, PageError> {
    let notes = pages.service.attention.audit_lines(AuditQuery::default(), None, AUDIT_LINES).await?.rows;
    let ruled: Vec<_> =
        notes.iter().filter(|note| note.text.starts_with(RULED)).filter_map(|note| note.task).collect();
    let is_open = |task: Option<TaskId>| task.is_some_and(|task| !ruled.contains(&task));
    let recent = notes.into_iter().filter(|note| now.since(note.at) < RECENT && is_open(note.task));
    let notice = |note: AuditRecord| Notice {
        tone: Tone::Info,
        word: "decided",
        text: note.text,
        link: "/audit".to_owned(),
        at: Some(note.at),
    };
    Ok(recent.map(notice).take(MOST + 1).collect())
}
