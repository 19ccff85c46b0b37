"""OpenAI's SDK at the simulated xAI, whose image API it speaks: the images of imagine-1.5-gw."""

import base64

import openai
from providers_common import ELSEWHERE, KEY, NOWHERE, SCENE, downloaded, expect_picture, ok, sample

client = openai.OpenAI(base_url=SCENE["imagine"]["api"] + "/v1", api_key=KEY, max_retries=0)


def refusal(call):
    """Status and words. The provider's errors are flat, and OpenAI's SDK does not read words there."""
    try:
        call()
    except openai.APIStatusError as error:
        return error.status_code, error.response.text
    raise AssertionError("accepted")


def edited(**more):
    """xAI's edits are JSON, for which OpenAI's SDK has no method of its own."""
    body = {"prompt": "in red", "model": "grok-imagine-image", **more}
    return client.post("/images/edits", body=body, cast_to=openai.types.ImagesResponse)


for model in ("grok-imagine-image", "grok-imagine-image-quality", "grok-imagine-image-2.0"):
    [image] = client.images.generate(model=model, prompt="a kite").data
    expect_picture(downloaded(image.url))
ok("an image of each model, by link")

images = client.images.generate(
    model="grok-imagine-image", prompt="a kite", n=3, response_format="b64_json", user="someone",
    extra_body={"aspect_ratio": "16:9", "resolution": "2k"},
)
assert len(images.data) == 3, images
for image in images.data:
    expect_picture(base64.b64decode(image.b64_json))
ok("several images as base64, with a ratio and a resolution")

client.images.generate(model="grok-imagine-image-2.0", prompt="a kite", quality="medium", extra_body={"aspect_ratio": "21:9"})
status, words = refusal(lambda: client.images.generate(model="grok-imagine-image", prompt="a kite", quality="medium"))
assert status == 400 and "quality" in words, words
ok("the quality of the newest model")

inside = "data:image/png;base64," + base64.b64encode(downloaded(sample("640x480.png"))).decode()
for reference in ({"image": {"url": inside, "type": "image_url"}}, {"images": [{"url": ELSEWHERE}, {"url": inside}]}):
    [image] = edited(**reference).data
    expect_picture(downloaded(image.url))
ok("an image from one reference, and from two")

status, words = refusal(lambda: edited(image={"url": NOWHERE}))
assert status == 400 and "Failed to download image" in words, words
ok("a reference that nobody can download")

for expected, word, call in [
    (415, "application/json", lambda: client.images.edit(model="grok-imagine-image", prompt="in red", image=b"png")),
    (404, "grok-none", lambda: client.images.generate(model="grok-none", prompt="a kite")),
    (400, "size", lambda: client.images.generate(model="grok-imagine-image", prompt="a kite", size="1024x1024")),
    (400, "moderation", lambda: client.images.generate(model="grok-imagine-image", prompt="[[moderated]] a kite")),
]:
    status, words = refusal(call)
    assert status == expected and word in words, words
ok("refusals")
