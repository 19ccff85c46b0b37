"""The openai package against the gateway."""

import functools
import json

import openai
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from checks import GATEWAY, KEYS, PIXEL, Bill, Spy, ask, calls, check, equal, holds, main, many, paid, raises

SURFACE = "chat.completions"
BARE = {"x-response-format": "bare"}
QUESTION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "[[words:9]] the keeper of the lighthouse — 灯台 🗼 — counts ships at dawn"},
]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather somewhere.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 3}},
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}
HARBOUR = {
    "type": "function",
    "function": {"name": "harbour", "parameters": {"type": "object", "properties": {"ship": {"type": "string"}}}},
}


def make(kind=OpenAI, key="main", **more):
    return kind(
        api_key=KEYS.get(key, key), **{"base_url": f"{GATEWAY}/v1", "default_headers": BARE, "max_retries": 0, **more}
    )


@functools.cache
def plain_client(key):
    return make(key=key)


def client(kind=OpenAI, key="main", **more):
    """A client; the plain ones are kept, because each makes a TLS context, which takes longer than a call."""
    return plain_client(key) if kind is OpenAI and not more else make(kind, key, **more)


def user(text):
    return [{"role": "user", "content": text}]


def joined(chunks):
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def looks_right(completion, model="gpt-sim"):
    equal(completion.object, "chat.completion")
    equal(completion.model, model)
    holds(completion.id.startswith("chatcmpl-"), completion.id)
    choice = completion.choices[0]
    equal((choice.index, choice.message.role, choice.finish_reason), (0, "assistant", "stop"))
    holds(choice.message.content, "content")
    usage = completion.usage
    equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)


@check(1, "create")
def create():
    bill = Bill()
    completion = client().chat.completions.create(model="gpt-sim", messages=QUESTION)
    looks_right(completion)
    equal(completion.usage.completion_tokens, 9)
    holds(completion._request_id.startswith("req_"), completion._request_id)
    bill.expect("chat")


@check(1, "stream")
def stream():
    bill = Bill()
    whole = client().chat.completions.create(model="gpt-sim", messages=QUESTION)
    chunks = list(client().chat.completions.create(model="gpt-sim", messages=QUESTION, stream=True))
    equal(joined(chunks), whole.choices[0].message.content, "the same words")
    equal({(c.object, c.model) for c in chunks}, {("chat.completion.chunk", "gpt-sim")})
    equal(len({(c.id, c.created) for c in chunks}), 1, "one id, one moment")
    equal([c.choices[0].delta.role for c in chunks if c.choices[0].delta.role], ["assistant"])
    equal([c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason], ["stop"])
    equal([c.usage for c in chunks if c.usage], [], "usage nobody asked for")
    bill.expect("chat", 2)


@check(1, "include_usage")
def include_usage():
    options = {"include_usage": True}
    chunks = list(
        client().chat.completions.create(model="gpt-sim", messages=QUESTION, stream=True, stream_options=options)
    )
    equal([c.usage for c in chunks[:-1] if c.usage], [])
    equal((chunks[-1].choices, chunks[-1].usage.completion_tokens), ([], 9))


@check(1, "stream helper")
def stream_helper():
    whole = client().chat.completions.create(model="gpt-sim", messages=QUESTION)
    with client().chat.completions.stream(model="gpt-sim", messages=QUESTION) as events:
        deltas = "".join(event.delta for event in events if event.type == "content.delta")
        final = events.get_final_completion()
    equal(final.choices[0].message.content, whole.choices[0].message.content)
    equal((deltas, final.choices[0].finish_reason), (final.choices[0].message.content, "stop"))


@check(1, "log probabilities")
def logprobs():
    asked = {"messages": QUESTION, "logprobs": True, "top_logprobs": 3}
    choice = client().chat.completions.create(model="gpt-sim", **asked).choices[0]
    entries = choice.logprobs.content
    equal("".join(entry.token for entry in entries), choice.message.content)
    equal({len(entry.top_logprobs) for entry in entries}, {3})
    holds(all(entry.logprob < 0 and bytes(entry.bytes).decode() == entry.token for entry in entries), entries)
    with client().chat.completions.stream(model="gpt-sim", **asked) as events:
        final = events.get_final_completion()
    equal(final.choices[0].logprobs.content, entries, "the same tokens")
    # A provider of messages has none.
    choice = client().chat.completions.create(model="lm-sonnet-4-6", **asked).choices[0]
    equal((choice.logprobs, bool(choice.message.content)), (None, True))


