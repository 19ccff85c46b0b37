"""Responses through the openai package: whole, streamed, tools, structured output, thinking, conversations."""

import json

import openai
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from checks import GATEWAY, KEYS, Bill, check, equal, holds, main, raises

MODELS = {"gpt-sim": "chat", "lm-sonnet-4-6": "messages"}
QUESTION = "[[words:9]] the keeper of the lighthouse — 灯台 🗼 — counts ships at dawn"
WEATHER = {
    "type": "function",
    "name": "weather",
    "description": "The weather somewhere.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 3}},
        "required": ["city", "days"],
        "additionalProperties": False,
    },
}
HARBOUR = {"type": "function", "name": "harbour", "parameters": {"type": "object", "properties": {}}}


class Ship(BaseModel):
    name: str
    masts: int


def make(kind=OpenAI, key="main"):
    return kind(api_key=KEYS.get(key, key), base_url=f"{GATEWAY}/v1", max_retries=0)


client = make()


@check(23, "create")
def create():
    for model, wire in MODELS.items():
        bill = Bill()
        response = client.responses.create(model=model, input=QUESTION, instructions="Be brief.", metadata={"a": "b"})
        equal((response.object, response.status, response.model), ("response", "completed", model))
        equal(response.metadata, {"a": "b"})
        equal(len(response.output_text.split()), 9, response.output_text)
        holds(response.completed_at >= response.created_at, response)
        equal(response.usage.output_tokens, 9)
        equal(response.usage.total_tokens, response.usage.input_tokens + response.usage.output_tokens)
        holds(response._request_id.startswith("req_"), response._request_id)
        bill.expect(wire)


@check(23, "stream")
def stream():
    for model, wire in MODELS.items():
        bill = Bill()
        whole = client.responses.create(model=model, input=QUESTION)
        events = list(client.responses.create(model=model, input=QUESTION, stream=True))
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        equal(text, whole.output_text, "the same words")
        equal([event.sequence_number for event in events], list(range(len(events))))
        equal((events[0].type, events[-1].type), ("response.created", "response.completed"))
        equal(events[-1].response.output_text, text)
        equal(events[-1].response.usage.output_tokens, whole.usage.output_tokens)
        with client.responses.stream(model=model, input=QUESTION) as helper:
            final = helper.get_final_response()
        equal(final.output_text, text)
        bill.expect(wire, 3)


@check(23, "tools, echoed and by the id of the response")
def tools():
    for model in MODELS:
        for streaming in (False, True):
            asked = {"model": model, "tools": [WEATHER, HARBOUR]}
            question = [{"role": "user", "content": "[[tools:2]] look"}]
            if streaming:
                with client.responses.stream(input=question, **asked) as helper:
                    first = helper.get_final_response()
            else:
                first = client.responses.create(input=question, **asked)
            called = [item for item in first.output if item.type == "function_call"]
            equal([call.name for call in called], ["weather", "harbour"])
            holds(1 <= json.loads(called[0].arguments)["days"] <= 3, called)
            outputs = [
                {"type": "function_call_output", "call_id": call.call_id, "output": "snow, then sun"} for call in called
            ]
            # As everybody does: with all that came.
            echoed = client.responses.create(input=[*question, *first.output, *outputs], **asked)
            holds("snow, then sun" in echoed.output_text, echoed.output_text)
            chained = client.responses.create(input=outputs, previous_response_id=first.id, **asked)
            holds("snow, then sun" in chained.output_text, chained.output_text)
            equal(chained.previous_response_id, first.id)


@check(23, "structured output")
def structured():
    for model in MODELS:
        parsed = client.responses.parse(model=model, input="a ship", text_format=Ship)
        holds(isinstance(parsed.output_parsed, Ship), parsed)


@check(23, "thinking through a tool loop")
def thinking():
    asked = {
        "model": "lm-opus-4-8",
        "tools": [WEATHER],
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    question = [{"role": "user", "content": "[[tool]] look"}]
    with client.responses.stream(input=question, **asked) as helper:
        first = helper.get_final_response()
    thought, call = first.output[0], first.output[-1]
    equal((thought.type, call.type), ("reasoning", "function_call"))
    holds(thought.encrypted_content and thought.summary[0].text, thought)
    bill = Bill()
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "snow"}
    second = client.responses.create(input=[*question, *first.output, output], **asked)
    holds("snow" in second.output_text, second)
    (request,) = bill.received("messages")
    blocks = request["body"]["messages"][1]["content"]
    said = ["text" for item in first.output if item.type == "message"]
    equal([block["type"] for block in blocks], ["thinking", *said, "tool_use"])
    equal(blocks[0]["thinking"], thought.summary[0].text)
    error = raises(openai.NotFoundError, client.responses.retrieve, first.id)
    equal(error.status_code, 404)


