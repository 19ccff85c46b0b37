//! Money: how entries are made and quotas counted, prices, and the examination that sums the journal again.

pub(crate) mod balanced_entry;
pub(crate) mod examination;
pub(crate) mod head_examination;
pub(crate) mod key_examination;
pub(crate) mod key_lineage;
pub(crate) mod price_table;
pub(crate) mod quota;
pub(crate) mod quota_examination;
pub(crate) mod statement_lines;
pub(crate) mod usage_check;