@check(1, "a provider that does not stream")
def unstreamed():
    asked = {"model": "gpt-sim", "messages": user("[[json-for-stream]] [[words:9]] one two three four five six seven eight nine")}
    bill = Bill()
    whole = client().chat.completions.create(**asked)
    charged = bill.charged()
    bill = Bill()
    with client().chat.completions.stream(**asked) as events:
        final = events.until_done().get_final_completion()
    equal(final.choices[0].message.content, whole.choices[0].message.content)
    equal((final.choices[0].finish_reason, bill.charged()), ("stop", charged))


@check(1, "tools")
def tools():
    messages = user("what is the weather in Reykjavík?")
    first = client().chat.completions.create(
        model="gpt-sim", messages=messages, tools=[WEATHER, HARBOUR], tool_choice="required"
    )
    choice = first.choices[0]
    equal((choice.finish_reason, choice.message.content), ("tool_calls", None))
    (call,) = choice.message.tool_calls
    equal((call.type, call.function.name), ("function", "weather"))
    holds(1 <= json.loads(call.function.arguments)["days"] <= 3, call.function.arguments)
    messages += [
        choice.message,  # As everybody does: with all that came, `annotations` included.
        {"role": "tool", "tool_call_id": call.id, "content": "snow, then sun"},
    ]
    second = client().chat.completions.create(model="gpt-sim", messages=messages, tools=[WEATHER, HARBOUR])
    holds("the tool said: snow, then sun" in second.choices[0].message.content, second.choices[0].message.content)


@check(1, "parallel tools, streamed")
def parallel_tools():
    asked = {"model": "gpt-sim", "messages": user("[[tools:2]] look"), "tools": [WEATHER, HARBOUR]}
    found = {}
    for chunk in client().chat.completions.create(stream=True, **asked):
        for delta in chunk.choices[0].delta.tool_calls or []:
            ids, names, arguments = found.setdefault(delta.index, ([], [], []))
            ids += [delta.id] if delta.id else []
            names += [delta.function.name] if delta.function.name else []
            arguments += [delta.function.arguments or ""]
    equal(sorted(found), [0, 1], "indexes")
    equal([names for _, names, _ in found.values()], [["weather"], ["harbour"]], "each name once")
    equal([len(ids) for ids, _, _ in found.values()], [1, 1], "each id once")
    for _, _, arguments in found.values():
        json.loads("".join(arguments))
    with client().chat.completions.stream(**asked) as events:
        final = events.get_final_completion().choices[0]
    equal([call.function.name for call in final.message.tool_calls], ["weather", "harbour"])
    equal(final.finish_reason, "tool_calls")


@check(1, "structured output")
def structured():
    class Ship(BaseModel):
        name: str
        masts: int

    parsed = client().chat.completions.parse(model="gpt-sim", messages=user("a ship"), response_format=Ship)
    holds(isinstance(parsed.choices[0].message.parsed, Ship), parsed)


@check(1, "an image")
def image():
    url = f"data:image/png;base64,{PIXEL}"
    look = user([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}])
    for model in ("gpt-sim", "lm-sonnet-4-6"):
        completion = client().chat.completions.create(model=model, messages=look)
        holds("saw image/png 1x1" in completion.choices[0].message.content, completion)


@check(1, "several choices, and thinking")
def choices():
    bill = Bill()
    completion = client().chat.completions.create(model="gpt-sim", messages=QUESTION, n=2)
    equal([choice.index for choice in completion.choices], [0, 1])
    completion = client().chat.completions.create(
        model="gpt-sim-reasoning", messages=QUESTION, reasoning_effort="low", max_completion_tokens=200
    )
    holds(completion.usage.completion_tokens_details.reasoning_tokens > 0, completion.usage)
    bill.expect("chat", 2)


