//! The frame around every page: head, navigation, header, and the line that says what was done.

use axum::response::IntoResponse as _;
use gatehouse_admin::{ResponseBody, SessionView};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, SET_COOKIE};
use http::{HeaderValue, Response, StatusCode};
use maud::{DOCTYPE, Markup, html};

use crate::assets::url;
use crate::request::{PageRequest, THEME_COOKIE, Theme};

/// The pages of the navigation: address, name, key after `g`.
const NAVIGATION: &[(&str, &str, &str)] = &[
    ("/", "Home", "h"),
    ("/keys", "Keys", "k"),
    ("/customers", "Customers", "c"),
    ("/tasks", "Tasks", "t"),
    ("/usage", "Usage", "u"),
    ("/statements", "Statements", "m"),
    ("/prices", "Prices", "b"),
    ("/playground", "Playground", "l"),
    ("/providers", "Providers", "p"),
    ("/plugins", "Plugins", "i"),
    ("/webhooks", "Webhooks", "w"),
    ("/logs", "Logs", "o"),
    ("/audit", "Audit", "a"),
    ("/system", "System", "s"),
];

/// A page and where it is.
pub(crate) struct Shell<'p> {
    pub(crate) title: &'p str,
    /// The page of the navigation it belongs to, by its address.
    pub(crate) section: &'p str,
    pub(crate) theme: Theme,
    pub(crate) session: Option<&'p SessionView>,
    pub(crate) is_sandbox: bool,
    /// What was done, for the status line.
    pub(crate) done: Option<&'p str>,
    /// Scripts and styles of this page alone.
    pub(crate) files: &'p [&'p str],
}

impl<'p> Shell<'p> {
    /// The frame of a page of `section`.
    pub(crate) fn new(request: &'p PageRequest, section: &'p str, title: &'p str) -> Self {
        let done = Some(request.query.text("done")).and_then(done);
        Self {
            title,
            section,
            theme: request.theme,
            session: request.session.as_ref(),
            is_sandbox: request.pages.facts.sandbox.is_some(),
            done,
            files: &[],
        }
    }

    /// The whole page of a request that went well.
    pub(crate) fn show(&self, content: &Markup) -> Response<ResponseBody> {
        self.page(StatusCode::OK, content)
    }

    /// The whole page.
    pub(crate) fn page(&self, status: StatusCode, content: &Markup) -> Response<ResponseBody> {
        document(
            status,
            self.theme,
            self.title,
            self.files,
            &html! {
                a.skip href="#content" { "Skip to the content" }
                (self.header())
                div.columns {
                    nav.side aria-label="Pages" { (self.links()) }
                    main #content tabindex="-1" {
                        p.done #done role="status" { @if let Some(done) = self.done { (done) } }
                        (content)
                    }
                }
                (shortcuts())
            },
        )
    }

    fn header(&self) -> Markup {
        html! {
            header.top {
                details.menu {
                    summary { "Menu" }
                    nav aria-label="Pages, short" { (self.links()) }
                }
                a.brand href="/" { "Gatehouse" }
                @if self.is_sandbox { span.chip.warn title="Simulated providers; nothing leaves this machine" { "SANDBOX" } }
                span.space {}
                form.theme method="post" action="/appearance" {
                    input type="hidden" name="back" value=(self.section);
                    label for="theme" { "Theme" }
                    select #theme name="theme" data-submits {
                        @for theme in Theme::ALL {
                            option value=(theme.as_str()) selected[theme == self.theme] { (theme.as_str()) }
                        }
                    }
                    noscript { button { "Set" } }
                }
                @if let Some(session) = self.session {
                    form method="post" action="/session/end" {
                        span.muted.role { @if let Some(name) = &session.name { (name) ", " } (session.role) }
                        button.quiet { "Log out" }
                    }
                }
            }
        }
    }

    fn links(&self) -> Markup {
        html! {
            ul {
                @for (address, name, key) in NAVIGATION {
                    li { a href=(address) data-key=(key) aria-current=[(*address == self.section).then_some("page")] { (name) } }
                }
            }
        }
    }
}

