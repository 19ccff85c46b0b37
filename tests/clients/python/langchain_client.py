"""LangChain: its OpenAI and Anthropic packages, each with models of either protocol."""

from importlib.metadata import version

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from checks import GATEWAY, KEYS, PIXEL, check, equal, holds, main

MODELS = ("gpt-sim", "gpt-sim-reasoning", "clone-sim", "lm-sonnet-4-6", "lm-opus-4-8")
NINE = "[[words:9]] a kite over the lighthouse"
SETTINGS = {"api_key": KEYS["bare"], "max_retries": 0}


class Kite(BaseModel):
    """A kite."""

    name: str
    masts: int


@tool
def weather(city: str, days: int = 1) -> str:
    """The weather somewhere."""
    return f"rain in {city}"


@tool
def harbour(ship: str) -> str:
    """Where a ship lies."""
    return f"{ship} is at the pier"


TOOLS = {"weather": weather, "harbour": harbour}


def clients(models=MODELS):
    for model in models:
        yield f"openai {model}", ChatOpenAI(model=model, base_url=f"{GATEWAY}/v1", **SETTINGS)
        yield f"anthropic {model}", ChatAnthropic(model=model, base_url=GATEWAY, max_tokens=400, **SETTINGS)
    for model in ("gpt-sim", "lm-sonnet-4-6"):
        yield f"responses {model}", ChatOpenAI(
            model=model, base_url=f"{GATEWAY}/v1", use_responses_api=True, **SETTINGS
        )


def each(run, models=MODELS):
    for name, client in clients(models):
        try:
            run(client)
        except Exception as error:
            raise AssertionError(f"{name}: {error}") from error


def answer(client, messages, tools):
    """Runs the tools that are called, until there is an answer."""
    for _ in range(4):
        said = client.invoke(messages)
        messages.append(said)
        if not said.tool_calls:
            return said
        for call in said.tool_calls:
            messages.append(ToolMessage(tools[call["name"]].invoke(call["args"]), tool_call_id=call["id"]))
    raise AssertionError("no end")


@check(25, "invoke")
def plain():
    def run(client):
        said = client.invoke([SystemMessage("Be brief."), HumanMessage(NINE)])
        equal(len(said.text.split()), 9, said)
        holds(said.usage_metadata["input_tokens"] > 0 and said.usage_metadata["output_tokens"] >= 9, said)

    each(run)


@check(26, "stream")
def stream():
    def run(client):
        pieces = list(client.stream(NINE))
        whole = pieces[0]
        for piece in pieces[1:]:
            whole += piece
        equal(len(whole.text.split()), 9, whole)
        holds(len(pieces) > 2, pieces)

    each(run)


@check(27, "a tool loop")
def tool_loop():
    def run(client):
        bound = client.bind_tools(list(TOOLS.values()))
        messages = [HumanMessage("what is the weather in Lisbon?")]
        said = answer(bound, messages, TOOLS)
        holds("rain in" in said.text, said)
        equal([type(message) for message in messages], [HumanMessage, AIMessage, ToolMessage, AIMessage])
        # The next turn sends all of it back.
        messages.append(HumanMessage(NINE))
        equal(len(bound.invoke(messages).text.split()), 9)

    each(run)


@check(28, "parallel tools")
def parallel():
    def run(client):
        messages = [HumanMessage("[[tools:2]] look")]
        said = answer(client.bind_tools(list(TOOLS.values())), messages, TOOLS)
        equal([call["name"] for call in messages[1].tool_calls], ["weather", "harbour"])
        holds(said.text, said)

    each(run)


@check(29, "with_structured_output")
def structured():
    def run(client):
        kite = client.with_structured_output(Kite, method="function_calling").invoke("Describe a kite.")
        holds(isinstance(kite, Kite), kite)

    # A forced tool and thinking exclude each other at this model.
    each(run, [model for model in MODELS if model != "lm-opus-4-8"])

    def by_schema(client):
        kite = client.with_structured_output(Kite, method="json_schema").invoke("Describe a kite.")
        holds(isinstance(kite, Kite), kite)

    each(by_schema, ["gpt-sim", "lm-sonnet-4-6", "lm-opus-4-8"])


@check(30, "an image")
def image():
    def run(client):
        content = [
            {"type": "text", "text": "what is this?"},
            {"type": "image", "base64": PIXEL, "mime_type": "image/png"},
        ]
        holds("saw image/png 1x1" in client.invoke([HumanMessage(content)]).text, "seen")

    each(run, ("gpt-sim", "lm-sonnet-4-6"))


@check(31, "asynchronously")
async def asynchronous():
    for name, client in clients():
        equal(len((await client.ainvoke(NINE)).text.split()), 9, name)
        text = "".join([piece.text async for piece in client.astream(NINE)])
        equal(len(text.split()), 9, name)


@check(32, "embeddings")
def embeddings():
    # Without the check it sends texts; with it, it would fetch the tables of tokens from elsewhere.
    client = OpenAIEmbeddings(
        model="embed-sim", base_url=f"{GATEWAY}/v1", check_embedding_ctx_length=False, **SETTINGS
    )
    vectors = client.embed_documents(["a red kite", "a lighthouse"])
    equal([len(vector) for vector in vectors], [1536, 1536])
    equal(client.embed_query("a red kite"), vectors[0])


if __name__ == "__main__":
    main(version("langchain-openai"))