@check(1, "a provider that is only nearly compatible")
def clone():
    asked = {"model": "clone-sim", "messages": user("[[interleaved]] [[comments]] [[crlf]] look"), "max_tokens": 200}
    with client().chat.completions.stream(tools=[WEATHER, HARBOUR], **asked) as events:
        message = events.get_final_completion().choices[0].message
    equal([call.function.name for call in message.tool_calls], ["weather", "harbour"])
    holds(message.content and message.model_extra["reasoning_content"], message)
    for call in message.tool_calls:
        json.loads(call.function.arguments)


@check(1, "asynchronously")
async def asynchronous():
    async with client(AsyncOpenAI) as api:
        whole = await api.chat.completions.create(model="gpt-sim", messages=QUESTION)
        looks_right(whole)
        chunks = [c async for c in await api.chat.completions.create(model="gpt-sim", messages=QUESTION, stream=True)]
        equal(joined(chunks), whole.choices[0].message.content)
        async with api.chat.completions.stream(model="gpt-sim", messages=QUESTION) as events:
            final = await events.get_final_completion()
        equal(final.choices[0].message.content, whole.choices[0].message.content)


@check(1, "models")
def models():
    ids = {model.id for model in client().models.list()}
    holds({"gpt-sim", "lm-sonnet-4-6", "lm-opus-4-8"} <= ids, ids)
    equal(client().models.retrieve("gpt-sim").id, "gpt-sim")


@check(2, "hybrid is refused by name")
def hybrid():
    api = client(default_headers={"x-response-format": "hybrid"})
    error = raises(openai.BadRequestError, api.chat.completions.create, model="gpt-sim", messages=QUESTION)
    holds("expected wrapped or bare" in error.message, error.message)


@check(3, "wrapped, through the raw response")
def wrapped():
    api = client(default_headers={})
    raw = json.loads(api.chat.completions.with_raw_response.create(model="gpt-sim", messages=QUESTION).text)
    equal((sorted(raw), raw["code"]), (["code", "data"], 200))
    looks_right(ChatCompletion.model_validate(raw["data"]))
    chunks = list(api.chat.completions.create(model="gpt-sim", messages=QUESTION, stream=True))
    equal(joined(chunks), raw["data"]["choices"][0]["message"]["content"], "streams are never wrapped")


@check(3, "bare, by the key's setting")
def bare_by_key():
    api = client(key="bare", default_headers={})
    looks_right(api.chat.completions.create(model="gpt-sim", messages=QUESTION))


ERRORS = [
    (401, "AuthenticationError", "authentication_error", "sk-wrong", "gpt-sim", "hello"),
    (402, "APIStatusError", "payment_required", "poor", "gpt-sim", "hello"),
    (403, "PermissionDeniedError", "permission_error", "narrow", "gpt-sim", "hello"),
    (404, "NotFoundError", "not_found_error", "main", "gpt-nothing", "hello"),
    (413, "APIStatusError", "invalid_request_error", "main", "gpt-sim", "[[413]] a book"),
    (429, "RateLimitError", "rate_limit_error", "main", "gpt-limited", "[[429]] hello"),
    (502, "InternalServerError", "bad_gateway", "main", "gpt-failing", "[[500]] hello"),
    (502, "InternalServerError", "bad_gateway", "main", "gpt-failing", "[[502-html]] hello"),
    (502, "InternalServerError", "bad_gateway", "main", "gpt-distrusted", "[[401]] hello"),
]


@check(6, "classes of errors")
def classes():
    for status, name, word, key, model, text in ERRORS:
        ask_it = client(key=key).chat.completions.create
        for streaming in (False, True):
            if streaming and status == 429:
                continue  # The account is paused by the first; 503 is another row's business.
            error = raises(getattr(openai, name), ask_it, model=model, messages=user(text), stream=streaming)
            equal(error.status_code, status, text)
            equal((error.type, str(error.code)), (word, str(status)))
            holds(error.request_id.startswith("req_"), error.request_id)
            equal(error.request_id, error.response.headers["x-gateway-request-id"])
            retried = error.response.headers.get("x-should-retry")
            final = status < 429 or model.endswith("-distrusted")
            equal(retried, "false" if final else None, f"x-should-retry of {status}")


