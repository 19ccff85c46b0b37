"""The anthropic package against the gateway."""

import functools
import json

import anthropic
from anthropic import Anthropic, AsyncAnthropic

from checks import CURRENT, GATEWAY, KEYS, Bill, Spy, ask, calls, check, equal, holds, main, many, paid, raises

SURFACE = "messages.create"
SONNET = "lm-sonnet-4-6"
QUESTION = [
    {"role": "user", "content": "[[words:9]] the keeper of the lighthouse — 灯台 🗼 — counts ships at dawn"}
]
WEATHER = {
    "name": "weather",
    "description": "The weather somewhere.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 3}},
        "required": ["city", "days"],
    },
}
HARBOUR = {"name": "harbour", "input_schema": {"type": "object", "properties": {"ship": {"type": "string"}}}}
ENABLED = {"type": "enabled", "budget_tokens": 1024}
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def make(kind=Anthropic, key="main", **more):
    return kind(api_key=KEYS.get(key, key), **{"base_url": GATEWAY, "max_retries": 0, **more})


@functools.cache
def plain_client(key):
    return make(key=key)


def client(kind=Anthropic, key="main", **more):
    """A client; the plain ones are kept, because each makes a TLS context, which takes longer than a call."""
    return plain_client(key) if kind is Anthropic and not more else make(kind, key, **more)


def user(text):
    return [{"role": "user", "content": text}]


def create(api=None, **asked):
    api = api or client()
    return api.messages.create(**{"model": SONNET, "max_tokens": 100, **asked})


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def kinds(message):
    return [block.type for block in message.content]


def looks_right(message, model=SONNET):
    equal((message.type, message.role, message.model), ("message", "assistant", model))
    equal((message.stop_reason, message.stop_sequence), ("end_turn", None))
    holds(message.id.startswith("msg_") and text_of(message), message)


@check(4, "create")
def plain():
    bill = Bill()
    message = create(messages=QUESTION, system="Be brief.")
    looks_right(message)
    equal(message.usage.output_tokens, 9)
    holds(message._request_id.startswith("req_"), message._request_id)
    (request,) = bill.expect("messages")
    equal((request["path"], request["headers"]["anthropic-version"]), ("/v1/messages", "2023-06-01"))
    equal(request["body"]["system"], "Be brief.")


@check(4, "stream")
def stream():
    bill = Bill()
    whole = create(messages=QUESTION)
    events = list(create(messages=QUESTION, stream=True))
    text = "".join(e.delta.text for e in events if e.type == "content_block_delta")
    equal(text, text_of(whole))
    names = [e.type for e in events if e.type != "content_block_delta"]
    equal(names, ["message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"])
    equal((events[0].message.model, events[-2].delta.stop_reason), (SONNET, "end_turn"))
    equal(events[-2].usage.output_tokens, 9)
    bill.expect("messages", 2)


@check(4, "stream helper")
def stream_helper():
    whole = create(messages=QUESTION)
    with client().messages.stream(model=SONNET, max_tokens=100, messages=QUESTION) as helper:
        deltas = "".join(helper.text_stream)
        final = helper.get_final_message()
    looks_right(final)
    equal((deltas, text_of(final)), (text_of(whole), text_of(whole)))
    equal(final.usage.output_tokens, whole.usage.output_tokens)


@check(4, "a provider that does not stream")
def unstreamed():
    asked = {"max_tokens": 2000, "thinking": ENABLED}
    asked["messages"] = user("[[json-for-stream]] [[words:9]] one two three four five six seven eight nine")
    for model, wire in ((SONNET, "messages"), ("gpt-sim-reasoning", "chat")):
        whole = client().messages.create(model=model, **asked)
        bill = Bill()
        with client().messages.stream(model=model, **asked) as helper:
            final = helper.get_final_message()
        equal((kinds(final), text_of(final), final.stop_reason), (kinds(whole), text_of(whole), "end_turn"))
        holds(model != SONNET or (final.content[0].thinking and final.content[0].signature), final)
        (request,) = bill.expect(wire)
        equal(final.usage.output_tokens, request["usage"]["output"])


