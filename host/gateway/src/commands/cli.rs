//! The grammar of the command line: its commands, and those of them that are small. The options of a subject are in `args`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use gatehouse_admin::Role;
use gatehouse_model::TaskId;

use super::args::customer::CustomerCommand;
use super::args::key::KeyCommand;
use super::args::plugin::PluginCommand;
use super::args::price::PricesCommand;
use super::args::provider::ProviderCommand;
use super::args::task::{AuditArgs, CANCEL_HELP, CancelArgs, RECONCILE_HELP, ReconcileArgs, TasksArgs};
use super::args::values::{ClientArgs, SandboxArgs};
use super::args::webhook::WebhookCommand;
use super::backup::{BackupLocation, location};
use crate::plugins::compiler::CompilerArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the command was refused, or the doctor found something
  2  an error on the command line or in the configuration
  3  the store failed; start again and it recovers
  4  the gateway could not start, or a part of it ended

Without a configuration file the gateway runs against simulated providers on this machine, keeps its data in
./gatehouse-data and prints two keys with lines to paste.";

const HEALTH_HELP: &str = "Example:\n  gatehouse health --config /etc/gatehouse/gatehouse.toml && echo ready";
const VERIFY_HELP: &str = "Exit code 0 and the head of the hash chain, or 1 and the first line that is wrong.\n\n\
Example:\n  gatehouse verify alice.jsonl";
const BACKUP_HELP: &str = "\
The backup shows one moment; what is answered before it is in it. Media are not: they live for hours, in a folder or a bucket
of their own. It holds the pepper and all keys' digests: keep it as you keep the data folder, on another disk, or in a bucket that few
may read. A bucket's service and credentials are those of [backup.s3], or of [media.s3] where media are in a bucket. What goes to a bucket
is copied and checked in the data folder first, and takes as much of its disk meanwhile. Objects without manifest.json are no backup.

Examples:
  gatehouse backup /var/lib/gatehouse/backups/2026-11-26
  gatehouse backup --to s3://backups/gatehouse/2026-11-26";
const RESTORE_HELP: &str = "\
The data folder (--data, or data.folder of the configuration) must be empty or not there yet. Nothing is changed where a file is
not the one that was written or the ledger does not add up.

Examples:
  gatehouse restore /srv/backups/2026-11-26 --data /var/lib/gatehouse
  gatehouse restore --from s3://backups/gatehouse/2026-11-26 --config /etc/gatehouse/gatehouse.toml";
const MIGRATE_HELP: &str = "\
An empty database gets its tables when a gateway opens it; this is for one that an earlier release made. All or nothing; take a
backup before.

Example:
  gatehouse store migrate --config /etc/gatehouse/gatehouse.toml";
const COPY_HELP: &str = "\
For a move to a database and back: customers, keys, money, tasks, everything of the store, as of one moment, all of it or nothing. No gateway
may run meanwhile. What is copied from stays as it is; what is copied to has to be new: an empty database, or no file. Pepper, plugins and
media stay in the data folder. Add data.url before a copy to the database, and take it out after a copy to the file; then `gatehouse
doctor` checks what the gateway will start with.

Example:
  gatehouse store copy --to database --config /etc/gatehouse/gatehouse.toml";
const COMPLETIONS_HELP: &str = "Example:\n  gatehouse completions bash > /etc/bash_completion.d/gatehouse";