@check(6, "a body that is too large")
def too_large():
    book = user("a" * (33 << 20))
    error = raises(openai.APIStatusError, client().chat.completions.create, model="gpt-sim", messages=book)
    equal((error.status_code, error.type), (413, "invalid_request_error"))


@check(6, "no room at present")
def crowded():
    asked = {"model": "gpt-crowded", "messages": user("[[stall:1]] wait")}
    with client().chat.completions.create(stream=True, **asked) as stream:
        first = next(iter(stream))
        holds(first.id, first)
        error = raises(openai.InternalServerError, client().chat.completions.create, **asked)
        equal((error.status_code, error.type), (503, "service_unavailable"))
        equal(error.response.headers["retry-after"], "1")
        ask("release", held=1)
        list(stream)


@check(7, "retries")
def retries():
    api = client(max_retries=2)
    limited = {"model": "gpt-lone", "messages": user("[[429]] hello")}

    def try_thrice():
        try:
            api.chat.completions.create(**limited)
        except openai.APIStatusError as error:
            holds(error.status_code in (429, 503), error)

    # The account is paused for as long as clients are told to wait: one that is a moment early is told 503.
    calls(SURFACE, try_thrice, 3, (429, 503))
    for kind, asked, key, status in [
        (openai.APIStatusError, {"model": "gpt-sim", "messages": QUESTION}, "poor", 402),
        (openai.BadRequestError, {"model": "gpt-sim", "messages": []}, "main", 400),
    ]:
        api = client(key=key, max_retries=2)
        calls(SURFACE, lambda: raises(kind, api.chat.completions.create, **asked), 1, (status,))


@check(8, "an overloaded provider is hidden, and paid once")
def overloaded():
    for number, (model, retried) in enumerate([("gpt-spared", 0), ("gpt-lone-2", 2)]):
        bill = Bill()
        asked = user(f"[[529:1]] hello {number}")
        completion = client(max_retries=retried).chat.completions.create(model=model, messages=asked)
        looks_right(completion, model)
        requests = bill.expect("chat")
        equal([request["status"] for request in requests], [529, 200])


@check(9, "a stream that is cut")
def cut():
    for mark in ("cut:3", "reset:3", "abort:3", "error:3"):
        bill = Bill()
        text = ""
        try:
            for chunk in client().chat.completions.create(
                model="gpt-cut", messages=user(f"[[{mark}]] tell me of the lighthouse"), stream=True
            ):
                text += joined([chunk])
        except openai.APIError as error:
            holds(type(error) is openai.APIError, f"{mark}: {type(error).__name__}: {error}")
            equal((error.type, str(error.code)), ("bad_gateway", "502"), mark)
        else:
            raise AssertionError(f"[[{mark}]]: no error, but {text!r}")
        paid(mark, text, bill.charged())


@check(9, "a finished answer without its [DONE], and one without its reason")
def no_end():
    for mark in ("no-end", "done-early"):
        asked = {"model": "gpt-cut", "messages": user(f"[[{mark}]] tell me of the lighthouse"), "stream": True}
        equal(list(client().chat.completions.create(**asked))[-1].choices[0].finish_reason, "stop", mark)


@check(9, "a stream without words is free")
def nothing_said():
    bill = Bill()
    asked = {"model": "gpt-cut", "messages": user("[[cut:0]] hello"), "stream": True}
    # Before the first event it has a status, and is of a class that is tried again.
    error = raises(openai.InternalServerError, client().chat.completions.create, **asked)
    equal((error.status_code, bill.charged()), (502, 0))


@check(10, "a client that leaves pays for what the provider counts")
def leaving():
    bill = Bill()
    asked = user("[[stall:3]] a long story")
    stream = client().chat.completions.create(model="gpt-sim", messages=asked, stream=True)
    next(iter(stream))
    stream.close()
    ask("release", held=1)
    requests = bill.expect("chat")
    equal((requests[0]["finished"], requests[0]["hung_up"]), (True, False), "read to its end")


