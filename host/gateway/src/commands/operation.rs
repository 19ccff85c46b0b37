//! The operation that a command line means.

use std::path::Path;

use gatehouse_admin::{Component, FamilyDefaultsFile, NewKey, Operation};
use gatehouse_model::{Clock as _, CustomerId};

use super::cli::{
    Command, ConsoleCommand, CreateKeyArgs, CustomerCommand, KeyCommand, OutputArgs, PluginCommand,
};
use super::values::key_id;
use crate::plugins::signing;
use crate::system::SystemClock;

const NO_OPERATION: &str = "this command has no operation";

/// The operation that a command line means, and its form of output.
///
/// # Errors
/// A file that cannot be read, in words.
pub(super) fn operation(command: Command) -> Result<(Operation, OutputArgs), String> {
    match command {
        Command::Doctor(output) => Ok((Operation::Doctor, output)),
        Command::Audit(args) => Ok((Operation::Audit { task: args.task, limit: args.limit }, args.output)),
        Command::Key(command) => Ok(key(command)),
        Command::Customer(command) => Ok(customer(command)),
        Command::Reload(output) => Ok((Operation::Reload, output)),
        Command::Console(ConsoleCommand::Link { role, output }) => {
            Ok((Operation::ConsoleLink { role }, output))
        }
        Command::Plugin(command) => plugin(command),
        Command::Serve(_) | Command::CheckConfig { .. } | Command::Sandbox(_) => Err(NO_OPERATION.to_owned()),
    }
}

fn plugin(command: PluginCommand) -> Result<(Operation, OutputArgs), String> {
    let read = |file: &Path| {
        std::fs::read(file).map(Component).map_err(|error| format!("{}: {error}", file.display()))
    };
    Ok(match command {
        PluginCommand::List(output) => (Operation::PluginList, output),
        PluginCommand::Check { file, signature, allow_removal, defaults, output } => {
            let signature = signing::signature_of(&file, signature.as_deref())?;
            let defaults = defaults.as_deref().map(read_defaults).transpose()?;
            let component = read(&file)?;
            (Operation::PluginCheck { component, signature, allow_removal, defaults }, output)
        }
        PluginCommand::Install { file, sha256, signature, allow_removal, defaults, yes: _, output } => {
            let signature = signing::signature_of(&file, signature.as_deref())?;
            let defaults = defaults.as_deref().map(read_defaults).transpose()?;
            let component = read(&file)?;
            (Operation::PluginInstall { component, sha256, signature, allow_removal, defaults }, output)
        }
        PluginCommand::Activate { version, allow_removal, output } => {
            (Operation::PluginActivate { version, allow_removal }, output)
        }
        PluginCommand::Rollback { family, output } => (Operation::PluginRollback { family }, output),
        PluginCommand::Remove { version, output } => (Operation::PluginRemove { version }, output),
        PluginCommand::Keygen { .. } | PluginCommand::Sign { .. } | PluginCommand::Author(_) => {
            return Err(NO_OPERATION.to_owned());
        }
    })
}

pub(super) fn read_defaults(file: &Path) -> Result<FamilyDefaultsFile, String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    Ok(FamilyDefaultsFile { name, text })
}

fn key(command: KeyCommand) -> (Operation, OutputArgs) {
    match command {
        KeyCommand::Create(args) => create_key(args),
        KeyCommand::List { customer, all, output } => {
            (Operation::KeyList { customer: customer.map(CustomerId), revoked: all }, output)
        }
        KeyCommand::Show { key, output } => (Operation::KeyShow { key: key_id(&key) }, output),
        KeyCommand::Revoke { key, output } => (Operation::KeyRevoke { key: key_id(&key) }, output),
    }
}

fn create_key(args: CreateKeyArgs) -> (Operation, OutputArgs) {
    let new = NewKey {
        customer: CustomerId(args.customer),
        name: args.name,
        quota: args.quota,
        models: args.models,
        networks: args.networks,
        expires: args.expires.map(|expiry| expiry.moment(SystemClock.now())),
        chat_format: args.chat_format,
    };
    (Operation::KeyCreate(new), args.output)
}

fn customer(command: CustomerCommand) -> (Operation, OutputArgs) {
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