/// A gateway for generative models.
#[derive(Debug, Parser)]
#[command(name = "gatehouse", version = env!("GATEHOUSE_VERSION"), about = "A gateway for generative models", after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// The configuration file [default: ./gatehouse.toml or /etc/gatehouse/gatehouse.toml, whichever exists]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The data folder; overrides the configuration
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Print results as the JSON of the admin API instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The command; `serve` by default.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway
    Serve(ServeArgs),
    /// Create, list, edit, rotate and revoke API keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Open customer accounts, deposit and withdraw credits
    #[command(subcommand, name = "account", visible_alias = "customer")]
    Customer(CustomerCommand),
    /// Tell a customer's server when tasks end: make, list, rotate, try out and disable webhooks
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Sum up the ledger again and check every hold and index row against its task
    Doctor,
    /// Copy the store, the pepper, plugins and their defaults into a folder or a bucket, while the gateway serves or without it
    #[command(after_help = BACKUP_HELP)]
    Backup {
        /// A folder that is empty or not there yet; the gateway writes it, so it must be one that the gateway may write to
        #[arg(value_name = "FOLDER", required_unless_present = "to", conflicts_with = "to")]
        #[arg(value_parser = location(), value_hint = ValueHint::AnyPath)]
        folder: Option<BackupLocation>,
        /// The same, or an address of a bucket below which there is nothing yet
        #[arg(long, value_name = "s3://BUCKET/PREFIX", value_parser = location())]
        to: Option<BackupLocation>,
    },
    /// Make a data folder of a backup; checks every file and sums up the ledger first
    #[command(after_help = RESTORE_HELP)]
    Restore {
        /// The backup's folder
        #[arg(value_name = "FOLDER", required_unless_present = "from", conflicts_with = "from")]
        #[arg(value_parser = location(), value_hint = ValueHint::AnyPath)]
        folder: Option<BackupLocation>,
        /// The same, or the backup's address in a bucket
        #[arg(long, value_name = "s3://BUCKET/PREFIX", value_parser = location())]
        from: Option<BackupLocation>,
    },
    /// Look after a store in a database of PostgreSQL
    #[command(subcommand)]
    Store(StoreCommand),
    /// See which gateways use a database of PostgreSQL, and which of them is at work
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Check a file that `account export` wrote: needs no store, no configuration and no network
    #[command(after_help = VERIFY_HELP)]
    Verify {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// List decisions taken without all facts, such as a lost provider reply; newest first
    #[command(after_help = "Example:\n  gatehouse audit --task task_01jz3k8m4n5p6q7r8s9t0v1w2x --limit 5")]
    Audit(AuditArgs),
    /// Check a configuration file, then print every value in effect
    CheckConfig {
        /// The file [default: --config, or what a start would read]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Have a running gateway read its configuration again: prices, providers, models and plugins
    Reload,
    /// Log in to the console of a running gateway
    #[command(subcommand)]
    Console(ConsoleCommand),
    /// Show the prices of a running gateway, and what a request would cost
    #[command(subcommand)]
    Prices(PricesCommand),
    /// List tasks of all customers, newest first
    #[command(after_help = "Example:\n  gatehouse tasks --ambiguous")]
    Tasks(TasksArgs),
    /// End a task early: it fails, and its customer gets everything back
    #[command(after_help = CANCEL_HELP)]
    Cancel(CancelArgs),
    /// Say what became of a call that left and has no reply
    #[command(after_help = RECONCILE_HELP)]
    Reconcile(ReconcileArgs),
    /// Show what a task did: its plugin's steps and its exchanges with providers; leaves a line in the audit record
    #[command(after_help = "Example:\n  gatehouse steps task_01jz3k8m4n5p6q7r8s9t0v1w2x --json")]
    Steps {
        /// The task
        task: TaskId,
    },
    /// List the providers of a running gateway with the health of their accounts
    Providers,
    /// Keep new work away from an account of a provider, or let it come again
    #[command(subcommand)]
    Provider(ProviderCommand),
    /// Install, activate, roll back and list plugin versions
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Run the simulated providers alone and print their addresses as JSON
    Sandbox(SandboxArgs),
    /// Ask a running gateway whether it takes new work: exit code 0, or 1 with the reason; for health checks of containers
    #[command(after_help = HEALTH_HELP)]
    Health {
        /// Only whether the process answers, as during a start or a shutdown
        #[arg(long)]
        live: bool,
    },
    /// Print what a shell needs to complete commands and options
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one a command, into a folder
    #[command(after_help = "Example:\n  gatehouse man /usr/local/share/man/man1 && man gatehouse-key-create")]
    Man {
        /// The folder; made if it is not there
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Compile the component on standard input; the gateway starts this by itself
    #[command(hide = true)]
    CompileComponent(CompilerArgs),
    /// Compile the built-in plugins into a folder of a package, for every processor of this architecture
    #[command(hide = true)]
    PackagePlugins {
        /// The folder; made if it is not there
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// Options of `serve`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// Address for clients; overrides the configuration
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Serve TLS with a certificate generated at start; to try, not to deploy
    #[arg(long)]
    pub(crate) tls_self_signed: bool,
}

/// Commands about a store in a database.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Bring the tables of the database of data.url to this release, while no gateway runs on it
    #[command(after_help = MIGRATE_HELP)]
    Migrate,
    /// Copy the whole store between the file in the data folder and the database of data.url, while no gateway runs
    #[command(after_help = COPY_HELP)]
    Copy {
        /// Where to
        #[arg(long, value_name = "database|file")]
        to: CopyTo,
    },
}

/// The end of a copy of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CopyTo {
    /// From the file in the data folder to the database.
    Database,
    /// From the database to a file in the data folder.
    File,
}

/// Commands about the gateways of one database.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Show the gateways on the database of data.url: the one at work, those that wait, the lease, whether configurations differ
    #[command(after_help = "Example:\n  gatehouse fleet status --json")]
    Status,
}