@check(10, "the same, asynchronously")
async def leaving_asynchronously():
    bill = Bill()
    async with client(AsyncOpenAI) as api:
        asked = user("[[stall:3]] another long story")
        stream = await api.chat.completions.create(model="gpt-sim", messages=asked, stream=True)
        async for _ in stream:
            break
        await stream.close()
    ask("release", held=1)
    bill.expect("chat")


@check(11, "a slow provider")
def slow():
    for mark in ("slow-start", "slow-event", "stall:2"):
        spy = Spy(b": ping\n\n")
        http = openai.DefaultHttpxClient(event_hooks={"response": [spy.sync_hook]})
        asked = user(f"[[{mark}]] [[words:9]] one two three four five six seven eight nine")
        chunks = list(client(http_client=http).chat.completions.create(model="gpt-sim", messages=asked, stream=True))
        equal(joined(chunks), "you wrote: one two three four five six seven")
        holds(spy.pings, f"[[{mark}]]: no keep-alive in {spy.seen!r}")


@check(11, "a slow provider, asynchronously")
async def slow_asynchronously():
    spy = Spy(b": ping\n\n")
    http = openai.DefaultAsyncHttpxClient(event_hooks={"response": [spy.async_hook]})
    async with client(AsyncOpenAI, http_client=http) as api:
        asked = user("[[stall:1]] [[words:5]] one two three four")
        chunks = [c async for c in await api.chat.completions.create(model="gpt-sim", messages=asked, stream=True)]
    equal(joined(chunks), "you wrote: one two three")
    holds(spy.pings, spy.seen)


@check(12, "base URLs")
def base_urls():
    looks_right(client(base_url=f"{GATEWAY}/v1/").chat.completions.create(model="gpt-sim", messages=QUESTION))
    for wrong in (GATEWAY, f"{GATEWAY}/v1/v1", f"{GATEWAY}/v1/chat/completions"):
        api = client(base_url=wrong)
        error = raises(openai.NotFoundError, api.chat.completions.create, model="gpt-sim", messages=QUESTION)
        holds(f"the base URL is {GATEWAY}/v1" in error.message, f"{wrong}: {error.message}")


@check(17, "a chat client of a model that speaks messages")
def translated():
    bill = Bill()
    picture = f"data:image/png;base64,{PIXEL}"
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "what is the weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo","days":1}'}},
                {"id": "call_2", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Rome","days":2}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "snow"},
        {"role": "tool", "tool_call_id": "call_2", "content": "sun"},
        {"role": "developer", "content": "Mind the gap."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "and here? Stop at nothing"}, {"type": "image_url", "image_url": {"url": picture}}],
        },
    ]
    completion = client().chat.completions.create(
        model="lm-sonnet-4-6",
        messages=messages,
        tools=[WEATHER],
        tool_choice="auto",
        parallel_tool_calls=False,
        max_completion_tokens=300,
        temperature=1.7,
        stop=["zzz"],
        user="someone",
    )
    looks_right(completion, "lm-sonnet-4-6")
    holds("saw image/png 1x1" in completion.choices[0].message.content, completion.choices[0].message.content)
    (request,) = bill.expect("messages")
    sent = request["body"]
    system = sent["system"] if isinstance(sent["system"], str) else "\n".join(b["text"] for b in sent["system"])
    equal(system, "Be brief.\nMind the gap.")
    equal((sent["model"], sent["max_tokens"], sent["temperature"]), ("claude-sonnet-4-6", 300, 1))
    equal((sent["stop_sequences"], sent["metadata"]), (["zzz"], {"user_id": "someone"}))
    equal(sent["tool_choice"], {"type": "auto", "disable_parallel_tool_use": True})
    equal(sent["tools"][0]["input_schema"], WEATHER["function"]["parameters"])
    equal([turn["role"] for turn in sent["messages"]], ["user", "assistant", "user"])
    uses = sent["messages"][1]["content"]
    equal([(b["type"], b["id"], b["input"]["city"]) for b in uses], [("tool_use", "call_1", "Oslo"), ("tool_use", "call_2", "Rome")])
    last = sent["messages"][2]["content"]
    equal([b["type"] for b in last], ["tool_result", "tool_result", "text", "image"])
    equal(request["headers"]["anthropic-version"], "2023-06-01")


