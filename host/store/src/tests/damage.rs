//! What a file says that is no longer what was written, or that has another pepper beside it.

use crate::PepperFit;
use crate::config::Config;
use crate::error::OpenError;
use crate::store::Store;

/// A flipped bit in any page that is in use is found, and the file stays as it is; without this a wrong balance would
/// be served as if nothing had happened.
#[test]
fn a_flipped_bit_is_found_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    let store = Store::open(&path, &Config::default()).unwrap();
    assert_eq!(store.fit_pepper(7).unwrap(), PepperFit::Fits);
    assert!(matches!(crate::check_pages(&path), Err(OpenError::Locked { .. })));
    assert!(Store::is_in_use(&path) && !Store::is_in_use(&folder.path().join("none")));
    store.close();
    assert!(!Store::is_in_use(&path));
    crate::check_pages(&path).unwrap();
    let sound = std::fs::read(&path).unwrap();
    let at =
        sound.windows(12).position(|bytes| bytes == b"pepper-check").expect("the row of the check value");
    for place in [at, at + 12] {
        let mut bytes = sound.clone();
        bytes[place] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let error = crate::check_pages(&path).unwrap_err();
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
        assert!(std::fs::read(&path).unwrap() == bytes, "the file is left as it was");
        // A file that was not closed is checked by the start.
        assert!(crate::check_pages_after_crash(&path).is_ok(), "it was closed");
        bytes[9] |= 2;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(crate::check_pages_after_crash(&path), Err(OpenError::Damaged { .. })));
    }
    std::fs::write(&path, &sound).unwrap();
    crate::check_pages(&path).unwrap();
    let mut bytes = sound;
    bytes[9] |= 2;
    std::fs::write(&path, &bytes).unwrap();
    crate::check_pages_after_crash(&path).unwrap();
}

/// Without this a store beside another pepper would answer every key with 401 and call itself sound.
#[test]
fn a_store_knows_its_pepper() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("core.redb");
    let store = Store::open(&path, &Config::default()).unwrap();
    assert!(!store.needs_its_pepper().unwrap());
    assert_eq!(store.fit_pepper(7).unwrap(), PepperFit::Fits);
    store.close();
    let store = Store::open(&path, &Config::default()).unwrap();
    assert!(store.needs_its_pepper().unwrap());
    assert_eq!(store.fit_pepper(8).unwrap(), PepperFit::Foreign);
    assert_eq!(store.fit_pepper(7).unwrap(), PepperFit::Fits);
}
