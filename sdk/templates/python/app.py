"""A family to change: one model, `sketch-1`, that turns a prompt into a picture.

Its provider takes `POST /v1/sketches` and answers `{"id": "..."}`; `GET /v1/sketches/<id>` answers
`{"state": "working" | "done" | "failed", "image": "https://..."}`. Change `SCHEMA` to your fields, `submission` to your
provider's request, `submitted` and `polled` to its answers. Retries, lost answers and polls are `gatehouse.py`'s.

Every function is pure: no clock, no files, no network; what it may know are its arguments.
"""

import json

import gatehouse
from componentize_py_types import Err
from gatehouse import Busy, Faulty, Job, Missing, Policy, Taken, Working
from wit_world import exports
from wit_world.exports import jobs
from wit_world.imports import upstream
from wit_world.imports.types import Blame, Context

FAMILY = "sketch"
VERSION = "0.1.0"
SURFACE = "images.generate"
MODEL = "sketch-1"
PROVIDER = "sketcher"

# What a client may send: documented, and checked.
SCHEMA = {
    "type": "object",
    "required": ["prompt"],
    "properties": {
        "prompt": {"type": "string", "minLength": 1, "maxLength": 2000},
        "detail": {"type": "integer", "minimum": 1, "maximum": 10, "default": 5},
    },
}


class Manifest(exports.Manifest):
    def describe(self) -> str:
        # wit/manifest.schema.json says what may stand here.
        return json.dumps(
            {
                "family": FAMILY,
                "version": VERSION,
                "models": [{"id": MODEL, "surfaces": [SURFACE], "modality": "image"}],
                "surfaces": [{"name": SURFACE, "schema": SCHEMA}],
                "providers": [PROVIDER],
                "price_keys": [MODEL],
                "self_tests": [
                    {"surface": SURFACE, "body": {"model": MODEL, "prompt": "a kite"}, "expect": "accepted"},
                    {"surface": SURFACE, "body": {"model": MODEL, "detail": 11}, "expect": "refused"},
                ],
            }
        )


def submission(request: dict) -> upstream.Call:
    return gatehouse.post(PROVIDER, "/v1/sketches", {"text": request["prompt"], "detail": request["detail"]})


def submitted(reply: upstream.Reply) -> gatehouse.Submitted:
    """The answer to the submission: the provider's id of the job."""
    answer = gatehouse.read(reply)
    if gatehouse.is_success(reply) and isinstance(answer.get("id"), str):
        return Taken(answer["id"])
    if reply.status == 429:
        return Busy()
    # 401 to 403: the operator's account is refused, and the host asks the next one.
    blame = Blame.ACCOUNT if 401 <= reply.status <= 403 else Blame.UPSTREAM
    return gatehouse.failed("the upstream did not take the picture", blame)


def poll(id: str) -> upstream.Call:
    return gatehouse.get(PROVIDER, f"/v1/sketches/{id}")


def polled(reply: upstream.Reply) -> gatehouse.Polled:
    """The answer to a poll: the picture, once there is one."""
    answer = gatehouse.read(reply)
    if reply.status in (404, 429):
        return Missing() if reply.status == 404 else Busy()
    match answer.get("state"):
        case "working":
            return Working()
        case "done" if isinstance(answer.get("image"), str):
            public = {"images": [{"url": ["media:0"], "expires_at": "expires:0"}]}
            return gatehouse.done(public, gatehouse.product(answer["image"], "image/png"))
        case "failed":
            return gatehouse.failed("the upstream failed to draw the picture")
    return Faulty(f"status {reply.status} without a known state")


POLICY = Policy(
    faults=5,
    failed="the upstream's answers cannot be read",
    lost="the upstream did not finish the picture",
)
JOB = Job(submission, submitted, poll, polled, POLICY)


class Jobs(exports.Jobs):
    def submit(self, ctx: Context, request: jobs.Submission) -> jobs.Accepted:
        return JOB.accept(MODEL, gatehouse.params(request.body, SCHEMA), expected_ms=20_000, unit="picture")

    def advance(self, ctx: Context, state: bytes, event: jobs.Event) -> jobs.Step:
        return JOB.advance(ctx, state, event)

    def migrate(self, from_version: int, state: bytes) -> bytes:
        # Called only for versions listed in `reads_state` of the manifest.
        raise Err(f"no state of version {from_version} is known")