@check(4, "tools")
def tools():
    messages = user("what is the weather in Reykjavík?")
    first = create(messages=messages, tools=[WEATHER, HARBOUR], tool_choice={"type": "any"})
    equal((first.stop_reason, kinds(first)[-1]), ("tool_use", "tool_use"))
    use = first.content[-1]
    holds(use.name == "weather" and 1 <= use.input["days"] <= 3, use)
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "snow, then sun"}
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = create(messages=messages, tools=[WEATHER, HARBOUR])
    holds("the tool said: snow, then sun" in text_of(second), second)


@check(4, "parallel tools, streamed")
def parallel_tools():
    asked = {"model": SONNET, "max_tokens": 100, "messages": user("[[tools:2]] look"), "tools": [WEATHER, HARBOUR]}
    with client().messages.stream(**asked) as helper:
        final = helper.get_final_message()
    uses = [block for block in final.content if block.type == "tool_use"]
    equal([use.name for use in uses], ["weather", "harbour"])
    holds(1 <= uses[0].input["days"] <= 3 and isinstance(uses[1].input["ship"], str), uses)
    equal((final.stop_reason, len({use.id for use in uses})), ("tool_use", 2))


@check(4, "pictures and stop sequences")
def pictures():
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "look at this until dusk comes"}]
    message = create(messages=user(content))
    holds("saw image/png 1x1" in text_of(message), message)
    message = create(messages=user("say until dusk comes"), stop_sequences=["dusk"])
    equal((message.stop_reason, message.stop_sequence), ("stop_sequence", "dusk"))
    holds("dusk" not in text_of(message), message)


@check(4, "structured output")
def structured():
    format = {"type": "json_schema", "schema": {**WEATHER["input_schema"], "additionalProperties": False}}
    for model in (SONNET, "gpt-sim"):
        message = create(model=model, messages=user("a ship"), extra_body={"output_config": {"format": format}})
        equal(set(json.loads(text_of(message))), {"city", "days"}, model)


@check(4, "a prompt that is kept")
def kept():
    system = [{"type": "text", "text": "Be very brief indeed.", "cache_control": {"type": "ephemeral"}}]
    bill = Bill()
    written, read = (create(messages=QUESTION, system=system).usage for _ in range(2))
    holds(written.cache_creation_input_tokens > 0 and written.cache_read_input_tokens == 0, written)
    equal(read.cache_read_input_tokens, written.cache_creation_input_tokens)
    bill.expect("messages", 2)


@check(4, "prefill, whether the model takes it or is told")
def prefill():
    messages = user("a list") + [{"role": "assistant", "content": "{"}]
    for model in ("lm-opus-4-5-20251101", SONNET):
        message = create(model=model, messages=messages)
        holds(text_of(message).startswith(" and so it goes on"), message)


def conversation(model, thinking, mark, streaming):
    """A turn of thought and a tool, and the question that follows from it."""
    asked = {"model": model, "max_tokens": 2000, "thinking": thinking, "tools": [WEATHER]}
    messages = user(f"[[tool]]{mark} the weather, please")
    if streaming:
        with client().messages.stream(messages=messages, **asked) as helper:
            first = helper.get_final_message()
    else:
        first = client().messages.create(messages=messages, **asked)
    equal((kinds(first)[0], first.stop_reason), ("thinking", "tool_use"), model)
    holds(first.content[0].signature, "a signature")
    result = {"type": "tool_result", "tool_use_id": first.content[-1].id, "content": "fog"}
    content = [block.model_dump(exclude_none=True) for block in first.content]
    return asked, messages, content, [{"role": "user", "content": [result]}]


@check(4, "thinking over several turns")
def thinking():
    for model, how in [
        ("lm-opus-4-5-20251101", ENABLED),
        (SONNET, ENABLED),
        (SONNET, {"type": "adaptive"}),
        ("lm-opus-4-8", {"type": "adaptive"}),
        ("lm-opus-4-8", ENABLED),
        ("lm-sonnet-4-6-thinking", None),
    ]:
        for streaming in (False, True):
            asked, messages, content, result = conversation(model, how or anthropic.NOT_GIVEN, "", streaming)
            bill = Bill()
            second = client().messages.create(
                messages=[*messages, {"role": "assistant", "content": content}, *result], **asked
            )
            holds("the tool said: fog" in text_of(second), second)
            (request,) = bill.expect("messages")
            holds(content[0]["signature"] in request["text"], "the signature, unchanged")


