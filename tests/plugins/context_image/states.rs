//! The form in which states are kept: tasks under way outlive a version, so its names stay.

use gatehouse_testkit::Script;

use crate::context_image::play;

const STATES: &str = r#"
    {"context": {"now": 1000000}}
    {"submit": {"surface": "images.generate", "body": {"model": "ctx-pro", "prompt": "a kite"}}}
    {"expect": {"accepted": {"state": {"Ordered": {"prompt": "a kite"}}}}}
    "start"
    {"expect": {"call": {}, "state": {"Sending": {
      "order": {"prompt": "a kite"}, "rests": 0, "unreachable": null, "until": null
    }}}}
    {"outage": "unreachable"}
    {"expect": {"wait": {}, "state": {"Sending": {
      "order": {"prompt": "a kite"}, "rests": 1, "unreachable": 1000000, "until": 1002000
    }}}}
    "timer"
    {"expect": {"call": {}, "state": {"Sending": {"rests": 1, "unreachable": 1000000, "until": null}}}}
    {"reply": {"status": 200, "json": {"id": "t1", "polling_url": "https://api.bfl.ai/v1/get_result?id=t1"}}}
    {"expect": {"wait": {}, "state": {"Running": {
      "id": "t1", "polling_url": "https://api.bfl.ai/v1/get_result?id=t1", "format": "png", "since": 1002000,
      "wake": 1002000, "seen": false, "progress": 0, "faults": 0, "misses": 0, "losses": 0
    }}}}
    "timer"
    {"expect": {"call": {}}}
    {"reply": {"status": 404, "json": {}}}
    {"expect": {"wait": {}, "state": {"Running": {"seen": false, "misses": 1}}}}
    "timer"
    {"expect": {"call": {}}}
    {"reply": {"status": 200, "json": {"status": "Pending", "progress": 0.25}}}
    {"expect": {"wait": {}, "progress": 25, "state": {"Running": {"seen": true, "progress": 25, "misses": 0}}}}
"#;

#[test]
fn states_keep_their_form() {
    play(&Script::parse(STATES, "states.play".as_ref()).unwrap());
}
