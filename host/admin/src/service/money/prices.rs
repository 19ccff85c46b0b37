//! The prices in effect, for operators.

use gatehouse_driver::PriceList;

use super::super::admin_service::{AdminService, Backend};
use crate::api::error::OperationError;

impl AdminService {
    /// All prices of the configuration that is in effect.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway: the configuration is its.
    pub fn prices(&self) -> Result<PriceList, OperationError> {
        match &self.backend {
            Backend::Running { driver, .. } => Ok(driver.prices()),
            Backend::Offline(_) => {
                Err(OperationError::Refused("prices are known to a running gateway only".to_owned()))
            }
        }
    }
}
