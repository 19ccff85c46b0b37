"""OpenAI's SDK against the gateway: images, videos and completions, in the shape that it knows.

    openai_media.py SCENE

SCENE is JSON: `base_url`, a `key` that asks for the bare shape, one (`wrapped`) that does not, and a `sample` by link. Every
job that went well is a line, `ok <job>`; the first that did not ends the script. Older versions know no videos.
"""

import base64
import json
import struct
import sys
import urllib.request

import openai

SCENE = json.loads(sys.argv[1])


def make(key="key", **more):
    return openai.OpenAI(base_url=SCENE["base_url"], api_key=SCENE[key], max_retries=0, timeout=120, **more)


client = make()


def ok(job):
    print("ok", job, flush=True)


def downloaded(link):
    with urllib.request.urlopen(link, timeout=60) as file:
        return file.read()


def size(picture):
    """Width and height of a PNG."""
    assert picture[:8] == b"\x89PNG\r\n\x1a\n", picture[:16]
    return struct.unpack(">II", picture[16:24])


def refused(kind, call):
    try:
        result = call()
    except openai.APIError as error:
        assert type(error) is kind, f"{type(error).__name__}: {error}"
        return error
    raise AssertionError(f"accepted: {result!r}")


made = client.images.generate(model="imagine-1.5-gw", prompt="a kite", n=2, size="1024x1024", quality="auto")
assert made.created > 1_700_000_000 and len(made.data) == 2, made
assert all(image.b64_json is None and len(downloaded(image.url)) > 1000 for image in made.data), made
ok("images by link")

wide = dict(model="ctx-pro", prompt="a kite", size="1536x1024", response_format="b64_json", output_format="png")
[image] = client.images.generate(**wide).data
kite = base64.b64decode(image.b64_json)
assert (size(kite), image.url) == ((1248, 832), None), size(kite)
ok("an image inside of the answer")

raw = make("wrapped", default_headers={"x-response-format": "bare"}).images.with_raw_response.generate(**wide)
assert raw.headers["x-gateway-task-id"].startswith("task_"), raw.headers
assert raw.parse().data[0].b64_json, "a picture"
ok("the header instead of the key")

[edited] = client.images.edit(model="imagine-1.5-gw", image=("kite.png", kite, "image/png"), prompt="at night").data
assert len(downloaded(edited.url)) > 1000, edited
both = [("kite.png", kite, "image/png"), ("other.png", kite, "image/png")]
merged = client.images.edit(model="ctx-pro", image=both, prompt="both", response_format="b64_json", n=1)
assert size(base64.b64decode(merged.data[0].b64_json)), merged
ok("an edit of one image, and of two")

for kind, param, call in [
    (openai.BadRequestError, "quality", lambda: client.images.generate(model="ctx-pro", prompt="a", quality="high")),
    (openai.BadRequestError, "size", lambda: client.images.generate(model="imagine-1.5-gw", prompt="a", size="1000x10")),
    (openai.BadRequestError, "n", lambda: client.images.generate(model="imagine-1.5-gw", prompt="a", n=11)),
    (openai.BadRequestError, "model", lambda: client.images.generate(model="gpt-image-none", prompt="a")),
    (openai.BadRequestError, "mask", lambda: client.images.edit(model="ctx-pro", image=kite, mask=kite, prompt="a")),
]:
    error = refused(kind, call)
    assert error.param == param and param in error.message, error
error = refused(openai.BadRequestError, lambda: client.images.generate(model="ctx-pro", prompt="[[moderated-output]] a"))
assert error.code == "content_policy_violation", error
ok("what cannot be made is told by its field")

chat = client.completions.create(model="over-chat", prompt="[[words:5]] once upon a time", max_tokens=64)
assert chat.object == "text_completion" and chat.id.startswith("cmpl-"), chat
assert chat.choices[0].text and chat.choices[0].finish_reason == "stop", chat
assert chat.usage.total_tokens == chat.usage.prompt_tokens + chat.usage.completion_tokens, chat
several = client.completions.create(model="over-messages", prompt=["one", "two"], max_tokens=64, echo=True)
assert [(choice.index, choice.text[:3]) for choice in several.choices] == [(0, "one"), (1, "two")], several
ok("completions of a prompt and of several")

asked = dict(model="over-chat", prompt=["[[words:5]] one", "[[words:5]] two"], max_tokens=64)
whole = client.completions.create(**asked)
options = {"include_usage": True}
pieces = list(client.completions.create(stream=True, stream_options=options, **asked))
for index in (0, 1):
    text = "".join(choice.text for piece in pieces for choice in piece.choices if choice.index == index)
    assert text == whole.choices[index].text, (index, text)
assert pieces[-1].usage.completion_tokens == whole.usage.completion_tokens, pieces[-1]
ok("a stream of several prompts")

for more in ({"logprobs": 1}, {"suffix": "the end"}, {"best_of": 3}):
    [name] = more
    error = refused(openai.BadRequestError, lambda: client.completions.create(model="over-chat", prompt="a", **more))
    assert error.param == name, error
refused(openai.NotFoundError, lambda: client.completions.create(model="none", prompt="a"))
ok("what completions are refused")

listed = {model.id: model for model in client.models.list()}
assert client.models.retrieve("over-chat").id == "over-chat" and "ctx-pro" in listed, listed
refused(openai.NotFoundError, lambda: client.models.retrieve("none"))
ok("models")

if hasattr(client, "videos"):
    video = client.videos.create(model="motion-2.6", prompt="waves", seconds="5", size="1280x720")
    assert (video.object, video.status) in [("video", "queued"), ("video", "in_progress"), ("video", "completed")], video
    done = client.videos.poll(video.id, poll_interval_ms=50)
    assert (done.id, done.status, done.progress, done.error) == (video.id, "completed", 100, None), done
    film = client.videos.download_content(video.id).read()
    assert film[4:8] == b"ftyp", film[:16]
    ok("a video from its text to its file")

    picture = ("first.png", downloaded(SCENE["sample"]), "image/png")
    asked = dict(model="scene-3.1-fast", prompt="waves", seconds="4", size="1280x720", input_reference=picture)
    done = client.videos.create_and_poll(poll_interval_ms=50, **asked)
    assert done.status == "completed", done
    ok("a video from a picture")

    ids = [video.id for video in client.videos.list(limit=1)]
    assert ids[:2] == [done.id, video.id], ids
    ok("videos page by page")

    error = refused(openai.BadRequestError, lambda: client.videos.create(model="motion-2.6", prompt="a", seconds="7"))
    assert error.param == "seconds" and error.message.startswith("seconds: expected 5, 10 or 15"), error.message
    refused(openai.NotFoundError, lambda: client.videos.retrieve("video_1"))
    refused(openai.BadRequestError, lambda: client.videos.download_content(video.id, variant="thumbnail"))
    ok("what videos are refused")
