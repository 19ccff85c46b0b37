"""The OpenAI Agents SDK: over responses, its default, and over chat completions."""

from importlib.metadata import version

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

from checks import GATEWAY, KEYS, PIXEL, check, equal, holds, main

MODELS = ("gpt-sim", "gpt-sim-reasoning", "lm-sonnet-4-6", "lm-opus-4-8")
NINE = "[[words:9]] a kite over the lighthouse"
# It would send what it did elsewhere.
set_tracing_disabled(True)


class Kite(BaseModel):
    name: str
    masts: int


@function_tool
def weather(city: str, days: int = 1) -> str:
    """The weather somewhere."""
    return f"rain in {city}"


@function_tool
def harbour(ship: str) -> str:
    """Where a ship lies."""
    return f"{ship} is at the pier"


async def each(run, names=MODELS):
    async with AsyncOpenAI(base_url=f"{GATEWAY}/v1", api_key=KEYS["bare"], max_retries=0) as api:
        for name in names:
            for kind in (OpenAIResponsesModel, OpenAIChatCompletionsModel):
                try:
                    await run(kind(model=name, openai_client=api))
                except Exception as error:
                    raise AssertionError(f"{kind.__name__} {name}: {error!r}") from error


def agent(model, **more):
    return Agent(name="keeper", instructions="Be brief.", model=model, **more)


def called(result):
    items = [item for item in result.new_items if item.type == "tool_call_item"]
    return [item.raw_item.name for item in items]


@check(25, "Runner.run")
async def plain():
    async def run(model):
        result = await Runner.run(agent(model), NINE)
        equal(len(result.final_output.split()), 9)
        usage = result.context_wrapper.usage
        holds(usage.input_tokens > 0 and usage.output_tokens >= 9, usage)

    await each(run)


@check(26, "Runner.run_streamed")
async def stream():
    async def run(model):
        result = Runner.run_streamed(agent(model), NINE)
        text = ""
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                text += event.data.delta
        equal(len(text.split()), 9, text)
        equal(result.final_output, text)

    await each(run)


@check(27, "a tool loop")
async def tool_loop():
    async def run(model):
        made = agent(model, tools=[weather, harbour])
        result = await Runner.run(made, "what is the weather in Lisbon?")
        equal(called(result), ["weather"])
        holds("rain in" in result.final_output, result.final_output)
        # The next turn sends all of it back.
        again = await Runner.run(made, [*result.to_input_list(), {"role": "user", "content": NINE}])
        equal(len(again.final_output.split()), 9)
        streamed = Runner.run_streamed(made, "what is the weather in Lisbon?")
        async for _ in streamed.stream_events():
            pass
        holds("rain in" in streamed.final_output, streamed.final_output)

    await each(run)


@check(27, "by the id of the response")
async def chained():
    async with AsyncOpenAI(base_url=f"{GATEWAY}/v1", api_key=KEYS["bare"], max_retries=0) as api:
        for name in MODELS:
            made = agent(OpenAIResponsesModel(model=name, openai_client=api), tools=[weather])
            first = await Runner.run(made, "my name is Ada")
            settings = {"previous_response_id": first.last_response_id}
            second = await Runner.run(made, "what is the weather in Lisbon?", **settings)
            holds("rain in" in second.final_output, f"{name}: {second.final_output}")


@check(27, "a handoff")
async def handoffs():
    async def run(model):
        other = Agent(name="pilot", instructions="Be brief.", model=model)
        result = await Runner.run(agent(model, handoffs=[handoff(other)]), "please transfer me to pilot")
        equal(result.last_agent.name, "pilot")

    await each(run)


@check(28, "parallel tools")
async def parallel():
    async def run(model):
        settings = ModelSettings(parallel_tool_calls=True)
        made = agent(model, tools=[weather, harbour], model_settings=settings)
        result = await Runner.run(made, "[[tools:2]] look")
        equal(called(result), ["weather", "harbour"])
        holds(result.final_output, result)

    await each(run)


@check(29, "output_type")
async def structured():
    async def run(model):
        result = await Runner.run(agent(model, output_type=Kite), "Describe a kite.")
        holds(isinstance(result.final_output, Kite), result.final_output)

    await each(run)


@check(30, "an image")
async def image():
    async def run(model):
        picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
        content = [{"type": "input_text", "text": "what is this?"}, picture]
        result = await Runner.run(agent(model), [{"role": "user", "content": content}])
        holds("saw image/png 1x1" in result.final_output, result.final_output)

    await each(run, ("gpt-sim", "lm-sonnet-4-6"))


@check(31, "Runner.run_sync")
def synchronous():
    # The other rows run asynchronously.
    api = AsyncOpenAI(base_url=f"{GATEWAY}/v1", api_key=KEYS["bare"], max_retries=0)
    made = agent(OpenAIResponsesModel(model="gpt-sim", openai_client=api))
    equal(len(Runner.run_sync(made, NINE).final_output.split()), 9)


if __name__ == "__main__":
    main(version("openai-agents"))
