//! `gatehouse plugin mock`: serves play scripts as a provider on a loopback port, so that a real gateway can run a family
//! before its provider has an account for the author. Ends on Ctrl-C, with a summary.

mod expected_call;
mod provider;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

use gatehouse_sandbox::scripted::{Answer, Received, Scripted};
use gatehouse_testkit::{Conversation, Script};

use super::play;
use crate::commands::args::author::MockArgs;
use crate::server::Signals;
use crate::terminal::{Exit, fail, print};
use provider::MockProvider;

pub(super) fn run(args: &MockArgs) -> Exit {
    let conversations = match read(&args.script) {
        Ok(conversations) => conversations,
        Err(problem) => return fail(Exit::Refused, problem),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(serve(args.port, conversations))) {
        Ok(exit) => exit,
        Err(error) => fail(Exit::Broken, format_args!("127.0.0.1:{}: {error}", args.port)),
    }
}

/// The conversations of a script, or of all scripts of a folder.
fn read(scripts: &Path) -> Result<Vec<Conversation>, String> {
    let mut found = Vec::new();
    for file in play::find(scripts)? {
        found.extend(Script::read(&file)?.conversations());
    }
    if found.is_empty() {
        return Err(format!(
            "{}: expected a script with a `reply`, an `answer`, `events` or an `outage`, got none",
            scripts.display()
        ));
    }
    Ok(found)
}

async fn serve(port: u16, conversations: Vec<Conversation>) -> io::Result<Exit> {
    let mut signals = Signals::handle()?;
    let mut provider = None;
    let running = Scripted::start(port, |origin| {
        let made = Arc::new(MockProvider::new(conversations, origin));
        provider = Some(Arc::clone(&made));
        move |received| answer(Arc::clone(&made), received)
    })
    .await?;
    let provider = provider.expect("a listener that started has made it");
    let greeting = greeting(&running.origin, &provider.providers, provider.conversations.len());
    if print(&greeting) != Exit::Done {
        return Ok(Exit::Broken);
    }
    signals.next().await;
    drop(running);
    let (summary, is_clean) = provider.summary();
    let _ = print(&summary);
    Ok(if is_clean { Exit::Done } else { Exit::Refused })
}

async fn answer(provider: Arc<MockProvider>, received: Received) -> Answer {
    let (answer, line) = provider.answer(&received).await;
    // The query may hold an account's key.
    let path = received.target.split('?').next().unwrap_or_default();
    // A reader that went away does not stop the provider.
    let _ = print(&format!("{} {path} -> {line}\n", received.method));
    answer
}

/// Where it listens, and what a gateway's configuration needs for it.
fn greeting(origin: &str, providers: &BTreeSet<String>, conversations: usize) -> String {
    let mut text =
        format!("{origin} plays {conversations} conversations; Ctrl-C ends. For gatehouse.toml:\n");
    let unnamed = BTreeSet::from(["NAME".to_owned()]);
    for name in if providers.is_empty() { &unnamed } else { providers } {
        let written = write!(
            text,
            "\n[providers.{name}]\nbase_url = \"{origin}/{name}\"\nmedia_origins = [\"{origin}\"]\nauth = \"bearer\"\n\n\
             [providers.{name}.accounts.mock]\nsecret = {{ env = \"MOCK_API_KEY\" }}\n"
        );
        written.expect("text takes text");
    }
    text.push('\n');
    text
}
