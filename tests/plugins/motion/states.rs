//! The form in which states are kept: tasks under way outlive a version, so its names stay.

use gatehouse_testkit::Script;

use crate::motion::play;

const STATES: &str = r#"
    {"context": {"now": 1000000}}
    {"submit": {"surface": "videos.generate", "body": {"model": "motion-2.6", "prompt": "a kite"}}}
    {"expect": {"accepted": {"state": {"Accepted": {"model": "motion-2.6"}}}}}
    "start"
    {"expect": {"call": {}, "state": {"Sending": {
      "request": {"model": "motion-2.6"}, "rests": 0, "unreachable": null, "until": null
    }}}}
    {"outage": "unreachable"}
    {"expect": {"wait": {}, "state": {"Sending": {"rests": 1, "unreachable": 1000000, "until": 1002000}}}}
    "timer"
    {"expect": {"call": {}, "state": {"Sending": {"rests": 1, "unreachable": 1000000, "until": null}}}}
    {"reply": {"status": 200, "json": {"output": {"task_id": "t1", "task_status": "PENDING"}}}}
    {"expect": {"wait": {}, "state": {"Running": {
      "id": "t1", "since": 1002000, "begun": null, "wake": 1002000, "cancelling": false, "progress": 0, "faults": 0,
      "misses": 0, "losses": 0
    }}}}
    "cancel"
    {"expect": {"call": {"path": "/api/v1/tasks/t1/cancel"}, "state": {"Running": {"cancelling": true}}}}
    {"reply": {"status": 400, "json": {"code": "UnsupportedOperation", "message": "it runs"}}}
    {"expect": {"call": {"path": "/api/v1/tasks/t1"}, "state": {"Running": {"cancelling": false}}}}
    {"reply": {"status": 200, "json": {"output": {"task_id": "t1", "task_status": "RUNNING"}}}}
    {"expect": {"wait": {}, "progress": 10, "state": {"Running": {"begun": 1002000, "progress": 10}}}}
"#;

#[test]
fn states_keep_their_form() {
    play(&Script::parse(STATES, "states.play".as_ref()).unwrap());
}
