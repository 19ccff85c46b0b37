//! What the tests of hostile plugins share: a gateway with the fixture installed, its recording provider, honest
//! clients beside it, and the written forms of a secret.

pub(crate) mod gateway;
pub(crate) mod honest;
pub(crate) mod recorder;
pub(crate) mod secret_forms;