@check(4, "redacted thinking")
def redacted():
    asked, messages, content, result = conversation(SONNET, ENABLED, "[[redacted]]", True)
    equal([block["type"] for block in content][:2], ["thinking", "redacted_thinking"])
    second = client().messages.create(messages=[*messages, {"role": "assistant", "content": content}, *result], **asked)
    holds("the tool said: fog" in text_of(second), second)


@check(4, "a signature that was altered")
def altered():
    asked, messages, content, result = conversation(SONNET, ENABLED, "", False)
    signature = content[0]["signature"]
    content[0]["signature"] = signature[:-6] + ("AAAAA=" if signature[-6:] != "AAAAA=" else "BBBBB=")
    turns = [*messages, {"role": "assistant", "content": content}, *result]
    error = raises(anthropic.BadRequestError, client().messages.create, messages=turns, **asked)
    holds("Invalid `signature` in `thinking` block" in str(error), error)


@check(4, "the beta namespace and its tools")
def beta():
    bill = Bill()
    message = client().beta.messages.create(
        model=SONNET,
        max_tokens=100,
        messages=user("[[tool]] press the button"),
        tools=[
            {"type": "computer_20241022", "name": "computer", "display_width_px": 640, "display_height_px": 480},
            {"type": "bash_20241022", "name": "bash"},
            {"type": "text_editor_20241022", "name": "str_replace_editor"},
        ],
        betas=["computer-use-2024-10-22"],
    )
    equal((message.stop_reason, message.content[-1].name), ("tool_use", "computer"))
    (request,) = bill.expect("messages")
    equal([tool["type"][-8:] for tool in request["body"]["tools"]], ["20250124", "20250124", "20250124"])


@check(4, "asynchronously")
async def asynchronous():
    asked = {"model": SONNET, "max_tokens": 100, "messages": QUESTION}
    async with client(AsyncAnthropic) as api:
        whole = await api.messages.create(**asked)
        looks_right(whole)
        events = [event async for event in await api.messages.create(stream=True, **asked)]
        equal("".join(e.delta.text for e in events if e.type == "content_block_delta"), text_of(whole))
        async with api.messages.stream(**asked) as helper:
            final = await helper.get_final_message()
        equal(text_of(final), text_of(whole))


@check(4, "models")
def models():
    ids = {model.id for model in client().models.list()}
    holds({SONNET, "lm-opus-4-8", "gpt-sim"} <= ids, ids)
    equal(client().models.retrieve(SONNET).id, SONNET)


@check(5, "which header counts")
def headers():
    asked = {"messages": QUESTION}
    for api in (client(), Anthropic(base_url=GATEWAY, auth_token=KEYS["main"])):
        bill = Bill()
        looks_right(create(api, **asked))
        holds(bill.charged() > 0, "charged to the key's account")
    both = {"Authorization": f"Bearer {KEYS['main']}", "X-Api-Key": KEYS["other"]}
    bill, other = Bill(), Bill("other")
    looks_right(create(client(default_headers=both), **asked))
    equal((bill.charged(), other.charged() > 0), (0, True), "x-api-key pays")
    for wrong in ("Authorization", "X-Api-Key"):
        api = client(default_headers={**both, wrong: "Bearer sk-wrong" if wrong == "Authorization" else "sk-wrong"})
        looks_right(create(api, **asked))


def name(current, older=None):
    """The class an error has in this version."""
    return getattr(anthropic, current if CURRENT or older is None else older, None) or getattr(
        anthropic._exceptions, current if CURRENT or older is None else older
    )


ERRORS = [
    (401, ("AuthenticationError",), "authentication_error", "sk-wrong", SONNET, "hello"),
    (402, ("PaymentRequiredError", "APIStatusError"), "payment_required", "poor", SONNET, "hello"),
    (403, ("PermissionDeniedError",), "permission_error", "narrow", SONNET, "hello"),
    (404, ("NotFoundError",), "model_not_found", "main", "lm-nothing", "hello"),
    (413, ("ContentTooLargeError", "RequestTooLargeError"), "request_too_large", "main", SONNET, "[[413]] a book"),
    (429, ("RateLimitError",), "rate_limited", "main", "lm-limited", "[[429]] hello"),
    (502, ("InternalServerError",), "upstream_error", "main", "lm-failing", "[[500]] hello"),
    (502, ("InternalServerError",), "upstream_error", "main", "lm-failing", "[[502-html]] hello"),
    (502, ("InternalServerError",), "upstream_error", "main", "lm-distrusted", "[[credit]] hello"),
]