@check(23, "conversations")
def conversations():
    first = client.responses.create(model="gpt-sim", input="my name is Ada")
    second = client.responses.create(model="gpt-sim", input="who am I?", previous_response_id=first.id)
    equal(client.responses.retrieve(second.id).output_text, second.output_text)
    items = client.responses.input_items.list(second.id)
    equal([item.type for item in items.data], ["message"])
    error = raises(openai.BadRequestError, client.responses.cancel, second.id)
    equal((error.type, error.param), ("invalid_request_error", None))
    holds("Cannot cancel a synchronous response." in str(error), error)
    other = make(key="other")
    raises(openai.NotFoundError, other.responses.cancel, second.id)
    error = raises(
        openai.BadRequestError,
        other.responses.create,
        model="gpt-sim",
        input="x",
        previous_response_id=first.id,
    )
    equal((error.code, error.param), ("previous_response_not_found", "previous_response_id"))
    raises(openai.NotFoundError, other.responses.delete, first.id)
    client.responses.delete(first.id)
    raises(openai.NotFoundError, client.responses.retrieve, first.id)


@check(23, "log probabilities")
def logprobs():
    asked = {"input": QUESTION, "include": ["message.output_text.logprobs"], "top_logprobs": 2}
    whole = client.responses.create(model="gpt-sim", **asked)
    entries = whole.output[0].content[0].logprobs
    equal("".join(entry.token for entry in entries), whole.output_text)
    equal(({len(entry.top_logprobs) for entry in entries}, whole.top_logprobs), ({2}, 2))
    entries = [(entry.token, entry.logprob) for entry in entries]
    events = list(client.responses.create(model="gpt-sim", stream=True, **asked))
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    for event in deltas:
        equal("".join(entry.token for entry in event.logprobs), event.delta)
    equal([(entry.token, entry.logprob) for event in deltas for entry in event.logprobs], entries)
    with client.responses.stream(model="gpt-sim", **asked) as helper:
        final = helper.get_final_response().output[0].content[0]
    equal([(entry.token, entry.logprob) for entry in final.logprobs], entries)
    error = raises(openai.BadRequestError, client.responses.create, model="lm-sonnet-4-6", **asked)
    equal(error.param, "include[0]")


@check(23, "a stream once more")
def replayed():
    for model in MODELS:
        events = list(client.responses.create(model=model, input=QUESTION, stream=True))
        told = [event.to_dict() for event in events]
        name = events[0].response.id
        equal([event.to_dict() for event in client.responses.retrieve(name, stream=True)], told)
        rest = client.responses.retrieve(name, stream=True, starting_after=4)
        equal([event.to_dict() for event in rest], told[5:])
        with client.responses.stream(response_id=name, starting_after=4) as helper:
            equal([event.sequence_number for event in helper], list(range(5, len(told))))
            equal(helper.get_final_response().output_text, events[-1].response.output_text)
        raises(openai.NotFoundError, make(key="other").responses.retrieve, name, stream=True)
    whole = client.responses.create(model="gpt-sim", input=QUESTION)
    again = list(client.responses.retrieve(whole.id, stream=True))
    equal(again[-1].response.output_text, whole.output_text)
    error = raises(openai.BadRequestError, client.responses.retrieve, whole.id, stream=True, starting_after=1)
    equal(error.param, "starting_after")


@check(23, "errors")
def errors():
    error = raises(openai.BadRequestError, client.responses.create, model="gpt-sim", input="x", background=True)
    equal((error.param, error.type), ("background", "invalid_request_error"))
    error = raises(
        openai.BadRequestError, client.responses.create, model="gpt-sim", input="x", tools=[{"type": "file_search"}]
    )
    equal(error.param, "tools[0].type")
    raises(openai.AuthenticationError, make(key="sk-wrong").responses.create, model="gpt-sim", input="x")
    events = list(client.responses.create(model="gpt-sim", input="[[cut:3]] one two three four five", stream=True))
    equal(events[-1].type, "response.failed")
    equal((events[-1].response.status, events[-1].response.error.code), ("failed", "server_error"))


@check(23, "a limit, and a picture")
def limit():
    for model in MODELS:
        response = client.responses.create(model=model, input="[[words:40]] on and on", max_output_tokens=16)
        equal((response.status, response.incomplete_details.reason), ("incomplete", "max_output_tokens"))
        pixel = (
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        )
        content = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": pixel}]
        response = client.responses.create(model=model, input=[{"role": "user", "content": content}])
        holds(response.output_text, response)


@check(23, "asynchronously")
async def asynchronous():
    async with make(AsyncOpenAI) as api:
        whole = await api.responses.create(model="gpt-sim", input=QUESTION)
        text = ""
        async for event in await api.responses.create(model="gpt-sim", input=QUESTION, stream=True):
            text += event.delta if event.type == "response.output_text.delta" else ""
        equal(text, whole.output_text)


if __name__ == "__main__":
    main(openai.__version__)
