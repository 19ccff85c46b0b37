//! The simulated providers: started, and put in place of the configured ones.
//!
//! The only code that knows both the simulation's addresses and the configuration's types. A family whose provider
//! has a simulation is one entry in [`Simulated::of`].

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use gatehouse_driver::ModelConfig;
use gatehouse_model::{Secret, SecretRef};
use gatehouse_sandbox::veo::KEY_FILES;
use gatehouse_sandbox::{Sandbox, Settings};
use gatehouse_upstream::{AccountConfig, Auth, ServiceAccountAuth};

use crate::config::{Config, SandboxConfig};

/// The credential of the simulated providers.
const PROVIDER_KEY: &str = "sandbox-key";

/// Starts the simulated providers.
pub(crate) async fn start(config: &SandboxConfig) -> io::Result<Sandbox> {
    let settings = Settings {
        keys: vec![PROVIDER_KEY.to_owned()],
        job_time: Duration::from_millis(config.job_ms),
        link_life: Duration::from_secs(config.link_seconds),
        ..Settings::default()
    };
    Sandbox::start(settings).await
}

/// Text models of the simulated chat completions and of `generateContent`, besides the defaults of the families.
const CHAT_MODELS: &str = r#"
[sim-chat]
provider = "openai"
protocol = "chat"
upstream = "gpt-sim"
prices = { input = "1", output = "4", cached = "0.1" }
rules = { max_output = 16384 }

[sim-reasoning]
provider = "openai"
protocol = "chat"
upstream = "gpt-sim-reasoning"
prices = { input = "2", output = "8", cached = "0.2" }
rules = { max_output = 128000, sampling = "none", thinking = ["enabled", "adaptive"] }

[sim-clone]
provider = "openai"
protocol = "chat"
upstream = "clone-sim"
prices = { input = "1", output = "2" }
rules = { max_output = 8192, max_tokens_field = "max_tokens", include_usage = false }

[sim-gemini]
provider = "google"
protocol = "generatecontent"
upstream = "gemini-sim"
prices = { input = "1", output = "4" }

[sim-embed]
kind = "embedding"
provider = "openai"
protocol = "chat"
upstream = "embed-sim"
prices = { input = "0.1" }
"#;

/// The address of a provider, its further origins, and those of media.
type Origins = (String, Vec<String>, Vec<String>);

/// What stands in a configuration in place of its own providers.
#[derive(Clone, Debug)]
pub(crate) struct Simulated {
    origins: [(&'static str, Origins); 10],
    /// Where service accounts get their tokens.
    token_url: String,
    /// The samples can be used in requests.
    samples: String,
}

impl Simulated {
    /// The simulated providers that run.
    pub(crate) fn of(sandbox: &Sandbox) -> Self {
        let (context, dashscope) = (sandbox.context(), sandbox.dashscope());
        let (imagine, ark) = (sandbox.imagine(), sandbox.ark());
        let (veo, midjourney) = (sandbox.veo(), sandbox.midjourney());
        let text = |origin: &str| (origin.to_owned(), vec![], vec![]);
        let origins = [
            ("bfl", (context.submit.clone(), vec![context.poll.clone()], vec![context.delivery.clone()])),
            ("xai", (imagine.api.clone(), vec![], vec![imagine.files.clone()])),
            ("anthropic", text(&sandbox.messages().origin)),
            ("openai", text(&sandbox.chat().origin)),
            ("google", text(&sandbox.gemini().origin)),
            ("ark", (ark.data.clone(), vec![], vec![ark.files.clone()])),
            ("ark-assets", text(&ark.control)),
            ("dashscope", (dashscope.api.clone(), vec![], vec![dashscope.files.clone()])),
            ("veo", (veo.vertex.clone(), vec![veo.storage.clone()], vec![])),
            ("midjourney", (midjourney.api.clone(), vec![], vec![midjourney.files.clone()])),
        ];
        Self { origins, token_url: veo.token.clone(), samples: context.samples.clone() }
    }

    /// Replaces the addresses and accounts of the configured providers.
    pub(crate) fn put_into(&self, config: &mut Config) {
        for (name, (base, origins, media)) in &self.origins {
            let Some(provider) = config.providers.get_mut(*name) else { continue };
            provider.base_url.clone_from(base);
            provider.origins.clone_from(origins);
            provider.media_origins.clone_from(media);
            // A service account's secret is its key file, and its tokens come from the sandbox too.
            let token_url = Some(self.token_url.clone());
            let tokens = || ServiceAccountAuth { token_url, ..Default::default() };
            let auth =
                matches!(provider.auth, Auth::ServiceAccount(_)).then(|| Auth::ServiceAccount(tokens()));
            let secret = if auth.is_some() { KEY_FILES[0] } else { PROVIDER_KEY };
            let secret = Some(SecretRef::Given(Secret::new(secret.to_owned())));
            // Providers with signed requests know the sandbox's account by the id of its access key.
            let is_signed = matches!(provider.auth, Auth::Hmac(_));
            let key_id = is_signed.then(|| SecretRef::Given(Secret::new(format!("AK{PROVIDER_KEY}"))));
            let account = AccountConfig { auth, secret, key_id, ..AccountConfig::default() };
            provider.accounts = BTreeMap::from([("sandbox".to_owned(), account)]);
        }
        let models: BTreeMap<String, ModelConfig> = toml::from_str(CHAT_MODELS).expect("a test parses it");
        for (id, model) in models {
            config.models.entry(id).or_insert(model);
        }
        config.fetch.allow_private.push(self.samples.trim_start_matches("http://").to_owned());
        config.fetch.stand_ins = Some(format!("{}/samples", self.samples));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulated_models_are_valid() {
        let models: BTreeMap<String, ModelConfig> = toml::from_str(CHAT_MODELS).unwrap();
        assert_eq!(gatehouse_driver::check_models(&models), Ok(()));
        let simulated = ["openai", "google"].map(Some);
        assert!(models.values().all(|model| simulated.contains(&model.provider.as_deref())));
    }
}