/// Commands about the console.
#[derive(Debug, Subcommand)]
pub(crate) enum ConsoleCommand {
    /// Print a link that logs one person in; it works once, for ten minutes
    Link {
        /// What the person may do: operator, or viewer to read only
        #[arg(long, value_name = "operator|viewer", default_value = "operator")]
        role: Role,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }

    const SERVICE: &str = include_str!("../../../packaging/systemd/gatehouse.service");

    #[test]
    fn the_unit_starts_the_gateway() {
        let command = SERVICE.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let cli = Cli::try_parse_from(command.split(' ')).unwrap();
        assert!(matches!(cli.command, Some(Command::Serve(_))));
        let state = SERVICE.lines().find_map(|line| line.strip_prefix("StateDirectory=")).unwrap();
        let folder = std::path::Path::new("/var/lib").join(state);
        assert_eq!(cli.data.unwrap(), folder, "the folder that the unit makes");
    }

    #[test]
    fn the_unit_keeps_the_state_to_its_owner() {
        for line in ["StateDirectoryMode=0700", "UMask=0077", "LimitCORE=0", "PrivateTmp=yes"] {
            assert!(SERVICE.lines().any(|found| found == line), "{line}");
        }
    }

    #[test]
    fn commands_are_parsed() {
        for (line, fits) in [
            ("gatehouse", true),
            ("gatehouse serve --listen 127.0.0.1:0 --tls-self-signed", true),
            ("gatehouse --data d serve --config c", true),
            ("gatehouse key create n --account a --unlimited", true),
            ("gatehouse key create n --account a --quota 12.5 --model m --model o --ip ::1", true),
            ("gatehouse key create n --account a", false),
            ("gatehouse webhook create https://e.test/h --account a --event task.failed", true),
            ("gatehouse webhook create https://e.test/h --account a --event task.began", false),
            ("gatehouse webhook list --account a", true),
            ("gatehouse webhook rotate we_01KBH8V6G40000000000000007", true),
            ("gatehouse webhook rotate 7", false),
            ("gatehouse webhook resend msg_01KBH8V6G40000000000000007 --json", true),
            (
                "gatehouse webhook resend-range we_01KBH8V6G40000000000000007 --from 2026-11-20T00:00:00Z",
                true,
            ),
            ("gatehouse webhook resend-range we_01KBH8V6G40000000000000007 --from yesterday", false),
            ("gatehouse key create n --account a --quota 1 --unlimited", false),
            ("gatehouse key create n --account a --quota 1e3", false),
            ("gatehouse key create n --account a --unlimited --ip 10.0.0.0/40", false),
            ("gatehouse key create n --account a --unlimited --rpm 5 --tpm 9 --concurrency 2", true),
            ("gatehouse key create n --account a --unlimited --model-limit m=rpm:5,concurrency:2", true),
            ("gatehouse key create n --account a --unlimited --rpm 0", false),
            ("gatehouse key create n --account a --unlimited --model-limit m", false),
            ("gatehouse key edit k --rpm none --quota 5 --expires never --model-limit m=none", true),
            ("gatehouse key edit k --all-models --any-ip --if-revision 3 --model-limit m=tpm:none", true),
            ("gatehouse key edit k --model m --all-models", false),
            ("gatehouse key edit k --rpm no", false),
            ("gatehouse key edit k --model-limit m=speed:5", false),
            ("gatehouse key rotate k --overlap 1h", true),
            ("gatehouse key rotate k", true),
            ("gatehouse key rotate k --overlap soon", false),
            ("gatehouse account deposit a 5 --memo m", true),
            ("gatehouse account deposit a", false),
            ("gatehouse account export a", true),
            ("gatehouse store migrate --json", true),
            ("gatehouse fleet status --json", true),
            ("gatehouse fleet", false),
            ("gatehouse store", false),
            ("gatehouse verify f.jsonl", true),
            ("gatehouse verify", false),
            ("gatehouse backup /b", true),
            ("gatehouse backup --to s3://b/c --json", true),
            ("gatehouse backup /b --to s3://b/c", false),
            ("gatehouse backup s3://b/c", true),
            ("gatehouse backup --to ./s3:/c", true),
            ("gatehouse backup gs://b/c", false),
            ("gatehouse backup --to gs://b/c", false),
            ("gatehouse backup --to S3://b/c", false),
            ("gatehouse backup --to s3:/b/c", false),
            ("gatehouse backup", false),
            ("gatehouse restore --from s3://b/c", true),
            ("gatehouse restore s3://b/c", true),
            ("gatehouse restore --from S3://b/c", false),
            ("gatehouse restore", false),
            ("gatehouse doctor --json", true),
            ("gatehouse audit --limit 5 --cursor 812 --json", true),
            ("gatehouse audit --task 5", false),
            ("gatehouse check-config f.toml", true),
            ("gatehouse console link", true),
            ("gatehouse console link --role viewer --json", true),
            ("gatehouse console link --role root", false),
            ("gatehouse prices show --json", true),
            ("gatehouse prices preview images.generate {} --customer c", true),
            ("gatehouse prices preview images.generate", false),
            ("gatehouse prices preview images.generate {} --book 3", true),
            ("gatehouse prices history --limit 5 --json", true),
            ("gatehouse prices diff 7 --against 3", true),
            ("gatehouse prices diff", false),
            ("gatehouse plugin history", true),
            ("gatehouse plugin history motion --limit 2 --json", true),
            ("gatehouse plugin report 4", true),
            ("gatehouse plugin report four", false),
            ("gatehouse steps task_01ARZ3NDEKTSV4RRFFQ69G5FAV --json", true),
            ("gatehouse steps 5", false),
            ("gatehouse cancel task_01ARZ3NDEKTSV4RRFFQ69G5FAV --reason r --give-up", true),
            ("gatehouse cancel task_01ARZ3NDEKTSV4RRFFQ69G5FAV", false),
            ("gatehouse providers --json", true),
            ("gatehouse provider drain bfl main", true),
            ("gatehouse provider resume bfl main --json", true),
            ("gatehouse provider drain bfl", false),
            ("gatehouse plugin check f.wasm", true),
            ("gatehouse plugin new painter --lang js --folder f", true),
            ("gatehouse plugin new Painter", false),
            ("gatehouse plugin play s.play f.wasm", true),
            ("gatehouse plugin dev", true),
            ("gatehouse plugin dev f --defaults f/family.toml --once", true),
            ("gatehouse plugin check f.wasm --defaults f.toml", true),
            ("gatehouse plugin install f.wasm --defaults f.toml --yes", true),
            ("gatehouse plugin install f.wasm --yes", true),
            ("gatehouse plugin pack f -o g.wasm", true),
            ("gatehouse plugin pack f.wasm --defaults f.toml --licence L --play p", true),
            ("gatehouse plugin pack", false),
            ("gatehouse plugin inspect f.wasm --json", true),
            ("gatehouse plugin push f.wasm oci://ghcr.io/us/f:1", true),
            ("gatehouse plugin push f.wasm ghcr.io/us/f:1", false),
            ("gatehouse reload --json", true),
            ("gatehouse health --live", true),
            ("gatehouse completions zsh", true),
            ("gatehouse completions tcsh", false),
            ("gatehouse man", false),
            ("gatehouse plugin", false),
        ] {
            assert_eq!(Cli::try_parse_from(line.split(' ')).is_ok(), fits, "{line}");
        }
    }
}
