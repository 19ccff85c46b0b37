//! Options of `provider`, and the operations they mean.

use clap::{Args, Subcommand};
use gatehouse_admin::Operation;

use super::values::OutputArgs;

/// Commands about a provider's account.
#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// Keep new work away from an account; what is in flight goes on. Ends with the gateway
    #[command(after_help = "Example:\n  gatehouse provider drain bfl main && gatehouse providers")]
    Drain(AccountArgs),
    /// Let new work come to a drained account again
    Resume(AccountArgs),
}

/// An account of a provider.
#[derive(Debug, Args)]
pub(crate) struct AccountArgs {
    /// The provider's name, as the configuration has it
    pub(crate) provider: String,
    /// The account's name
    pub(crate) account: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The operation of a command about a provider's account.
pub(in crate::commands) fn operation(command: ProviderCommand) -> (Operation, OutputArgs) {
    match command {
        ProviderCommand::Drain(AccountArgs { provider, account, output }) => {
            (Operation::ProviderDrain { provider, account }, output)
        }
        ProviderCommand::Resume(AccountArgs { provider, account, output }) => {
            (Operation::ProviderResume { provider, account }, output)
        }
    }
}
