//! The whole sandbox: starts every simulated provider and stops them again.
//!
//! Knows which listeners there are and who answers on them, and nothing of what they say.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::chat::ChatSite;
use crate::context::{ContextAddresses, Provider, Truth};
use crate::messages::MessagesSite;
use crate::samples::Samples;
use crate::server::Door;
use crate::settings::Settings;
use crate::text::desk::Desk;
use crate::text::{TextAddresses, TextTruth, TruthSite};

/// The simulated providers, running. Dropping it closes every listener and connection.
pub struct Sandbox {
    context: Arc<Provider>,
    messages: Arc<Desk>,
    chat: Arc<Desk>,
    doors: JoinSet<()>,
}

impl Sandbox {
    /// Binds all listeners on 127.0.0.1 and begins to serve.
    ///
    /// # Errors
    /// A port that cannot be bound, a key of the wrong form, or no random source.
    pub async fn start(settings: Settings) -> io::Result<Self> {
        let ports = settings.ports;
        let (submit, poll) = (Door::bind(ports.submit).await?, Door::bind(ports.poll).await?);
        let (delivery, samples) = (Door::bind(ports.delivery).await?, Door::bind(ports.samples).await?);
        let truth = Door::bind(ports.truth).await?;
        let addresses = ContextAddresses {
            submit: submit.origin.clone(),
            poll: poll.origin.clone(),
            delivery: delivery.origin.clone(),
            samples: samples.origin.clone(),
            truth: truth.origin.clone(),
        };
        let sample_files = Arc::new(Samples::new(samples.origin.clone()));
        let (messages_door, chat_door) = (Door::bind(ports.messages).await?, Door::bind(ports.chat).await?);
        let text_truth = Door::bind(ports.text_truth).await?;
        let desk = |door: &Door, name: &str| {
            let truth = format!("{}/truth/{name}", text_truth.origin);
            Desk::new(settings.clone(), TextAddresses { origin: door.origin.clone(), truth })
        };
        let (messages, chat) = (desk(&messages_door, "messages"), desk(&chat_door, "chat"));
        let context = Arc::new(Provider::new(settings, addresses)?);
        let mut doors = JoinSet::new();
        doors.spawn(submit.serve(Arc::new(context.submit_site())));
        doors.spawn(poll.serve(Arc::new(context.poll_site())));
        doors.spawn(delivery.serve(Arc::new(context.delivery_site())));
        doors.spawn(truth.serve(Arc::new(context.truth_site())));
        doors.spawn(samples.serve(sample_files));
        doors.spawn(messages_door.serve(Arc::new(MessagesSite(Arc::clone(&messages)))));
        doors.spawn(chat_door.serve(Arc::new(ChatSite(Arc::clone(&chat)))));
        doors.spawn(text_truth.serve(Arc::new(TruthSite(vec![Arc::clone(&messages), Arc::clone(&chat)]))));
        Ok(Self { context, messages, chat, doors })
    }

    /// Where the context-image provider listens.
    #[must_use]
    pub fn context(&self) -> &ContextAddresses {
        self.context.addresses()
    }

    /// What the context-image provider knows to be true.
    #[must_use]
    pub fn context_truth(&self) -> Truth {
        self.context.truth()
    }

    /// Where the Messages API is simulated.
    #[must_use]
    pub fn messages(&self) -> &TextAddresses {
        &self.messages.addresses
    }

    /// What the Messages API's simulation knows to be true.
    #[must_use]
    pub fn messages_truth(&self) -> TextTruth {
        self.messages.truth()
    }

    /// Where chat completions are simulated.
    #[must_use]
    pub fn chat(&self) -> &TextAddresses {
        &self.chat.addresses
    }

    /// What the chat completions' simulation knows to be true.
    #[must_use]
    pub fn chat_truth(&self) -> TextTruth {
        self.chat.truth()
    }

    /// Lets every text answer go on that a marker holds up at this moment. The truth says how many there are.
    pub fn release(&self) {
        self.messages.release();
        self.chat.release();
    }

    /// Closes every listener and connection, without waiting for requests under way: a hung one never ends.
    pub async fn stop(mut self) {
        self.doors.shutdown().await;
    }
}
