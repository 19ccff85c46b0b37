//! The `[media]` table.

use gatehouse_model::settings;
use serde::Deserialize;

use crate::storage::bucket::S3Config;

settings! {
    /// What an operator may set about media.
    #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Config {
        /// Where media are kept: a folder, a `file://` URL, or `s3://<bucket>/<prefix>`; absent: `media` in the data folder.
        pub url: Option<String> = None,
        /// The service of a bucket.
        pub s3: S3Config = S3Config::default(),
        /// Hours a result's link works (spec: 24).
        pub link_hours: u32 = 24,
        /// MiB of one file embedded in a request.
        pub max_blob_mib: u32 = 32,
        /// MiB of one result; of a picture that is cut, also decoded.
        pub max_result_mib: u32 = 200,
        /// MiB of one file a client links to.
        pub max_probe_mib: u32 = 20,
        /// Seconds to fetch a file a client links to.
        pub probe_timeout_seconds: u32 = 30,
        /// Seconds to fetch a result.
        pub result_timeout_seconds: u32 = 300,
        /// MiB that must be free on the disk of a new task's results; absent: 256, or a tenth of a small disk.
        pub min_free_mib: Option<u32> = None,
    }
}

impl Config {
    pub(crate) const fn max_blob(&self) -> u64 {
        mib(self.max_blob_mib)
    }
    pub(crate) const fn max_result(&self) -> u64 {
        mib(self.max_result_mib)
    }
    pub(crate) const fn max_probe(&self) -> u64 {
        mib(self.max_probe_mib)
    }
}

const fn mib(count: u32) -> u64 {
    count as u64 * 1024 * 1024
}
