//! The form in which states are kept: tasks under way outlive a version, so its names stay.

use gatehouse_testkit::Script;

use crate::clip::play;

const STATES: &str = r#"
    {"context": {"now": 1000000}}
    {"submit": {"surface": "videos.generate", "body": {"model": "clip-2.0", "prompt": "a kite"}}}
    {"expect": {"accepted": {"state": {"video": {"Accepted": {"model": "clip-2.0"}}}}}}
    "start"
    {"expect": {"call": {}, "state": {"video": {"Sending": {
      "request": {"model": "clip-2.0"}, "rests": 0, "unreachable": null, "until": null
    }}}}}
    {"outage": "unreachable"}
    {"expect": {"wait": {}, "state": {"video": {"Sending": {"rests": 1, "unreachable": 1000000, "until": 1002000}}}}}
    "timer"
    {"expect": {"call": {}, "state": {"video": {"Sending": {"rests": 1, "unreachable": 1000000, "until": null}}}}}
    {"reply": {"status": 200, "json": {"id": "cgt-1"}}}
    {"expect": {"wait": {}, "progress": 5, "state": {"video": {"Running": {
      "id": "cgt-1", "model": "clip-2.0", "return_last_frame": false, "since": 1002000, "wake": 1002000,
      "is_running": false, "progress": 5, "faults": 0, "misses": 0, "losses": 0, "last_frame": null,
      "without_frame": false
    }}}}}
    "cancel"
    {"expect": {"call": {"method": "DELETE"}, "state": {"video": {"Stopping": {"id": "cgt-1"}}}}}
    {"reply": {"status": 409, "json": {}}}
    {"expect": {"wait": {}, "state": {"video": {"Running": {"id": "cgt-1"}}}}}
"#;

#[test]
fn states_keep_their_form() {
    play(&Script::parse(STATES, "states.play".as_ref()).unwrap());
}
