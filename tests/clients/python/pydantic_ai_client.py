"""pydantic-ai: its models of OpenAI's two endpoints and of Anthropic's, each with models of either protocol."""

import base64
from importlib.metadata import version

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, Embedder, NativeOutput, ToolOutput
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from checks import GATEWAY, KEYS, PIXEL, check, equal, holds, main

MODELS = ("gpt-sim", "clone-agent", "lm-sonnet-4-6", "lm-opus-4-8")
NINE = "[[words:9]] a kite over the lighthouse"


class Kite(BaseModel):
    """A kite."""

    name: str
    masts: int


async def each(run, names=MODELS, forms=("openai", "anthropic", "responses")):
    """Clients of its own for every check: each check runs in an event loop of its own."""
    openai = AsyncOpenAI(base_url=f"{GATEWAY}/v1", api_key=KEYS["bare"], max_retries=0)
    anthropic = AsyncAnthropic(base_url=GATEWAY, api_key=KEYS["bare"], max_retries=0)
    kinds = {
        "openai": lambda name: OpenAIChatModel(name, provider=OpenAIProvider(openai_client=openai)),
        "anthropic": lambda name: AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic)),
        "responses": lambda name: OpenAIResponsesModel(name, provider=OpenAIProvider(openai_client=openai)),
    }
    async with openai, anthropic:
        for name in names:
            for form in forms:
                try:
                    await run(kinds[form](name))
                except Exception as error:
                    raise AssertionError(f"{form} {name}: {error!r}") from error


def agent(model, **more):
    made = Agent(model, instructions="Be brief.", **more)

    @made.tool_plain
    def weather(city: str, days: int = 1) -> str:
        """The weather somewhere."""
        return f"rain in {city}"

    @made.tool_plain
    def harbour(ship: str) -> str:
        """Where a ship lies."""
        return f"{ship} is at the pier"

    return made


def called(result):
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part.tool_name for part in parts if part.part_kind == "tool-call"]


@check(25, "run")
async def plain():
    async def run(model):
        result = await Agent(model, instructions="Be brief.").run(NINE)
        equal(len(result.output.split()), 9, result)
        holds(result.usage.input_tokens > 0 and result.usage.output_tokens >= 9, result.usage)

    await each(run)


@check(26, "run_stream")
async def stream():
    async def run(model):
        async with Agent(model).run_stream(NINE) as result:
            pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        equal(len("".join(pieces).split()), 9, pieces)
        holds(len(pieces) > 2, pieces)

    await each(run)


@check(27, "a tool loop")
async def tool_loop():
    async def run(model):
        made = agent(model)
        result = await made.run("what is the weather in Lisbon?")
        equal(called(result), ["weather"])
        holds("rain in" in result.output, result.output)
        again = await made.run(NINE, message_history=result.all_messages())
        equal(len(again.output.split()), 9)
        # `run_stream` ends with the first text, also where a call comes with it; this way it goes on.
        pieces = []

        async def handler(_, events):
            pieces.extend([event async for event in events])

        streamed = await made.run("what is the weather in Lisbon?", event_stream_handler=handler)
        holds("rain in" in streamed.output and len(pieces) > 4, streamed.output)

    await each(run)


@check(28, "parallel tools")
async def parallel():
    async def run(model):
        result = await agent(model).run("[[tools:2]] look")
        equal(called(result), ["weather", "harbour"])
        holds(result.output, result)

    await each(run)


@check(29, "output types")
async def structured():
    for form in (ToolOutput, NativeOutput):

        async def run(model):
            result = await Agent(model, output_type=form(Kite)).run("Describe a kite as json.")
            holds(isinstance(result.output, Kite), result)

        # By their names it knows which models of Anthropic's have native output, and none of these is known to it.
        wires = ("openai", "responses") if form is NativeOutput else ("openai", "anthropic", "responses")
        await each(run, ("gpt-sim", "lm-sonnet-4-6", "lm-opus-4-8"), wires)


@check(30, "an image")
async def image():
    async def run(model):
        picture = BinaryContent(base64.b64decode(PIXEL), media_type="image/png")
        result = await Agent(model).run(["what is this?", picture])
        holds("saw image/png 1x1" in result.output, result.output)

    await each(run, ("gpt-sim", "lm-sonnet-4-6"))


@check(31, "run_sync")
def synchronous():
    # The other rows run asynchronously.
    provider = OpenAIProvider(base_url=f"{GATEWAY}/v1", api_key=KEYS["bare"])
    equal(len(Agent(OpenAIChatModel("gpt-sim", provider=provider)).run_sync(NINE).output.split()), 9)


@check(32, "embeddings")
async def embeddings():
    provider = OpenAIProvider(base_url=f"{GATEWAY}/v1", api_key=KEYS["bare"])
    result = await Embedder(OpenAIEmbeddingModel("embed-sim", provider=provider)).embed_documents(
        ["a red kite", "a lighthouse"]
    )
    equal([len(vector) for vector in result.embeddings], [1536, 1536])
    equal(result.usage.input_tokens, 5)


if __name__ == "__main__":
    main(version("pydantic-ai-slim"))