def shape(error, code):
    """The messages endpoint's own shape, and the request id in every place clients look for it."""
    equal((error.body["type"], error.body["error"]["type"], error.body["error"]["code"]), ("error", "gateway_error", code))
    equal(error.body["error"]["details"], {"error_code": code})
    # Only the current version reads it.
    equal(getattr(error, "error_code", None), code if CURRENT else None)
    holds(error.request_id.startswith("req_"), error.request_id)
    equal((error.request_id, error.body["request_id"]), (error.response.headers["x-gateway-request-id"], error.request_id))
    message = error.body["error"]["message"]
    holds(message.endswith(f" (request id: {error.request_id})"), message)


@check(6, "classes of errors")
def classes():
    for status, classes, code, key, model, text in ERRORS:
        for streaming in (False, True):
            if streaming and status == 429:
                continue  # The account is paused by the first; 503 is another row's business.
            asked = {"model": model, "messages": user(text), "stream": streaming}
            error = raises(name(*classes), create, client(key=key), **asked)
            equal(error.status_code, status, text)
            shape(error, code)
            retried = error.response.headers.get("x-should-retry")
            final = status < 429 or model.endswith("-distrusted")
            equal(retried, "false" if final else None, f"x-should-retry of {status}")


@check(6, "a body that is too large")
def too_large():
    book = user("a" * (33 << 20))
    error = raises(name("ContentTooLargeError", "RequestTooLargeError"), create, messages=book)
    shape(error, "request_too_large")


@check(6, "no room at present")
def crowded():
    asked = {"model": "lm-crowded", "messages": user("[[stall:1]] wait")}
    with create(stream=True, **asked) as stream:
        first = next(iter(stream))
        equal(first.type, "message_start")
        error = raises(name("ServiceUnavailableError", "InternalServerError"), create, **asked)
        shape(error, "upstream_unavailable")
        equal((error.status_code, error.response.headers["retry-after"]), (503, "1"))
        ask("release", held=1)
        list(stream)


@check(7, "retries")
def retries():
    api = client(max_retries=2)
    limited = {"model": "lm-lone", "messages": user("[[429]] hello")}

    def try_thrice():
        try:
            create(api, **limited)
        except anthropic.APIStatusError as error:
            holds(error.status_code in (429, 503), error)

    # The account is paused for as long as clients are told to wait: one that is a moment early is told 503.
    calls(SURFACE, try_thrice, 3, (429, 503))
    for classes, asked, key, status in [
        (("PaymentRequiredError", "APIStatusError"), {"messages": QUESTION}, "poor", 402),
        (("BadRequestError",), {"messages": []}, "main", 400),
    ]:
        api = client(key=key, max_retries=2)
        calls(SURFACE, lambda: raises(name(*classes), create, api, **asked), 1, (status,))


@check(8, "an overloaded provider is hidden, and paid once")
def overloaded():
    for number, (model, retried) in enumerate([("lm-spared", 0), ("lm-lone-2", 2)]):
        bill = Bill()
        message = create(client(max_retries=retried), model=model, messages=user(f"[[529:1]] hello {number}"))
        looks_right(message, model)
        requests = bill.expect("messages")
        equal([request["status"] for request in requests], [529, 200])


@check(9, "a stream that is cut")
def cut():
    for mark in ("cut:3", "reset:3", "abort:3", "error:3", "no-end"):
        bill = Bill()
        text = ""
        asked = {"model": "lm-cut", "messages": user(f"[[{mark}]] tell me of the lighthouse")}
        try:
            for event in create(stream=True, **asked):
                text += event.delta.text if event.type == "content_block_delta" else ""
        except anthropic.APIStatusError as error:
            holds(type(error) is anthropic.APIStatusError, f"{mark}: {type(error).__name__}: {error}")
            equal((error.status_code, error.body["error"]["code"]), (200, "upstream_error"), mark)
            shape(error, "upstream_error")
        else:
            raise AssertionError(f"[[{mark}]]: no error, but {text!r}")
        paid(mark, text, bill.charged())


@check(9, "a stream without words is free")
def nothing_said():
    bill = Bill()
    asked = {"model": "lm-cut", "messages": user("[[cut:0]] hello")}
    # Before the first event it has a status, and is of a class that is tried again.
    error = raises(anthropic.InternalServerError, lambda: create(stream=True, **asked))
    found = (error.status_code, error.body["error"]["code"], bill.charged())
    equal(found, (502, "upstream_error", 0))


