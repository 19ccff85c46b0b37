//! What the tests of hostile plugins share: a gateway with the fixture installed, its recording provider, doctored
//! builds of the fixture, honest clients beside it, and the written forms of a secret.

pub(crate) mod fixture;
pub(crate) mod gateway;
pub(crate) mod honest;
pub(crate) mod recorder;
pub(crate) mod secret_forms;
