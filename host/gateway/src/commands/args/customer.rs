//! Options of `account`, and the operations they mean.

use clap::{Args, Subcommand};
use gatehouse_admin::Operation;
use gatehouse_model::{Credits, CustomerId};

use super::values::OutputArgs;

/// Commands about customers.
#[derive(Debug, Subcommand)]
pub(crate) enum CustomerCommand {
    /// Open a customer account without credit
    #[command(after_help = "Example:\n  gatehouse account open alice && gatehouse account deposit alice 100")]
    Open {
        /// Its new id
        customer: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// List customers
    List(OutputArgs),
    /// Show one customer
    Show {
        /// Its id
        customer: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Deposit credits
    Deposit(AmountArgs),
    /// Withdraw available credits
    Withdraw(AmountArgs),
}

/// Credits in or out.
#[derive(Debug, Args)]
pub(crate) struct AmountArgs {
    /// The customer's id
    pub(crate) customer: String,
    /// Credits, with at most six decimals
    pub(crate) amount: Credits,
    /// A note for the ledger
    #[arg(long, default_value = "")]
    pub(crate) memo: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The operation of a command about customers.
pub(in crate::commands) fn operation(command: CustomerCommand) -> (Operation, OutputArgs) {
    match command {
        CustomerCommand::Open { customer, output } => {
            (Operation::CustomerOpen { customer: CustomerId(customer) }, output)
        }
        CustomerCommand::List(output) => (Operation::CustomerList, output),
        CustomerCommand::Show { customer, output } => {
            (Operation::CustomerShow { customer: CustomerId(customer) }, output)
        }
        CustomerCommand::Deposit(args) => {
            let customer = CustomerId(args.customer);
            (Operation::CustomerDeposit { customer, amount: args.amount, memo: args.memo }, args.output)
        }
        CustomerCommand::Withdraw(args) => {
            let customer = CustomerId(args.customer);
            (Operation::CustomerWithdraw { customer, amount: args.amount, memo: args.memo }, args.output)
        }
    }
}