@check(17, "its answers, streamed")
def translated_streams():
    model = "lm-sonnet-4-6"
    whole = client().chat.completions.create(model=model, messages=QUESTION)
    with client().chat.completions.stream(
        model=model, messages=QUESTION, stream_options={"include_usage": True}
    ) as events:
        final = events.get_final_completion()
    equal(final.choices[0].message.content, whole.choices[0].message.content)
    equal((final.model, final.choices[0].finish_reason), (model, "stop"))
    equal(final.usage.model_dump(exclude_none=True)["completion_tokens"], 9)
    for text, finish in [("[[words:400]] go on", "length"), ("[[refusal]] go on", "content_filter")]:
        chunks = list(client().chat.completions.create(model=model, messages=user(text), stream=True, max_tokens=20))
        equal([c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason], [finish])
    refused = client().chat.completions.create
    error = raises(openai.BadRequestError, refused, model=model, messages=QUESTION, n=2)
    equal(error.param, "n")
    with client().chat.completions.stream(
        model=model, messages=user("[[tools:2]] look"), tools=[WEATHER, HARBOUR]
    ) as events:
        final = events.get_final_completion().choices[0]
    equal([call.function.name for call in final.message.tool_calls], ["weather", "harbour"])
    equal(final.finish_reason, "tool_calls")


@check(18, "two hundred calls on one client")
def many_calls():
    api = client()
    many(lambda: api.models.retrieve("gpt-sim"))


def nearness(one, other):
    return sum(a * b for a, b in zip(one, other))


TEXTS = ["a red kite over the sea", "the red kite, over a sea", "quarterly results of mining companies"]


@check(24, "embeddings")
def embeddings():
    bill = Bill()
    found = client().embeddings.create(model="embed-sim", input=TEXTS)
    equal((found.object, found.model, [item.index for item in found.data]), ("list", "embed-sim", [0, 1, 2]))
    equal((found.usage.prompt_tokens, found.usage.total_tokens), (17, 17))
    vectors = [item.embedding for item in found.data]
    equal({len(vector) for vector in vectors}, {1536})
    holds(abs(nearness(vectors[0], vectors[0]) - 1) < 1e-4, "of unit length")
    holds(nearness(vectors[0], vectors[1]) > 0.6 > 0.2 > nearness(vectors[0], vectors[2]), "near and far")
    (request,) = bill.expect("chat")
    equal(request["body"]["encoding_format"], "base64", "what the SDK asks for")
    numbers = client().embeddings.create(model="embed-sim", input=TEXTS, encoding_format="float")
    holds(all(abs(a - b) < 1e-6 for a, b in zip(numbers.data[2].embedding, vectors[2])), "the same numbers")


@check(24, "embeddings of tokens, shorter, asynchronously")
async def tokens():
    async with make(AsyncOpenAI) as api:
        one = await api.embeddings.create(model="embed-sim", input=[11, 12, 13], dimensions=8, user="ada")
        equal((len(one.data), len(one.data[0].embedding), one.usage.prompt_tokens), (1, 8, 3))
        two = await api.embeddings.create(model="embed-sim", input=[[11, 12, 13], [14]], dimensions=8)
        equal((len(two.data), two.data[0].embedding), (2, one.data[0].embedding))


@check(24, "errors of embeddings")
def embeddings_errors():
    create = client().embeddings.create
    error = raises(openai.BadRequestError, create, model="embed-sim", input=["a", ""])
    equal((error.param, error.type), ("input[1]", "invalid_request_error"))
    equal(raises(openai.BadRequestError, create, model="gpt-sim", input="a").param, "model")
    raises(openai.NotFoundError, create, model="kite", input="a")
    raises(openai.AuthenticationError, client(key="sk-wrong").embeddings.create, model="embed-sim", input="a")
    error = raises(openai.APIStatusError, client(key="poor").embeddings.create, model="embed-sim", input="a")
    equal((error.status_code, error.code), (402, "insufficient_quota"))


if __name__ == "__main__":
    main(openai.__version__)
