"""What a family needs beside its own words: calls and actions, the machine of a polled job, and checks of parameters.

It does what `gatehouse_sdk::job`, `pace` and `params` do in Rust; the scripts in `play/` hold for both. The file belongs to the
family: change it, or leave out what is not used. Pure as the family is: no clock, no files, no network.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Callable, NoReturn

from componentize_py_types import Err
from wit_world.exports import jobs
from wit_world.exports.jobs import (
    Action_Call,
    Action_Done,
    Action_Fail,
    Action_Wait,
    Event_Cancel,
    Event_Lost,
    Event_Outage,
    Event_Reply,
    Event_Start,
    Event_Timer,
)
from wit_world.imports import log, upstream
from wit_world.imports.parents import Stage
from wit_world.imports.types import Blame, Context, Failure, Line, Problem, Refusal_Invalid
from wit_world.imports.upstream import Bytes_Inline, Outage, Payload_Json, Payload_None_, Reading, Replay, Target_Path, Target_Url

# --- Calls, answers and ends ---


def post(provider: str, target: str, body: Any, **more: Any) -> upstream.Call:
    """A call that creates something: where its answer is lost, it is not sent again."""
    return call(provider, "POST", target, Payload_Json(json.dumps(body)), Replay.ONCE, **more)


def get(provider: str, target: str, **more: Any) -> upstream.Call:
    """A call that is harmless to repeat."""
    return call(provider, "GET", target, Payload_None_(), Replay.SAFE, **more)


def call(
    provider: str,
    method: str,
    target: str,
    body: upstream.Payload,
    replay: Replay,
    headers: list[upstream.Header] | None = None,
    affinity: str | None = None,
    timeout_ms: int = 30_000,
    reading: Reading = Reading.WHOLE,
) -> upstream.Call:
    """Any call; its target is a path below the provider's address, or a URL in its origins."""
    return upstream.Call(
        provider=provider,
        affinity=affinity,
        method=method,
        target=Target_Path(target) if target.startswith("/") else Target_Url(target),
        headers=headers or [],
        body=body,
        timeout_ms=timeout_ms,
        replay=replay,
        reading=reading,
        credentials=True,
        shared=None,
        extra="",
    )


def read(reply: upstream.Reply) -> dict:
    """A reply's JSON object; empty where it has none."""
    try:
        body = json.loads(reply.body.value) if isinstance(reply.body, Bytes_Inline) else None
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


def is_success(reply: upstream.Reply) -> bool:
    return 200 <= reply.status < 300


def product(source: str, mime: str | None = None) -> jobs.Product:
    """A file that the host copies; `media:<n>` in the result is its link."""
    return jobs.Product(source=source, mime=mime, edit=None, extra="")


def done(public: Any, *products: jobs.Product, private: Any = None, settle: list[Line] | None = None) -> jobs.Action:
    """The end of a task, and what its client reads."""
    return Action_Done(
        jobs.Outcome(json.dumps(public), json.dumps(private), list(products), claims=[], settle=settle, extra="")
    )


def failed(message: str, blame: Blame = Blame.UPSTREAM) -> jobs.Action:
    """The end of a task that failed, and what its client reads."""
    failure = Failure(blame, message)
    return Action_Fail(jobs.Ending(failure, public=None, private=None, products=[], claims=[], extra=""))


def step(state: Any, stage: Stage, action: jobs.Action, progress: int = 0) -> jobs.Step:
    """The new state, and what the host does next."""
    state = json.dumps(state).encode()
    return jobs.Step(state=state, stage=stage, progress=progress, view=None, next=action, extra="")


# --- When to poll again ---

# The longest wait that the host takes: a day.
MAX_WAIT_MS = 86_400_000


