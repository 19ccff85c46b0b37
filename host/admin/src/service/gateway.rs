//! The running gateway behind the operations, if there is one. Owns the handles of its driver and of its public API; asks nobody.

use std::sync::{Arc, OnceLock};

use gatehouse_driver::Driver;

use crate::api::error::OperationError;
use crate::service::public_api::PublicApi;

/// What of an operation only a running gateway knows or does.
pub(super) struct Gateway {
    driver: Option<Driver>,
    public: OnceLock<Arc<dyn PublicApi>>,
}

impl Gateway {
    /// Without a driver no gateway runs.
    pub(super) fn new(driver: Option<Driver>) -> Self {
        Self { driver, public: OnceLock::new() }
    }

    /// The driver, where a gateway runs.
    pub(super) fn driver(&self) -> Option<&Driver> {
        self.driver.as_ref()
    }

    /// The driver; refused for the reason `why` where no gateway runs.
    pub(super) fn running(&self, why: &str) -> Result<&Driver, OperationError> {
        self.driver().ok_or_else(|| OperationError::Refused(why.to_owned()))
    }

    /// The public API; refused before its listeners are open, and where no gateway runs.
    pub(super) fn public_api(&self) -> Result<&Arc<dyn PublicApi>, OperationError> {
        let none = || OperationError::Refused("only a running gateway has a public API; start it".to_owned());
        self.public.get().ok_or_else(none)
    }

    /// Serves requests by `public` from now on; the first one given stays.
    pub(super) fn connect(&self, public: Arc<dyn PublicApi>) {
        drop(self.public.set(public));
    }
}
