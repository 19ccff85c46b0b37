//! The units in `packaging/`: their command is one of ours, and they keep the state to its owner.

use clap::Parser as _;

use super::cli::{Cli, Command};

const SERVICE: &str = include_str!("../../../packaging/systemd/gatehouse.service");

#[test]
fn the_unit_starts_the_gateway() {
    let command = SERVICE.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let cli = Cli::try_parse_from(command.split(' ')).unwrap();
    assert!(matches!(cli.command, Some(Command::Serve(_))));
    let data = cli.data.unwrap();
    let state = SERVICE.lines().find_map(|line| line.strip_prefix("StateDirectory=")).unwrap();
    assert_eq!(data, std::path::Path::new("/var/lib").join(state), "the folder that the unit makes");
}

#[test]
fn the_unit_keeps_the_state_to_its_owner() {
    for line in ["StateDirectoryMode=0700", "UMask=0077", "LimitCORE=0", "PrivateTmp=yes"] {
        assert!(SERVICE.lines().any(|found| found == line), "{line}");
    }
}
