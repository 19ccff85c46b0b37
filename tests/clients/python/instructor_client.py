"""instructor: structured answers through the official packages, in each of its modes."""

from importlib.metadata import version

import anthropic
import instructor
import openai
from instructor.processing.multimodal import Image
from pydantic import BaseModel

from checks import GATEWAY, KEYS, PIXEL, check, holds, main

OPENAI = {"base_url": f"{GATEWAY}/v1", "api_key": KEYS["bare"], "max_retries": 0}
ANTHROPIC = {"base_url": GATEWAY, "api_key": KEYS["bare"], "max_retries": 0}
KITE = [{"role": "user", "content": "Describe a kite as json."}]


class Sail(BaseModel):
    colour: str
    area: float


class Kite(BaseModel):
    """A kite."""

    name: str
    masts: int
    sails: list[Sail]


def openai_modes():
    for model in ("gpt-sim", "lm-sonnet-4-6"):
        for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA):
            yield model, mode


def each(run):
    for model, mode in openai_modes():
        client = instructor.from_openai(openai.OpenAI(**OPENAI), mode=mode)
        attempt(f"openai {model} {mode}", run, lambda **asked: client.create(model=model, max_retries=0, **asked))
    for model in ("gpt-sim", "lm-sonnet-4-6"):
        client = instructor.from_anthropic(anthropic.Anthropic(**ANTHROPIC), mode=instructor.Mode.ANTHROPIC_TOOLS)
        attempt(
            f"anthropic {model}",
            run,
            lambda **asked: client.create(model=model, max_retries=0, max_tokens=400, **asked),
        )


def attempt(name, run, create):
    try:
        run(create)
    except Exception as error:
        raise AssertionError(f"{name}: {error!r}") from error


@check(29, "create")
def create():
    def run(create):
        kite = create(response_model=Kite, messages=KITE)
        holds(isinstance(kite, Kite) and all(isinstance(sail, Sail) for sail in kite.sails), kite)

    each(run)


@check(26, "create_partial")
def partial():
    for model, mode in openai_modes():
        client = instructor.from_openai(openai.OpenAI(**OPENAI), mode=mode)
        pieces = list(client.create_partial(model=model, max_retries=0, response_model=Kite, messages=KITE))
        holds(len(pieces) > 1 and pieces[-1].name is not None, f"{model} {mode}: {pieces}")


@check(30, "an image")
def image():
    def run(create):
        picture = Image(source="picture", media_type="image/png", data=PIXEL)
        content = ["Describe it as json.", picture]
        holds(isinstance(create(response_model=Kite, messages=[{"role": "user", "content": content}]), Kite), "a kite")

    each(run)


@check(31, "asynchronously")
async def asynchronous():
    async with openai.AsyncOpenAI(**OPENAI) as api:
        client = instructor.from_openai(api)
        for model in ("gpt-sim", "lm-sonnet-4-6"):
            kite = await client.create(model=model, max_retries=0, response_model=Kite, messages=KITE)
            holds(isinstance(kite, Kite), kite)
    async with anthropic.AsyncAnthropic(**ANTHROPIC) as api:
        client = instructor.from_anthropic(api)
        kite = await client.create(model="gpt-sim", max_retries=0, max_tokens=400, response_model=Kite, messages=KITE)
        holds(isinstance(kite, Kite), kite)


if __name__ == "__main__":
    main(version("instructor"))
