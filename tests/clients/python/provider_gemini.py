"""Google's Gen AI SDK at the simulated Gemini API, in the last major version that makes videos there."""

import time
from urllib.parse import urlsplit

from google import genai
from google.genai import errors, types
from providers_common import KEY, SCENE, downloaded, expect_film, ok, sample

MODEL = "veo-3.1-generate-preview"
address = urlsplit(SCENE["veo"]["gemini"])
client = genai.Client(api_key=KEY, http_options={"base_url": f"{address.scheme}://{address.netloc}"})
image = types.Image(image_bytes=downloaded(sample("1280x720.png")), mime_type="image/png")


def made(config, **source):
    operation = client.models.generate_videos(
        model=MODEL, source=types.GenerateVideosSource(**source), config=types.GenerateVideosConfig(**config)
    )
    deadline = time.monotonic() + 60
    while not operation.done:
        assert time.monotonic() < deadline, operation
        operation = client.operations.get(operation)
    assert operation.error is None, operation
    return operation.response.generated_videos[0].video


def fetched(video):
    # The SDK finds the id of a file in addresses that begin with https://, as the real ones do.
    secure = types.Video(uri=video.uri.replace("http://", "https://"))
    expect_film(client.files.download(file=secure))


film = made({}, prompt="a kite")
fetched(film)
ok("a video from a text, downloaded")

fetched(made({"aspect_ratio": "9:16", "duration_seconds": 8, "resolution": "1080p", "negative_prompt": "rain",
              "person_generation": "allow_all"}, prompt="a kite"))
ok("a video with its fields")

fetched(made({}, prompt="it flies", image=image))
fetched(made({"last_frame": image}, prompt="it flies", image=image))
ok("a video from one image, and between two")

reference = types.VideoGenerationReferenceImage(image=image, reference_type="ASSET")
fetched(made({"reference_images": [reference]}, prompt="it flies"))
ok("a video with a reference image")

fetched(made({}, prompt="it goes on", video=types.Video(uri=film.uri)))
ok("a video is continued")

try:
    client.models.generate_videos(model=MODEL, source=types.GenerateVideosSource(prompt="[[429]] a kite"))
    raise AssertionError("accepted")
except errors.ClientError as error:
    assert (error.code, error.status) == (429, "RESOURCE_EXHAUSTED"), error
ok("refusals")