/// A document with the style, the scripts of every page and `files` of its own: styles, modules, and vendored scripts, which
/// are no modules and run before them.
pub(crate) fn document(
    status: StatusCode,
    theme: Theme,
    title: &str,
    files: &[&str],
    body: &Markup,
) -> Response<ResponseBody> {
    let text = html! {
        (DOCTYPE)
        html lang="en" data-theme=(theme.as_str()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Gatehouse" }
                link rel="icon" type="image/svg+xml" href=(url("icon.svg"));
                link rel="stylesheet" href=(url("console.css"));
                @for file in files.iter().chain(&["console.js"]) {
                    @if file.ends_with(".css") { link rel="stylesheet" href=(url(file)); }
                    @else if file.starts_with("vendor/") { script defer src=(url(file)) {} }
                    @else { script type="module" src=(url(file)) {} }
                }
            }
            body { (body) }
        }
    };
    html_response(status, text)
}

/// HTML that no cache keeps.
pub(crate) fn html_response(status: StatusCode, text: Markup) -> Response<ResponseBody> {
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    (status, headers, text.into_string()).into_response()
}

/// Leads on after a change. `to` is one of the console's own addresses.
pub(crate) fn redirect(to: &str) -> Response<ResponseBody> {
    let mut response = html_response(StatusCode::SEE_OTHER, html! {});
    let to = HeaderValue::from_str(to).unwrap_or_else(|_| HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, to);
    response
}

/// Remembers the theme in this browser, and leads back.
pub(crate) fn appearance(request: &PageRequest) -> Response<ResponseBody> {
    let form = request.form();
    let known = NAVIGATION.iter().find(|(address, ..)| *address == form.text("back"));
    let mut response = redirect(known.map_or("/", |(address, ..)| address));
    let theme = Theme::named(form.text("theme")).as_str();
    let cookie = format!("{THEME_COOKIE}={theme}; SameSite=Strict; Path=/; Max-Age=31536000");
    let cookie = HeaderValue::from_str(&cookie).expect("made of letters and punctuation");
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}

/// The sentence of a change that a redirect names. Fixed, so an address cannot make a page say anything else.
fn done(code: &str) -> Option<&'static str> {
    Some(match code {
        "activated" => "The version serves now.",
        "asked" => {
            "Its provider is asked to stop it. Once that is done, the task ends as cancelled and is refunded."
        }
        "cancelled" => "The task was cancelled; its customer got everything back.",
        "created" => "The customer was created.",
        "deposited" => "The amount was paid in.",
        "disabled" => "Nothing is sent to the webhook any more.",
        "drained" => "The account gets no new work.",
        "enabled" => "Events are sent to the webhook again.",
        "ended" => "The session was ended.",
        "forgotten" => "The webhook was removed.",
        "removed" => "The version was removed.",
        "resent" => "The event is sent again.",
        "resent-none" => "No event of that range is to be sent again.",
        "resent-part" => "500 events are sent again. There are more; send again for the rest.",
        "resent-range" => "The events are sent again.",
        "resumed" => "The account gets new work again.",
        "ruled" => "The ruling was carried out.",
        "retired" => "The secret before signs no more.",
        "revoked" => "The key was revoked.",
        "saved" => "The change was saved.",
        "family-disabled" => "The family is disabled.",
        "family-enabled" => "The family serves again.",
        "rolled-back" => "The family was rolled back.",
        "tested" => "A test event is on its way.",
        "withdrawn" => "The amount was taken back.",
        _ => return None,
    })
}

/// The list of keyboard shortcuts.
fn shortcuts() -> Markup {
    html! {
        dialog #shortcuts aria-labelledby="shortcuts-title" {
            h2 #shortcuts-title { "Keyboard" }
            dl.facts {
                dt { kbd { "/" } } dd { "search on this page" }
                dt { kbd { "j" } " " kbd { "k" } } dd { "next row, row before" }
                dt { kbd { "Enter" } } dd { "open the row" }
                dt { kbd { "e" } } dd { "edit, where the page has it" }
                dt { kbd { "n" } } dd { "new, where the page has it" }
                @for (_, name, key) in NAVIGATION {
                    dt { kbd { "g" } " " kbd { (key) } } dd { (name) }
                }
                dt { kbd { "Ctrl" } " " kbd { "Enter" } } dd { "run, in the form of the playground" }
                dt { kbd { "?" } } dd { "this list" }
            }
            label.check { input type="checkbox" #shortcuts-off; " Switch the shortcuts off in this browser" }
            form method="dialog" { button { "Close" } }
        }
    }
}
