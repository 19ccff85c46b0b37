//! The whole sandbox: starts every simulated provider and stops them again.
//!
//! Knows the listeners and the handler behind each. Knows nothing of their wire formats.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::ark::record::ArkRecord;
use crate::ark::{self, ArkAddresses};
use crate::chat::Chat;
use crate::common::samples::Samples;
use crate::common::server::{HandlerResult, Listener};
use crate::common::settings::Settings;
use crate::common::shared;
use crate::context::{self, ContextAddresses, ContextRecord};
use crate::dashscope::{self, DashscopeAddresses, DashscopeRecord};
use crate::gemini::Gemini;
use crate::imagine::{self, ImagineAddresses, ImagineRecord};
use crate::messages::Messages;
use crate::midjourney::{self, MidjourneyAddresses, MidjourneyRecord};
use crate::text::endpoint;
use crate::text::provider::{TextAddresses, TextProvider};
use crate::text::record::TextRecord;
use crate::veo::{self, VeoAddresses, VeoRecord};

/// The running sandbox: a row a provider, with what it is, its addresses, its state and its record.
macro_rules! providers {
    ($($(#[$doc:meta])* $name:ident: $addresses:ty, $provider:ty, $recorded:ident: $record:ty;)*) => {
        /// Where each provider listens.
        #[derive(Clone, Copy, Debug, Serialize)]
        pub struct Addresses<'a> {
            $($(#[$doc])* pub $name: &'a $addresses,)*
        }

        /// The simulated providers, running. Dropping it closes every listener and connection.
        pub struct Sandbox {
            $($name: Arc<$provider>,)*
            listeners: JoinSet<()>,
        }

        impl Sandbox {
            /// The addresses of all providers.
            #[must_use]
            pub fn addresses(&self) -> Addresses<'_> {
                Addresses { $($name: &self.$name.addresses,)* }
            }

            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(&self) -> &$addresses {
                    &self.$name.addresses
                }

                /// What it was asked, and what became of it.
                #[must_use]
                pub fn $recorded(&self) -> $record {
                    self.$name.record()
                }
            )*
        }
    };
}

providers! {
    /// FLUX.1 Kontext, and the samples.
    context: ContextAddresses, context::Provider, context_record: ContextRecord;
    /// Anthropic's Messages API.
    messages: TextAddresses, TextProvider, messages_record: TextRecord;
    /// `OpenAI`'s chat completions and embeddings.
    chat: TextAddresses, TextProvider, chat_record: TextRecord;
    /// Google's `generateContent`.
    gemini: TextAddresses, TextProvider, gemini_record: TextRecord;
    /// xAI's image API.
    imagine: ImagineAddresses, imagine::Provider, imagine_record: ImagineRecord;
    /// Seedance, and its library of assets.
    ark: ArkAddresses, ark::provider::Provider, ark_record: ArkRecord;
    /// Wan videos.
    dashscope: DashscopeAddresses, dashscope::Provider, dashscope_record: DashscopeRecord;
    /// A midjourney-proxy.
    midjourney: MidjourneyAddresses, midjourney::Provider, midjourney_record: MidjourneyRecord;
    /// Veo, on Vertex AI.
    veo: VeoAddresses, veo::Provider, veo_record: VeoRecord;
}

impl Sandbox {
    /// Binds all listeners on 127.0.0.1 and begins to serve.
    ///
    /// # Errors
    /// A port that cannot be bound, a key of the wrong form, or no random source.
    pub fn start(settings: Settings) -> Pin<Box<dyn Future<Output = io::Result<Self>> + Send>> {
        Box::pin(async move {
            let (settings, mut listeners) = (&settings, JoinSet::new());
            let at_samples = Listener::bind(settings.ports.samples).await?;
            let samples = Arc::new(Samples::new(at_samples.origin.clone()));
            let origin = at_samples.origin.clone();
            listeners.spawn(at_samples.serve(&samples, Samples::handle));
            let context = context::start(settings, &origin, &mut listeners).await?;
            let imagine = imagine::start(settings, &mut listeners).await?;
            let [messages, chat, gemini] = start_texts(settings, &mut listeners).await?;
            let dashscope = dashscope::start(settings, &origin, &mut listeners).await?;
            let midjourney = midjourney::start(settings, &mut listeners).await?;
            let veo = veo::start(settings, &mut listeners).await?;
            let ark = ark::start(settings, &origin, &mut listeners).await?;
            Ok(Self { context, messages, chat, gemini, imagine, ark, dashscope, midjourney, veo, listeners })
        })
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

/// The text providers, with one listener for their records.
async fn start_texts(settings: &Settings, listeners: &mut JoinSet<()>) -> io::Result<[Arc<TextProvider>; 3]> {
    let ports = settings.ports;
    let (at_messages, at_chat) = (Listener::bind(ports.messages).await?, Listener::bind(ports.chat).await?);
    let (at_gemini, at_record) =
        (Listener::bind(ports.gemini).await?, Listener::bind(ports.text_record).await?);
    let provider = |listener: &Listener, path: &str| {
        let (origin, record) = (listener.origin.clone(), format!("{}{path}", at_record.origin));
        TextProvider::new(settings.clone(), TextAddresses { origin, record })
    };
    let messages = provider(&at_messages, "/truth/messages");
    let chat = provider(&at_chat, "/truth/chat");
    let gemini = provider(&at_gemini, "/truth/gemini");
    listeners.spawn(at_messages.serve(&messages, endpoint::handle::<Messages>));
    listeners.spawn(at_chat.serve(&chat, endpoint::handle::<Chat>));
    listeners.spawn(at_gemini.serve(&gemini, endpoint::handle::<Gemini>));
    let providers = [messages, chat, gemini];
    listeners.spawn(at_record.serve(&Arc::new(providers.clone()), answer_record));
    Ok(providers)
}

/// The record of the text provider whose record is at this path.
async fn answer_record(providers: Arc<[Arc<TextProvider>; 3]>, request: Request<Incoming>) -> HandlerResult {
    let paths = ["/truth/messages", "/truth/chat", "/truth/gemini"];
    let found = paths.iter().position(|path| *path == request.uri().path());
    shared::answer_record(&request, found.map(|at| providers[at].record()))
}
