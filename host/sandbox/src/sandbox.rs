//! The whole sandbox: starts every simulated provider and stops them again.
//!
//! Knows the listeners and the handler behind each. Knows nothing of their wire formats.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use tokio::task::JoinSet;

use crate::ark::record::ArkRecord;
use crate::ark::{self, ArkAddresses};
use crate::chat::Chat;
use crate::common::records::{RecordsEndpoint, record};
use crate::common::samples::Samples;
use crate::common::server::Listener;
use crate::common::settings::Settings;
use crate::context::delivery::DeliveryEndpoint;
use crate::context::poll::PollEndpoint;
use crate::context::provider::{ContextAddresses, Provider};
use crate::context::record::ContextRecord;
use crate::context::submit::endpoint::SubmitEndpoint;
use crate::dashscope::{self, DashscopeAddresses, DashscopeRecord};
use crate::gemini::Gemini;
use crate::imagine::{self, ImagineAddresses, ImagineRecord};
use crate::messages::Messages;
use crate::midjourney::{self, MidjourneyAddresses, MidjourneyRecord};
use crate::text::endpoint::TextEndpoint;
use crate::text::provider::{TextAddresses, TextProvider};
use crate::text::record::TextRecord;
use crate::veo::{self, VeoAddresses, VeoRecord};

/// Where each provider listens.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Addresses<'a> {
    /// FLUX.1 Kontext, and the samples.
    pub context: &'a ContextAddresses,
    /// Anthropic's Messages API.
    pub messages: &'a TextAddresses,
    /// `OpenAI`'s chat completions and embeddings.
    pub chat: &'a TextAddresses,
    /// Google's `generateContent`.
    pub gemini: &'a TextAddresses,
    /// xAI's image API.
    pub imagine: &'a ImagineAddresses,
    /// Seedance, and its library of assets.
    pub ark: &'a ArkAddresses,
    /// Wan videos.
    pub dashscope: &'a DashscopeAddresses,
    /// A midjourney-proxy.
    pub midjourney: &'a MidjourneyAddresses,
    /// Veo, on Vertex AI.
    pub veo: &'a VeoAddresses,
}

/// The simulated providers, running. Dropping it closes every listener and connection.
pub struct Sandbox {
    context: Arc<Provider>,
    messages: Arc<TextProvider>,
    chat: Arc<TextProvider>,
    gemini: Arc<TextProvider>,
    ark: Arc<ark::provider::Provider>,
    dashscope: Arc<dashscope::Provider>,
    imagine: Arc<imagine::Provider>,
    midjourney: Arc<midjourney::Provider>,
    veo: Arc<veo::Provider>,
    listeners: JoinSet<()>,
}

impl Sandbox {
    /// Binds all listeners on 127.0.0.1 and begins to serve.
    ///
    /// # Errors
    /// A port that cannot be bound, a key of the wrong form, or no random source.
    pub fn start(settings: Settings) -> Pin<Box<dyn Future<Output = io::Result<Self>> + Send>> {
        Box::pin(async move {
            let ports = settings.ports;
            let bind = Listener::bind;
            let (submit, poll) = (bind(ports.submit).await?, bind(ports.poll).await?);
            let (delivery, samples) = (bind(ports.delivery).await?, bind(ports.samples).await?);
            let mut listeners = JoinSet::new();
            let imagine = imagine::start(&settings, &mut listeners).await?;
            let (messages_listener, chat_listener) = (bind(ports.messages).await?, bind(ports.chat).await?);
            let gemini_listener = bind(ports.gemini).await?;
            let (context_record, text_record) = (bind(ports.record).await?, bind(ports.text_record).await?);
            let addresses = ContextAddresses {
                submit: submit.origin.clone(),
                poll: poll.origin.clone(),
                delivery: delivery.origin.clone(),
                samples: samples.origin.clone(),
                record: context_record.origin.clone(),
            };
            let provider = |listener: &Listener, path: &str| {
                let (origin, record) = (listener.origin.clone(), format!("{}{path}", text_record.origin));
                TextProvider::new(settings.clone(), TextAddresses { origin, record })
            };
            let messages = provider(&messages_listener, "/truth/messages");
            let chat = provider(&chat_listener, "/truth/chat");
            let gemini = provider(&gemini_listener, "/truth/gemini");
            let dashscope = dashscope::start(&settings, &samples.origin, &mut listeners).await?;
            let midjourney = midjourney::start(&settings, &mut listeners).await?;
            let veo = veo::start(&settings, &mut listeners).await?;
            let context = Arc::new(Provider::new(settings, addresses)?);

            let (of_context, of_messages, of_chat, of_gemini) =
                (Arc::clone(&context), Arc::clone(&messages), Arc::clone(&chat), Arc::clone(&gemini));
            let context_records = [("/truth", record(move || of_context.record()))];
            let text_records = [
                ("/truth/messages", record(move || of_messages.record())),
                ("/truth/chat", record(move || of_chat.record())),
                ("/truth/gemini", record(move || of_gemini.record())),
            ];
            let ark = ark::start(&context.settings, &samples.origin, &mut listeners).await?;
            let sample_files = Samples::new(samples.origin.clone());
            listeners.spawn(submit.serve(Arc::new(SubmitEndpoint(Arc::clone(&context)))));
            listeners.spawn(poll.serve(Arc::new(PollEndpoint(Arc::clone(&context)))));
            listeners.spawn(delivery.serve(Arc::new(DeliveryEndpoint(Arc::clone(&context)))));
            listeners.spawn(context_record.serve(Arc::new(RecordsEndpoint(context_records))));
            listeners.spawn(samples.serve(Arc::new(sample_files)));
            listeners.spawn(messages_listener.serve(Arc::new(TextEndpoint::<Messages>::new(&messages))));
            listeners.spawn(chat_listener.serve(Arc::new(TextEndpoint::<Chat>::new(&chat))));
            listeners.spawn(gemini_listener.serve(Arc::new(TextEndpoint::<Gemini>::new(&gemini))));
            listeners.spawn(text_record.serve(Arc::new(RecordsEndpoint(text_records))));
            Ok(Self { context, messages, chat, gemini, ark, dashscope, imagine, midjourney, veo, listeners })
        })
    }

