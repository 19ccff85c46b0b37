//! The form in which states are kept: tasks under way outlive a version, so its names stay.

use gatehouse_testkit::Script;

use crate::imagine::play;

const STATES: &str = r#"
    {"context": {"now": 1000000}}
    {"submit": {"surface": "images.generate", "body": {"prompt": "a kite"}}}
    {"expect": {"accepted": {"state": {"Accepted": {"prompt": "a kite", "n": 1}}}}}
    "start"
    {"expect": {"call": {}, "stage": "processing", "state": {"Sending": {
      "request": {"prompt": "a kite"}, "rests": 0, "unreachable": null, "until": null
    }}}}
    {"outage": "unreachable"}
    {"expect": {"wait": {}, "stage": "pending", "state": {"Sending": {
      "request": {"prompt": "a kite"}, "rests": 1, "unreachable": 1000000, "until": 1002000
    }}}}
    "timer"
    {"expect": {"call": {}, "stage": "processing", "state": {"Sending": {"unreachable": 1000000, "until": null}}}}
    {"reply": {"status": 200, "json": {"data": [{"url": "https://imgen.x.ai/a.jpeg", "mime_type": "image/jpeg"}]}}}
    {"expect": {"done": {}, "state": {"Copying": {
      "asked": 1, "images": [{"source": "https://imgen.x.ai/a.jpeg", "mime": "image/jpeg"}], "losses": 0, "wake": 1002000
    }}}}
"#;

#[test]
fn states_keep_their_form() {
    play(&Script::parse(STATES, "states.play".as_ref()).unwrap());
}
