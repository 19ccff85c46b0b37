//! The defaults that come with a version, as its deployment keeps them: staged before the switch, settled after it.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

use gatehouse_admin::{DefaultView, FamilyDefaultsFile, StagedDefaults};
use gatehouse_model::Digest;
use gatehouse_runtime::{Companion, Config};

use crate::config::{settle_defaults, stage_defaults, unstage_defaults};

/// The defaults of a family, checked.
pub(super) struct Staged<'a> {
    config: Config,
    effects: Vec<DefaultView>,
    data: PathBuf,
    text: String,
    switch: RefCell<Option<Box<dyn FnOnce() + 'a>>>,
}

impl<'a> Staged<'a> {
    /// For the data folder `data`; `switch` puts them into effect.
    pub(super) fn new(
        data: &Path,
        defaults: &FamilyDefaultsFile,
        config: Config,
        effects: Vec<DefaultView>,
        switch: impl FnOnce() + 'a,
    ) -> Box<Self> {
        let (data, text) = (data.to_owned(), defaults.text.clone());
        Box::new(Self { config, effects, data, text, switch: RefCell::new(Some(Box::new(switch))) })
    }
}

impl Companion for Staged<'_> {
    fn config(&self) -> &Config {
        &self.config
    }

    fn keep(&self, family: &str, digest: &Digest) -> io::Result<()> {
        stage_defaults(&self.data, family, digest, &self.text)
    }

    fn discard(&self, family: &str, digest: &Digest) {
        if let Err(error) = unstage_defaults(&self.data, family, digest) {
            tracing::error!(family, %error, "the defaults of a refused plugin could not be removed");
        }
    }

    /// The version is listed: they count, whether or not their file has its own name yet.
    fn apply(&self) {
        if let Err(error) = settle_defaults(&self.data) {
            tracing::error!(%error, "the defaults of a plugin keep their staged name until the next start");
        }
        if let Some(switch) = self.switch.borrow_mut().take() {
            switch();
        }
    }
}

impl StagedDefaults for Staged<'_> {
    fn effects(&self) -> Vec<DefaultView> {
        self.effects.clone()
    }
}
