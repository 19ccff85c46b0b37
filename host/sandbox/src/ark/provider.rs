//! The state all listeners of the provider share: tasks and the library.

use serde::{Deserialize, Serialize};

use crate::ark::library::Library;
use crate::ark::record::ArkRecord;
use crate::ark::tasks::TaskTable;
use crate::common::shared::{Shared, Table};

/// Where the provider listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArkAddresses {
    /// The base URL of the data plane: `POST <data>/contents/generations/tasks`.
    pub data: String,
    /// The control plane: `POST <control>/?Action=CreateAsset&Version=2024-01-01`.
    pub control: String,
    /// The files results link to.
    pub files: String,
    /// Sample pictures, films and sounds.
    pub samples: String,
    /// `GET /truth`: the record, for tests in other processes.
    #[serde(rename = "truth")]
    pub record: String,
}

/// The provider behind all its listeners.
pub(crate) type Provider = Shared<ArkAddresses, ArkState>;

/// What changes.
#[derive(Default)]
pub(crate) struct ArkState {
    pub(crate) tasks: TaskTable,
    pub(crate) library: Library,
}

impl Table for ArkState {
    type Record = ArkRecord;

    fn record(&self, now: u64) -> ArkRecord {
        let (submits, declined) = self.tasks.record();
        let (groups, assets) = self.library.record(now);
        ArkRecord { submits, declined, groups, assets, calls: self.library.calls.clone() }
    }
}