def poll_at(ctx: Context, since: int) -> int:
    """The next poll of a job that has run since `since`: after an eighth of that time, between 2 and 30 seconds."""
    shortest, longest = _pace(ctx)
    return ctx.now + min(max((ctx.now - since) // 8, shortest), longest)


def retry_at(ctx: Context, attempt: int) -> int:
    """The next try after so many in a row: in 2, 4, 8, 16, then 30 seconds."""
    shortest, longest = _pace(ctx)
    return ctx.now + min(shortest << min(max(attempt - 1, 0), 16), longest)


def _pace(ctx: Context) -> tuple[int, int]:
    """The operator's bounds, or the defaults."""
    pace = json.loads(ctx.settings).get("pace")

    def bound(key: str, default: int) -> int:
        ms = pace.get(key) if isinstance(pace, dict) else None
        return ms if type(ms) is int and ms > 0 else default

    shortest = bound("shortest_ms", 2_000)
    return shortest, max(bound("longest_ms", 30_000), shortest)


# --- The machine of a job: submitted once, then polled until it is ready ---


@dataclass(frozen=True)
class Policy:
    """How patient a family is, and what its clients read when patience ends."""

    # How often a submission that was not taken is sent again; without a number until the task's deadline.
    retries: int | None = None
    # How long it is sent again while the provider cannot be reached.
    unreachable_ms: int = 300_000
    # Unreadable answers to polls, answers that do not know the job (both in a row), results that could not be copied.
    faults: int = 8
    misses: int = 5
    losses: int = 3
    unavailable: str = "No available upstream, please retry later"
    failed: str = "the upstream failed to finish the task"
    lost: str = "the upstream's answer was lost, please submit the task again"
    uncopied: str = "the finished result could not be fetched from the upstream"
    cancelled: str = "cancelled before it was sent"
    interrupted: str = "the task was interrupted, please submit it again"


@dataclass(frozen=True)
class Taken:
    """The provider has taken the job, and calls it so."""

    id: str


@dataclass(frozen=True)
class Busy:
    """Not now: a submission was certainly not taken, or a poll came too soon."""


@dataclass(frozen=True)
class Missing:
    """The provider does not know the job, or not yet."""


@dataclass(frozen=True)
class Faulty:
    """An unreadable answer, with the reason for the operator's log."""

    reason: str


@dataclass(frozen=True)
class Working:
    """The job goes on; percent where the provider tells."""

    progress: int = 0


# Any of these may be an `Action` instead, which is done at once: `done(...)`, `failed(...)`.
Submitted = Taken | Busy | jobs.Action
Polled = Working | Busy | Missing | Faulty | jobs.Action


@dataclass(frozen=True)
class Job:
    """A family's job: two calls, and what their answers mean."""

    # The submission of a request, and the meaning of its answer.
    submission: Callable[[Any], upstream.Call]
    submitted: Callable[[upstream.Reply], Submitted]
    # The poll of an id, and the meaning of its answer.
    poll: Callable[[str], upstream.Call]
    polled: Callable[[upstream.Reply], Polled]
    policy: Policy = field(default_factory=Policy)

    def accept(
        self,
        model: str,
        request: Any,
        expected_ms: int | None = None,
        quantity: int = 1,
        unit: str = "",
        at_most: list[Line] | None = None,
    ) -> jobs.Accepted:
        """Accepts a request for so many units; the price key is the model's name. `at_most` is the most that its end may settle for."""
        state = {"request": request, "rests": 0, "unreachable": None, "until": None}
        return jobs.Accepted(
            model=model,
            charge=[Line([model], quantity, unit)],
            at_most=at_most,
            stage=Stage.SUBMITTED,
            progress=0,
            expected_ms=expected_ms,
            state=json.dumps(state).encode(),
            brief=b"",
            doomed=None,
            extra="",
        )

    def advance(self, ctx: Context, state: bytes, event: jobs.Event) -> jobs.Step:
        task = json.loads(state)
        return self._polls(ctx, task, event) if "id" in task else self._submits(ctx, task, event)

    def _submits(self, ctx: Context, task: dict, event: jobs.Event) -> jobs.Step:
        action = self._submit(ctx, task, event)
        if isinstance(action, Taken):
            task = {"id": action.id, "since": ctx.now, "progress": 0, "faults": 0, "misses": 0, "losses": 0}
            return step(task, Stage.PENDING, Action_Wait(poll_at(ctx, ctx.now)))
        # Submitted until the first answer, pending after it.
        return step(task, Stage.PENDING if task["rests"] else Stage.SUBMITTED, action)

    def _submit(self, ctx: Context, task: dict, event: jobs.Event) -> Taken | jobs.Action:
        waits = task["until"] is not None
        match event:
            case Event_Reply(reply):
                task["unreachable"] = None
                answer = self.submitted(reply)
                return self._rest(ctx, task) if isinstance(answer, Busy) else answer
            case Event_Outage(outage):
                return self._unanswered(ctx, task, outage)
            case Event_Start():
                return Action_Call(self.submission(task["request"]))
            case Event_Timer() if waits:
                task["until"] = None
                return Action_Call(self.submission(task["request"]))
            case Event_Cancel() if waits:
                return failed(self.policy.cancelled, Blame.REQUEST)
            case Event_Cancel():
                # Sent, and the outcome is not known yet.
                return Action_Wait(min(max(ctx.deadline, ctx.now), ctx.now + MAX_WAIT_MS))
        return self._unexpected(event)

    def _rest(self, ctx: Context, task: dict) -> jobs.Action:
        if self.policy.retries is not None and task["rests"] >= self.policy.retries:
            return failed(self.policy.unavailable)
        task["rests"] += 1
        task["until"] = retry_at(ctx, task["rests"])
        return Action_Wait(task["until"])

    def _unanswered(self, ctx: Context, task: dict, outage: Outage) -> jobs.Action:
        if outage == Outage.UNREACHABLE:
            if task["unreachable"] is None:
                task["unreachable"] = ctx.now
            if ctx.now - task["unreachable"] < self.policy.unreachable_ms:
                return self._rest(ctx, task)
            return failed(self.policy.unavailable)
        if outage == Outage.REFUSED:
            _log(log.Level.ERROR, "the host refused to make the submission, see the provider's configuration")
            return failed(self.policy.unavailable)
        # It may have been taken, so it is not sent again.
        _log(log.Level.WARN, "the answer to a submission was lost", outage=outage.name)
        return failed(self.policy.lost)

    def _polls(self, ctx: Context, task: dict, event: jobs.Event) -> jobs.Step:
        action = self._poll(ctx, task, event)
        return step(task, Stage.PROCESSING, action, task["progress"])

    def _poll(self, ctx: Context, task: dict, event: jobs.Event) -> jobs.Action:
        rest = Action_Wait(poll_at(ctx, task["since"]))
        match event:
            case Event_Timer():
                return Action_Call(self.poll(task["id"]))
            case Event_Reply(reply):
                return self._answered(ctx, task, self.polled(reply), rest)
            case Event_Outage(Outage.TOO_LARGE):
                return self._faulty(ctx, task, "the answer is too large")
            case Event_Outage(Outage.REFUSED):
                _log(log.Level.ERROR, "the host refused to poll, see the provider's configuration", id=task["id"])
                return failed(self.policy.unavailable)
            # A lost poll is repeated, and a job on its way cannot be stopped.
            case Event_Outage() | Event_Cancel():
                return rest
            case Event_Lost((_, reason)):
                task["losses"] += 1
                _log(log.Level.WARN, "a finished result could not be copied", id=task["id"], reason=reason)
                if task["losses"] > self.policy.losses:
                    return failed(self.policy.uncopied)
                return Action_Wait(retry_at(ctx, task["losses"]))
        return self._unexpected(event)

    def _answered(self, ctx: Context, task: dict, answer: Polled, rest: jobs.Action) -> jobs.Action:
        match answer:
            case Busy():
                return rest
            case Missing() if task["misses"] < self.policy.misses:
                task["misses"] += 1
                return rest
            case Missing():
                _log(log.Level.WARN, "the provider does not know the task it took", id=task["id"])
                return failed(self.policy.failed)
            case Faulty(reason):
                return self._faulty(ctx, task, reason)
        task["faults"] = task["misses"] = 0
        if isinstance(answer, Working):
            task["progress"] = max(task["progress"], int(min(100, max(0, answer.progress))))
            return rest
        return answer

    def _faulty(self, ctx: Context, task: dict, reason: str) -> jobs.Action:
        task["faults"] += 1
        _log(log.Level.WARN, "a poll went wrong", id=task["id"], reason=reason)
        if task["faults"] > self.policy.faults:
            return failed(self.policy.failed)
        return Action_Wait(retry_at(ctx, task["faults"]))

    def _unexpected(self, event: jobs.Event) -> jobs.Action:
        """The task fails, so that it does not hang."""
        _log(log.Level.ERROR, "an event came that nothing asked for", event=type(event).__name__)
        return failed(self.policy.interrupted)


def _log(level: log.Level, message: str, **fields: str) -> None:
    log.write(level, message, list(fields.items()))


# --- Checks of parameters ---


def params(body: str, schema: dict) -> dict:
    """The fields of a request's body that `schema` names, with its defaults; `null` counts as absent where a field may be left
    out. Refuses the request where one is wrong; the message says what was expected and what came.

    Checks `type`, `required`, `enum`, `minLength`, `maxLength`, `minimum`, `maximum`, `items`, `minItems` and `maxItems`,
    and no other keyword."""
    value = json.loads(body)
    if not isinstance(value, dict):
        raise Err(Refusal_Invalid([Problem(None, f"expected a JSON object, got {came(value)}")]))
    value = _shape(value, schema, "")
    _rules(value, schema, "")
    return value


def refuse(path: str, problem: str) -> NoReturn:
    raise Err(Refusal_Invalid([Problem(path, f"`{path}`: {problem}")]))


def came(value: Any) -> str:
    """What came, as a client reads it."""
    match value:
        case None:
            return "null"
        case "":
            return "an empty string"
        case str():
            shown = value if len(value) <= 60 else value[:60] + "..."
            return f"the string {json.dumps(shown, ensure_ascii=False)}"
        case list():
            return f"an array of {len(value)}"
        case dict():
            return "an object"
    return json.dumps(value)


_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "string": ("a string", lambda it: isinstance(it, str)),
    "integer": ("an integer", lambda it: type(it) is int or type(it) is float and it.is_integer()),
    "number": ("a number", lambda it: type(it) in (int, float)),
    "boolean": ("true or false", lambda it: isinstance(it, bool)),
    "array": ("an array", lambda it: isinstance(it, list)),
    "object": ("an object", lambda it: isinstance(it, dict)),
}


def _shape(value: Any, schema: dict, path: str) -> Any:
    """The value with defaults, in the shape of its schema."""
    expected, fits = _TYPES.get(schema.get("type", ""), ("", lambda _: True))
    if not fits(value):
        refuse(path, f"expected {expected}, got {came(value)}")
    if schema.get("type") == "integer":
        return int(value)
    if isinstance(value, list) and "items" in schema:
        return [_shape(item, schema["items"], f"{path}[{at}]") for at, item in enumerate(value)]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    found = {}
    for name, part in schema["properties"].items():
        below = f"{path}.{name}" if path else name
        required = name in schema.get("required", [])
        if required and name not in value:
            refuse(below, "expected a value, got nothing")
        if value.get(name) is not None or required:
            found[name] = _shape(value[name], part, below)
        elif "default" in part:
            found[name] = part["default"]
    return found


def _rules(value: Any, schema: dict, path: str) -> None:
    def demand(holds: bool, rule: str) -> None:
        if not holds:
            refuse(path, f"expected {rule}, got {came(value)}")

    if "enum" in schema:
        words = [f"`{word}`" if isinstance(word, str) else json.dumps(word) for word in schema["enum"]]
        demand(value in schema["enum"], " or ".join(words) if len(words) < 3 else "one of " + ", ".join(words))
    for least, most, kind in (("minLength", "maxLength", str), ("minItems", "maxItems", list)):
        if isinstance(value, kind):
            demand(len(value) >= schema.get(least, 0), f"a length of at least {schema.get(least)}")
            demand(len(value) <= schema.get(most, len(value)), f"a length of at most {schema.get(most)}")
    if type(value) in (int, float):
        demand(value >= schema.get("minimum", value), f"at least {schema.get('minimum')}")
        demand(value <= schema.get("maximum", value), f"at most {schema.get('maximum')}")
    if isinstance(value, list):
        for at, item in enumerate(value):
            _rules(item, schema.get("items", {}), f"{path}[{at}]")
    if isinstance(value, dict):
        for name, part in schema.get("properties", {}).items():
            if name in value:
                _rules(value[name], part, f"{path}.{name}" if path else name)
