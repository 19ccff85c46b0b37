"""LiteLLM: its OpenAI and Anthropic providers, each with models of either protocol."""

import base64
import json
import math
import os
import struct
from importlib.metadata import version

# It would fetch a table of prices from elsewhere.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from checks import GATEWAY, KEYS, PIXEL, check, equal, holds, main  # noqa: E402

litellm.suppress_debug_info = True
litellm.telemetry = False

MODELS = ("gpt-sim", "clone-agent", "lm-sonnet-4-6", "lm-opus-4-8")
NINE = [{"role": "user", "content": "[[words:9]] a kite over the lighthouse"}]


class Kite(BaseModel):
    name: str
    masts: int


def function(name, argument):
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TOOLS = [function("weather", "city"), function("harbour", "ship")]


def routes(models=MODELS):
    for model in models:
        yield {"model": f"openai/{model}", "api_base": f"{GATEWAY}/v1"}
        yield {"model": f"anthropic/{model}", "api_base": GATEWAY, "max_tokens": 400}


def each(run, models=MODELS):
    for route in routes(models):
        try:
            run({**route, "api_key": KEYS["bare"], "num_retries": 0, "max_retries": 0})
        except Exception as error:
            raise AssertionError(f"{route['model']}: {error}") from error


def looped(route, messages):
    """Answers every call, and sends each answer back with all its fields."""
    called = []
    for _ in range(4):
        message = litellm.completion(messages=messages, tools=TOOLS, **route).choices[0].message
        echoed = message.model_dump()
        messages.append({**echoed, "provider_specific_fields": echoed.get("provider_specific_fields")})
        if not message.tool_calls:
            return called, message.content
        for call in message.tool_calls:
            called.append(call.function.name)
            json.loads(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "rain and a pier"})
    raise AssertionError("no end")


@check(25, "completion")
def plain():
    def run(route):
        said = litellm.completion(messages=NINE, **route)
        equal((len(said.choices[0].message.content.split()), said.choices[0].finish_reason), (9, "stop"))
        holds(said.usage.prompt_tokens > 0 and said.usage.completion_tokens >= 9, said.usage)

    each(run)


@check(26, "completion, streamed")
def stream():
    def run(route):
        pieces = list(litellm.completion(messages=NINE, stream=True, **route))
        text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
        equal(len(text.split()), 9, text)

    each(run)


@check(27, "a tool loop")
def tool_loop():
    def run(route):
        messages = [{"role": "user", "content": "what is the weather in Lisbon?"}]
        called, text = looped(route, messages)
        equal(called, ["weather"])
        holds("rain and a pier" in text, text)
        # The next turn sends all of it back, with what some of its users add.
        hint = {"type": "text", "text": NINE[0]["content"], "cache_control": {"type": "ephemeral"}}
        messages.append({"role": "user", "content": [hint]})
        said = litellm.completion(messages=messages, tools=TOOLS, **route)
        equal(len(said.choices[0].message.content.split()), 9)

    each(run)


@check(27, "an empty list of tools")
def no_tools():
    each(lambda route: litellm.completion(messages=NINE, tools=[], **route), ("gpt-sim", "clone-agent", "lm-sonnet-4-6"))


@check(28, "parallel tools")
def parallel():
    def run(route):
        called, text = looped(route, [{"role": "user", "content": "[[tools:2]] look"}])
        equal(called, ["weather", "harbour"])
        holds(text, text)

    each(run)


@check(29, "response_format")
def structured():
    def run(route):
        messages = [{"role": "user", "content": "Describe a kite as json."}]
        said = litellm.completion(messages=messages, response_format=Kite, **route)
        holds(Kite.model_validate_json(said.choices[0].message.content), said)

    each(run, ("gpt-sim", "lm-sonnet-4-6", "lm-opus-4-8"))


@check(30, "an image")
def image():
    def run(route):
        part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        content = [{"type": "text", "text": "what is this?"}, part]
        said = litellm.completion(messages=[{"role": "user", "content": content}], **route)
        holds("saw image/png 1x1" in said.choices[0].message.content, said)

    each(run, ("gpt-sim", "lm-sonnet-4-6"))


@check(31, "asynchronously")
async def asynchronous():
    for route in routes():
        route = {**route, "api_key": KEYS["bare"], "num_retries": 0}
        said = await litellm.acompletion(messages=NINE, **route)
        equal(len(said.choices[0].message.content.split()), 9, route["model"])
        text = ""
        async for piece in await litellm.acompletion(messages=NINE, stream=True, **route):
            text += piece.choices[0].delta.content or "" if piece.choices else ""
        equal(len(text.split()), 9, route["model"])


@check(32, "embeddings")
def embeddings():
    asked = {"model": "openai/embed-sim", "api_base": f"{GATEWAY}/v1", "api_key": KEYS["bare"]}
    found = litellm.embedding(input=["a red kite", "a lighthouse"], **asked)
    equal((len(found.data), found.usage.prompt_tokens), (2, 5))

    def numbers(vector):
        raw = vector if isinstance(vector, list) else base64.b64decode(vector)
        return raw if isinstance(raw, list) else [part for (part,) in struct.iter_unpack("<f", raw)]

    vector = numbers(found.data[0]["embedding"])
    equal(len(vector), 1536)
    holds(math.isclose(sum(part * part for part in vector), 1, abs_tol=1e-4), "of unit length")


if __name__ == "__main__":
    main(version("litellm"))
