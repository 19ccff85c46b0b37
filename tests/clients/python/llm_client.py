"""`llm`, as its users have it: the program with a file that names the gateway's models, and the same in Python."""

import asyncio
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from importlib.metadata import version

from checks import GATEWAY, KEYS, PIXEL, check, equal, holds, main

MODELS = ("gpt-sim", "lm-sonnet-4-6", "lm-opus-4-8")
NINE = "[[words:9]] a kite over the lighthouse"
HOME = tempfile.TemporaryDirectory()
TABLE = "".join(
    f"- model_id: {model}\n  model_name: {model}\n  api_base: {GATEWAY}/v1\n  api_key_name: gateway\n  supports_tools: true\n"
    "  supports_schema: true\n  vision: true\n"
    for model in MODELS
)
pathlib.Path(HOME.name, "extra-openai-models.yaml").write_text(TABLE)
# What `llm keys set gateway` writes.
pathlib.Path(HOME.name, "keys.json").write_text(json.dumps({"gateway": KEYS["bare"]}))
os.environ["LLM_USER_PATH"] = HOME.name

import llm  # noqa: E402


def program(*arguments, model="gpt-sim"):
    command = [sys.executable, "-m", "llm", *arguments, "-m", model]
    return subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout


def weather(city: str) -> str:
    """The weather somewhere."""
    return f"rain in {city}"


def harbour(ship: str) -> str:
    """Where a ship lies."""
    return f"{ship} is at the pier"


def each(run, names=MODELS):
    for name in names:
        try:
            run(llm.get_model(name))
        except Exception as error:
            raise AssertionError(f"{name}: {error!r}") from error


@check(25, "the program, and prompt")
def plain():
    equal(len(program(NINE, "--no-stream").split()), 9)
    each(lambda model: equal(len(model.prompt(NINE, stream=False, system="Be brief.").text().split()), 9))


@check(26, "streamed")
def stream():
    equal(len(program(NINE).split()), 9)

    def run(model):
        pieces = list(model.prompt(NINE))
        holds(len(pieces) > 2, pieces)
        equal(len("".join(pieces).split()), 9)

    each(run)


@check(27, "a chain of tools")
def tool_loop():
    for streaming in (True, False):

        def run(model):
            chain = model.chain("what is the weather in Lisbon?", tools=[weather, harbour], stream=streaming)
            holds("rain in" in chain.text(), "the result")

        each(run)


@check(27, "a conversation")
def conversation():
    def run(model):
        talk = model.conversation(tools=[weather])
        holds("rain in" in talk.chain("what is the weather in Lisbon?").text(), "the result")
        equal(len(talk.chain(NINE).text().split()), 9)

    each(run)


@check(28, "parallel tools")
def parallel():
    def run(model):
        called = []
        chain = model.chain(
            "[[tools:2]] look", tools=[weather, harbour], after_call=lambda tool, *_: called.append(tool.name)
        )
        holds(chain.text(), "an answer")
        equal(called, ["weather", "harbour"])

    each(run)


@check(29, "a schema")
def structured():
    kite = json.loads(program("Describe a kite", "--schema", "name, masts int", "--no-stream"))
    holds(isinstance(kite["masts"], int), kite)
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    each(lambda model: holds("name" in json.loads(model.prompt("Describe a kite", schema=schema).text()), "a kite"))


@check(30, "an image")
def image():
    def run(model):
        picture = llm.Attachment(type="image/png", content=base64.b64decode(PIXEL))
        holds("saw image/png 1x1" in model.prompt("what is this?", attachments=[picture]).text(), "seen")

    each(run)


@check(31, "asynchronously")
async def asynchronous():
    said = await asyncio.gather(*(llm.get_async_model(name).prompt(NINE).text() for name in MODELS))
    equal([len(text.split()) for text in said], [9, 9, 9])


if __name__ == "__main__":
    main(version("llm"))