@check(9, "the helper says so too")
def cut_helper():
    asked = {"model": "lm-cut", "max_tokens": 100, "messages": user("[[cut:3]] tell me of the sea")}

    def whole():
        with client().messages.stream(**asked) as helper:
            return helper.get_final_message()

    raises(anthropic.APIStatusError, whole)


@check(10, "a client that leaves pays for what the provider counts")
def leaving():
    bill = Bill()
    stream = create(messages=user("[[stall:3]] a long story"), stream=True)
    next(iter(stream))
    stream.close()
    ask("release", held=1)
    (request,) = bill.expect("messages")
    equal((request["finished"], request["hung_up"]), (True, False), "read to its end")


@check(10, "the same, asynchronously")
async def leaving_asynchronously():
    bill = Bill()
    asked = {"model": SONNET, "max_tokens": 100, "messages": user("[[stall:3]] another long story")}
    async with client(AsyncAnthropic) as api:
        async with api.messages.stream(**asked) as helper:
            async for _ in helper.text_stream:
                break
    ask("release", held=1)
    bill.expect("messages")


@check(11, "a slow provider")
def slow():
    comment, event = b": ping\n\n", b'event: ping\ndata: {"type": "ping"}\n\n'
    for mark, ping in (("slow-start", comment), ("slow-event", comment), ("stall:2", event)):
        spy = Spy(ping)
        http = anthropic.DefaultHttpxClient(event_hooks={"response": [spy.sync_hook]})
        asked = user(f"[[{mark}]] [[words:9]] one two three four five six seven eight nine")
        with client(http_client=http).messages.stream(model=SONNET, max_tokens=100, messages=asked) as helper:
            final = helper.get_final_message()
        equal(text_of(final), "you wrote: one two three four five six seven")
        holds(spy.pings, f"[[{mark}]]: no keep-alive in {spy.seen!r}")


@check(11, "a slow provider, asynchronously")
async def slow_asynchronously():
    spy = Spy(b'event: ping\ndata: {"type": "ping"}\n\n')
    http = anthropic.DefaultAsyncHttpxClient(event_hooks={"response": [spy.async_hook]})
    asked = user("[[stall:1]] [[words:5]] one two three four")
    async with client(AsyncAnthropic, http_client=http) as api:
        async with api.messages.stream(model=SONNET, max_tokens=100, messages=asked) as helper:
            final = await helper.get_final_message()
    equal(text_of(final), "you wrote: one two three")
    holds(spy.pings, spy.seen)


@check(12, "base URLs")
def base_urls():
    looks_right(create(client(base_url=f"{GATEWAY}/"), messages=QUESTION))
    for wrong in (f"{GATEWAY}/v1", f"{GATEWAY}/v1/v1", f"{GATEWAY}/v1/messages"):
        error = raises(anthropic.NotFoundError, create, client(base_url=wrong), messages=QUESTION)
        shape(error, "not_found")
        holds(f"the base URL is {GATEWAY} (" in str(error), error)


@check(13, "counting tokens")
def counting():
    error = raises(anthropic.NotFoundError, client().messages.count_tokens, model=SONNET, messages=QUESTION)
    shape(error, "not_found")


@check(14, "what is refused")
def refused():
    for words, asked in [
        ("stop_sequences", {"stop_sequences": ["a", "b", "c", "d", "e"]}),
        ("max_tokens", {"max_tokens": 0}),
        ("cannot both be specified", {"extra_body": {"temperature": 0.5, "top_p": 0.5}}),
        ("tools.0", {"tools": [{"type": "hammer_20990101", "name": "hammer"}]}),
        ("frobnicate: Extra inputs are not permitted", {"extra_body": {"frobnicate": 1}}),
        ("budget_tokens", {"max_tokens": 1000, "thinking": ENABLED}),
    ]:
        for model in (SONNET, "lm-opus-4-6"):
            bill = Bill()
            error = raises(anthropic.BadRequestError, create, **{"model": model, "messages": QUESTION, **asked})
            shape(error, "invalid_request")
            holds(words in str(error), f"{words}: {error}")
            equal((bill.charged(), bill.received("messages")), (0, []), "judged by the gateway itself")


