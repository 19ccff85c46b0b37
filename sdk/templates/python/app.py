"""A family to change: one model, `sketch-1`, that turns a prompt into a picture.

Its provider takes `POST /v1/sketches` and answers `{"id": "..."}`; `GET /v1/sketches/<id>` answers
`{"state": "working" | "done" | "failed", "image": "https://..."}`. Change `SCHEMA` and `check` to your fields,
`Jobs.advance` to your provider's requests and answers.

Every function is pure: no clock, no files, no network; what it may know are its arguments.
"""

import json
from typing import Any, NoReturn

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import jobs
from wit_world.exports.jobs import (
    Action_Call,
    Action_Done,
    Action_Fail,
    Action_Wait,
    Event_Cancel,
    Event_Outage,
    Event_Reply,
    Event_Start,
    Event_Timer,
)
from wit_world.imports import upstream
from wit_world.imports.parents import Stage
from wit_world.imports.types import Blame, Charge, Context, Failure, Refusal_Invalid
from wit_world.imports.upstream import Bytes_Inline, Outage, Payload_Json, Payload_None_, Reading, Replay, Target_Path

FAMILY = "sketch"
VERSION = "0.1.0"
SURFACE = "images.generate"
MODEL = "sketch-1"
PROVIDER = "sketcher"
# Unreadable answers in a row before the task fails.
MAX_FAULTS = 5
POLL_MS = 2_000

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


class Jobs(exports.Jobs):
    def submit(self, ctx: Context, request: jobs.Submission) -> jobs.Accepted:
        prompt, detail = check(json.loads(request.body))
        state = write({"step": "submitting", "prompt": prompt, "detail": detail})
        return jobs.Accepted(
            model=MODEL,
            charge=Charge([MODEL], 1),
            stage=Stage.SUBMITTED,
            progress=0,
            expected_ms=20_000,
            state=state,
            brief=b"",
            doomed=None,
        )

    def advance(self, ctx: Context, state: bytes, event: jobs.Event) -> jobs.Step:
        task = json.loads(state)
        if task["step"] == "submitting":
            if isinstance(event, Event_Start):
                body = {"text": task["prompt"], "detail": task["detail"]}
                return step(task, Stage.SUBMITTED, Action_Call(post("/v1/sketches", body)))
            if isinstance(event, Event_Reply):
                return submitted(ctx, task, event.value)
        else:
            if isinstance(event, Event_Timer):
                return step(task, Stage.PROCESSING, Action_Call(get(f"/v1/sketches/{task['id']}")))
            if isinstance(event, Event_Reply):
                return polled(ctx, task, event.value)
            # A lost poll is repeated, and a picture on its way cannot be stopped. A lost submission ends the task.
            lost = isinstance(event, Event_Outage) and event.value in (Outage.TIMEOUT, Outage.BROKEN)
            if lost or isinstance(event, Event_Cancel):
                return step(task, Stage.PROCESSING, Action_Wait(ctx.now + POLL_MS))
        return fail(task, "the upstream did not finish the picture")

    def migrate(self, from_version: int, state: bytes) -> bytes:
        # Called only for versions listed in `reads_state` of the manifest.
        raise Err(f"no state of version {from_version} is known")


def submitted(ctx: Context, task: dict, reply: upstream.Reply) -> jobs.Step:
    """The answer to the submission."""
    answer = read(reply)
    if 200 <= reply.status < 300 and isinstance(answer.get("id"), str):
        task = {"step": "polling", "id": answer["id"], "faults": 0}
        return step(task, Stage.PENDING, Action_Wait(ctx.now + POLL_MS))
    # 401 to 403: the operator's account is refused, and the host asks the next one.
    blame = Blame.ACCOUNT if 401 <= reply.status <= 403 else Blame.UPSTREAM
    return fail(task, "the upstream did not take the picture", blame)


def polled(ctx: Context, task: dict, reply: upstream.Reply) -> jobs.Step:
    """The answer to a poll."""
    answer = read(reply)
    match answer.get("state"):
        case "working":
            return step({**task, "faults": 0}, Stage.PROCESSING, Action_Wait(ctx.now + POLL_MS))
        case "done" if isinstance(answer.get("image"), str):
            return done(task, answer["image"])
        case "failed":
            return fail(task, "the upstream failed to draw the picture")
    faults = task["faults"] + 1
    if faults <= MAX_FAULTS:
        wake = ctx.now + POLL_MS * faults
        return step({**task, "faults": faults}, Stage.PROCESSING, Action_Wait(wake))
    return fail(task, "the upstream's answers cannot be read")


def check(body: dict) -> tuple[str, int]:
    """The parameters of a request. A message says what was expected and what came."""
    prompt, detail = body.get("prompt"), body.get("detail", 5)
    if prompt is None:
        refuse("prompt", "expected a value, got nothing")
    if not isinstance(prompt, str):
        refuse("prompt", f"expected a string, got {json.dumps(prompt)}")
    if not 1 <= len(prompt) <= 2000:
        refuse("prompt", f"expected 1 to 2000 characters, got {len(prompt)}")
    if not isinstance(detail, int) or isinstance(detail, bool):
        refuse("detail", f"expected an integer, got {json.dumps(detail)}")
    if detail < 1:
        refuse("detail", f"expected at least 1, got {detail}")
    if detail > 10:
        refuse("detail", f"expected at most 10, got {detail}")
    return prompt, detail


def refuse(field: str, problem: str) -> NoReturn:
    raise Err(Refusal_Invalid((field, f"`{field}`: {problem}")))


def write(task: dict) -> bytes:
    return json.dumps(task).encode()


def read(reply: upstream.Reply) -> dict:
    """A reply's JSON object; empty when it is none."""
    try:
        body = json.loads(reply.body.value) if isinstance(reply.body, Bytes_Inline) else None
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


def post(path: str, body: Any) -> upstream.Call:
    # `once`: if its answer is lost, the host does not send it again.
    return call("POST", path, Payload_Json(json.dumps(body)), Replay.ONCE)


def get(path: str) -> upstream.Call:
    return call("GET", path, Payload_None_(), Replay.SAFE)


def call(method: str, path: str, body: upstream.Payload, replay: Replay) -> upstream.Call:
    return upstream.Call(
        provider=PROVIDER,
        affinity=None,
        method=method,
        target=Target_Path(path),
        headers=[],
        body=body,
        timeout_ms=30_000,
        replay=replay,
        reading=Reading.WHOLE,
        credentials=True,
        shared=None,
    )


def step(task: dict, stage: Stage, action: jobs.Action) -> jobs.Step:
    return jobs.Step(state=write(task), stage=stage, progress=0, view=None, next=action)


def done(task: dict, image: str) -> jobs.Step:
    public = {"images": [{"url": ["media:0"], "expires_at": "expires:0"}]}
    product = jobs.Product(source=image, mime="image/png", edit=None)
    outcome = jobs.Outcome(public=json.dumps(public), private="null", products=[product], claims=[], settle=None)
    return step(task, Stage.PROCESSING, Action_Done(outcome))


def fail(task: dict, message: str, blame: Blame = Blame.UPSTREAM) -> jobs.Step:
    failure = Failure(blame, message)
    ending = jobs.Ending(failure=failure, public=None, private=None, products=[], claims=[])
    return step(task, Stage.PROCESSING, Action_Fail(ending))
