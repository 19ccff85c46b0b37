//! The state all listeners of the provider share: addresses, settings, tasks, the library, the key of links.
//!
//! Answers no request.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::ark::library::Library;
use crate::ark::link::LinkKey;
use crate::ark::record::ArkRecord;
use crate::ark::tasks::TaskTable;
use crate::common::picture::PictureCache;
use crate::common::settings::Settings;

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
pub(crate) struct Provider {
    pub(crate) addresses: ArkAddresses,
    pub(crate) settings: Settings,
    pub(crate) links: LinkKey,
    pub(crate) pictures: PictureCache,
    state: Mutex<ArkState>,
}

/// What changes.
pub(crate) struct ArkState {
    pub(crate) tasks: TaskTable,
    pub(crate) library: Library,
}

impl Provider {
    pub(crate) fn new(settings: Settings, addresses: ArkAddresses) -> io::Result<Self> {
        let state = ArkState { tasks: TaskTable::default(), library: Library::default() };
        let links = LinkKey::new()?;
        Ok(Self { addresses, settings, links, pictures: PictureCache::default(), state: Mutex::new(state) })
    }

    /// Milliseconds since the Unix epoch by the provider's clock.
    pub(crate) fn now(&self) -> u64 {
        (self.settings.now)()
    }

    /// How long a video or a review takes, in milliseconds.
    pub(crate) fn job_ms(&self) -> u64 {
        u64::try_from(self.settings.job_time.as_millis()).unwrap_or(u64::MAX)
    }

    /// Tasks and assets. Locked for moments only, never across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, ArkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn record(&self) -> ArkRecord {
        let (now, state) = (self.now(), self.state());
        let (submits, declined) = state.tasks.record();
        let (groups, assets) = state.library.record(now);
        let calls = state.library.calls();
        ArkRecord { submits, declined, groups, assets, calls }
    }
}