@check(15, "the version header changes nothing")
def versions():
    for model in ("lm-opus-4-7", "lm-opus-4-8"):
        for version in ("2023-06-01", "2026-10-21", "2030-01-01"):
            bill = Bill()
            asked = {"temperature": 0.3, "top_k": 5}
            message = create(
                model=model, messages=QUESTION, extra_body=asked, extra_headers={"anthropic-version": version}
            )
            looks_right(message, model)
            (request,) = bill.expect("messages")
            equal({field for field in asked if field in request["body"]}, set(), "sampling is dropped")
            equal(request["headers"]["anthropic-version"], "2023-06-01")


@check(17, "a messages client of a model that speaks chat")
def translated():
    bill = Bill()
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    messages = [
        {"role": "user", "content": "what is the weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I shall look."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo", "days": 1}},
                {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Rome", "days": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "snow"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "sun"}]},
                {"type": "text", "text": "and here?"},
                {"type": "image", "source": source},
            ],
        },
    ]
    message = create(
        model="gpt-sim",
        max_tokens=300,
        messages=messages,
        system=[{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Mind the gap."}],
        tools=[WEATHER],
        tool_choice={"type": "auto", "disable_parallel_tool_use": True},
        stop_sequences=["zzz"],
        metadata={"user_id": "someone"},
        extra_body={"temperature": 0.4, "top_k": 3},
    )
    looks_right(message, "gpt-sim")
    holds("saw image/png 1x1" in text_of(message), message)
    (request,) = bill.expect("chat")
    sent = request["body"]
    equal((sent["model"], sent["max_completion_tokens"], sent["temperature"]), ("gpt-sim", 300, 0.4))
    equal((sent["stop"], sent["user"], "top_k" in sent), (["zzz"], "someone", False))
    equal((sent["tool_choice"], sent["parallel_tool_calls"]), ("auto", False))
    equal(sent["tools"][0]["function"]["parameters"], WEATHER["input_schema"])
    equal([turn["role"] for turn in sent["messages"]], ["system", "user", "assistant", "tool", "tool", "user"])
    spoken = sent["messages"][2]
    equal((spoken["content"], [call["id"] for call in spoken["tool_calls"]]), ("I shall look.", ["toolu_1", "toolu_2"]))
    equal([turn["content"] for turn in sent["messages"][3:5]], ["snow", "sun"])
    parts = sent["messages"][5]["content"]
    equal([part["type"] for part in parts], ["text", "image_url"])
    equal(parts[1]["image_url"]["url"], f"data:image/png;base64,{PICTURE}")


@check(17, "its answers, streamed")
def translated_streams():
    asked = {"model": "gpt-sim", "max_tokens": 100}
    whole = create(messages=QUESTION, **asked)
    with client().messages.stream(messages=QUESTION, **asked) as helper:
        final = helper.get_final_message()
    looks_right(final, "gpt-sim")
    equal((text_of(final), final.usage.output_tokens), (text_of(whole), 9))
    for text, stop in [("[[words:400]] go on", "max_tokens"), ("[[content-filter]] go on", "refusal")]:
        with client().messages.stream(model="gpt-sim", max_tokens=20 if stop == "max_tokens" else 100, messages=user(text)) as helper:
            equal(helper.get_final_message().stop_reason, stop)
    thought = create(model="gpt-sim-reasoning", max_tokens=3000, messages=QUESTION, thinking=ENABLED)
    looks_right(thought, "gpt-sim-reasoning")
    with client().messages.stream(messages=user("[[interleaved]] look"), tools=[WEATHER, HARBOUR], **asked) as helper:
        final = helper.get_final_message()
    uses = [block for block in final.content if block.type == "tool_use"]
    equal(([use.name for use in uses], final.stop_reason), (["weather", "harbour"], "tool_use"))
    holds(1 <= uses[0].input["days"] <= 3, uses)


@check(18, "two hundred calls on one client")
def many_calls():
    api = client()
    many(lambda: api.models.retrieve(SONNET))


@check(19, "a key that is refused")
def refused_key():
    for key in ("sk-wrong", "nonsense"):
        error = raises(anthropic.AuthenticationError, create, client(key=key), messages=QUESTION)
        equal(error.body["type"], "error")
        shape(error, "authentication_error")


if __name__ == "__main__":
    main(anthropic.__version__)