    /// The addresses of all providers.
    #[must_use]
    pub fn addresses(&self) -> Addresses<'_> {
        // Written out, so that a new provider is not forgotten.
        let Self { context, messages, chat, gemini, ark, dashscope, imagine, midjourney, veo, listeners: _ } =
            self;
        Addresses {
            context: &context.addresses,
            messages: &messages.addresses,
            chat: &chat.addresses,
            gemini: &gemini.addresses,
            imagine: &imagine.addresses,
            ark: &ark.addresses,
            dashscope: &dashscope.addresses,
            midjourney: &midjourney.addresses,
            veo: &veo.addresses,
        }
    }

    /// The addresses of the context-image provider.
    #[must_use]
    pub fn context(&self) -> &ContextAddresses {
        &self.context.addresses
    }

    /// The jobs and refusals of the context-image provider.
    #[must_use]
    pub fn context_record(&self) -> ContextRecord {
        self.context.record()
    }

    /// The addresses of the imagine family's provider.
    #[must_use]
    pub fn imagine(&self) -> &ImagineAddresses {
        &self.imagine.addresses
    }

    /// The calls of the imagine family's provider.
    #[must_use]
    pub fn imagine_record(&self) -> ImagineRecord {
        self.imagine.record()
    }

    /// The addresses of the simulated Messages API.
    #[must_use]
    pub fn messages(&self) -> &TextAddresses {
        &self.messages.addresses
    }

    /// The requests of the simulated Messages API.
    #[must_use]
    pub fn messages_record(&self) -> TextRecord {
        self.messages.record()
    }

    /// The addresses of the simulated chat completions.
    #[must_use]
    pub fn chat(&self) -> &TextAddresses {
        &self.chat.addresses
    }

    /// The requests of the simulated chat completions.
    #[must_use]
    pub fn chat_record(&self) -> TextRecord {
        self.chat.record()
    }

    /// The addresses of the simulated `generateContent`.
    #[must_use]
    pub fn gemini(&self) -> &TextAddresses {
        &self.gemini.addresses
    }

    /// The requests of the simulated `generateContent`.
    #[must_use]
    pub fn gemini_record(&self) -> TextRecord {
        self.gemini.record()
    }

    /// The addresses of the simulated Ark.
    #[must_use]
    pub fn ark(&self) -> &ArkAddresses {
        &self.ark.addresses
    }

    /// The tasks, assets and refusals of the simulated Ark.
    #[must_use]
    pub fn ark_record(&self) -> ArkRecord {
        self.ark.record()
    }

    /// The addresses of the simulated DashScope.
    #[must_use]
    pub fn dashscope(&self) -> &DashscopeAddresses {
        &self.dashscope.addresses
    }

    /// The tasks and refusals of the simulated DashScope.
    #[must_use]
    pub fn dashscope_record(&self) -> DashscopeRecord {
        self.dashscope.record()
    }

    /// The addresses of the simulated midjourney-proxy.
    #[must_use]
    pub fn midjourney(&self) -> &MidjourneyAddresses {
        &self.midjourney.addresses
    }

    /// The tasks, presses and reads of the simulated midjourney-proxy.
    #[must_use]
    pub fn midjourney_record(&self) -> MidjourneyRecord {
        self.midjourney.record()
    }

    /// The addresses of the simulated Veo.
    #[must_use]
    pub fn veo(&self) -> &VeoAddresses {
        &self.veo.addresses
    }

    /// The operations and refusals of the simulated Veo.
    #[must_use]
    pub fn veo_record(&self) -> VeoRecord {
        self.veo.record()
    }

    /// Releases every text answer that a marker holds at this moment. The record says how many there are.
    pub fn release(&self) {
        self.messages.release();
        self.chat.release();
        self.gemini.release();
    }

    /// Closes every listener and connection, without waiting for requests under way: a hung one never ends.
    pub async fn stop(mut self) {
        self.listeners.shutdown().await;
    }
}
