//! Accounts: opened by name, paid into, taken back from.

use gatehouse_admin::{OperationError, Outcome};
use gatehouse_model::{Credits, CustomerId};
use gatehouse_tasks::Command;

use super::{Desk, Way, broken};

impl Desk {
    pub(super) async fn open_account(&self, account: CustomerId) -> Result<Outcome, OperationError> {
        check_account(&account)?;
        self.send(Command::AddCustomer { id: account.clone(), at: self.clock.now() }).await?;
        self.show_account(&account)
    }

    pub(super) fn show_account(&self, account: &CustomerId) -> Result<Outcome, OperationError> {
        let found = self.store.customer(account).map_err(broken)?;
        found.map(Outcome::Customer).ok_or_else(|| OperationError::NotFound(format!("no account {account}")))
    }

    pub(super) async fn pay(
        &self,
        account: CustomerId,
        amount: Credits,
        memo: String,
        way: Way,
    ) -> Result<Outcome, OperationError> {
        if amount <= Credits::ZERO {
            return Err(OperationError::Invalid(format!(
                "amount: expected more than zero credits, not {amount}"
            )));
        }
        if memo.len() > 200 {
            return Err(OperationError::Invalid("memo: expected at most 200 bytes".to_owned()));
        }
        let signed = if way == Way::In { Some(amount) } else { amount.checked_neg() };
        let amount = signed.ok_or_else(|| OperationError::Invalid("amount: it does not fit".to_owned()))?;
        let deposit = Command::Deposit { customer: account.clone(), amount, memo, at: self.clock.now() };
        self.send(deposit).await?;
        self.show_account(&account)
    }
}

/// An account's id is short and never needs quoting.
fn check_account(account: &CustomerId) -> Result<(), OperationError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    if account.0.is_empty() || account.0.len() > 64 || !account.0.chars().all(plain) {
        let text = format!("account {:?}: expected 1 to 64 letters, digits and - _ . @", account.0);
        return Err(OperationError::Invalid(text));
    }
    Ok(())
}
