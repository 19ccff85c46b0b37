"""Google's Gen AI SDK at the simulated Vertex AI: the videos of scene-3.1, with a service account of the simulation."""

import json
import time
from urllib.parse import quote, urlsplit

from google import genai
from google.auth.transport.requests import AuthorizedSession
from google.genai import errors, types
from google.oauth2 import service_account
from providers_common import SCENE, downloaded, expect_film, ok, sample

VEO = SCENE["veo"]
MODEL = "veo-3.1-generate-001"
# As an operator downloads it, but for the token endpoint.
key_file = {**json.loads(SCENE["key_file"]), "token_uri": VEO["token"]}
credentials = service_account.Credentials.from_service_account_info(
    key_file, scopes=["https://www.googleapis.com/auth/cloud-platform"]
)
address = urlsplit(VEO["vertex"])
client = genai.Client(
    vertexai=True, project="sandbox", location="us-central1", credentials=credentials,
    http_options={"base_url": f"{address.scheme}://{address.netloc}"},
)
image = types.Image(image_bytes=downloaded(sample("1280x720.png")), mime_type="image/png")


def begun(config, **source):
    return client.models.generate_videos(
        model=MODEL, source=types.GenerateVideosSource(**source), config=types.GenerateVideosConfig(**config)
    )


def made(config, **source):
    operation, deadline = begun(config, **source), time.monotonic() + 60
    while not operation.done:
        assert time.monotonic() < deadline, operation
        operation = client.operations.get(operation)
    assert operation.error is None, operation
    return operation.response


def films(answer):
    for video in answer.generated_videos:
        expect_film(video.video.video_bytes)
    return len(answer.generated_videos)


assert films(made({}, prompt="a kite")) == 1
ok("scene-3.1 from a text")

everything = {
    "number_of_videos": 2, "duration_seconds": 4, "seed": 7, "aspect_ratio": "9:16", "resolution": "720p",
    "person_generation": "allow_adult", "negative_prompt": "rain", "enhance_prompt": True, "generate_audio": False,
    "compression_quality": "OPTIMIZED",
}
assert films(made(everything, prompt="a kite")) == 2
ok("scene-3.1 with all its fields")

assert films(made({"resize_mode": "CROP"}, prompt="it flies", image=image)) == 1
assert films(made({"last_frame": image}, prompt="it flies", image=image)) == 1
ok("scene-3.1 from one image, and between two")

reference = types.VideoGenerationReferenceImage(image=image, reference_type="ASSET")
assert films(made({"reference_images": [reference] * 3}, prompt="they fly")) == 1
ok("scene-3.1 with reference images")

stored = made({"output_gcs_uri": "gs://films/kites/"}, prompt="a kite").generated_videos[0].video
bucket, name = stored.uri.removeprefix("gs://").split("/", 1)
link = f"{VEO['storage']}/storage/v1/b/{bucket}/o/{quote(name, safe='')}?alt=media"
file = AuthorizedSession(credentials).get(link)
assert file.status_code == 200, file.text
expect_film(file.content)
ok("a film in a bucket is downloaded")

kept = types.Video(uri=stored.uri, mime_type="video/mp4")
inline = types.Video(video_bytes=file.content, mime_type="video/mp4")
assert films(made({}, prompt="it goes on", video=kept)) == films(made({}, prompt="it goes on", video=inline)) == 1
ok("a film is continued, by its address and by its bytes")

filtered = made({"number_of_videos": 2}, prompt="[[filtered-some:1]] a kite")
assert films(filtered) == filtered.rai_media_filtered_count == 1, filtered
ok("a film that the filters took")

for source in (
    {"image": types.Image(gcs_uri="gs://nobody/x.png", mime_type="image/png")},
    {"video": types.Video(uri="gs://nobody/x.mp4", mime_type="video/mp4")},
):
    try:
        begun({}, prompt="it flies", **source)
        raise AssertionError("accepted")
    except errors.ClientError as error:
        assert (error.code, error.status) == (400, "INVALID_ARGUMENT") and "cannot be read" in error.message, error
ok("a file that is in no bucket")

try:
    begun({"duration_seconds": 5}, prompt="a kite")
    raise AssertionError("accepted")
except errors.ClientError as error:
    assert error.code == 400 and "durationSeconds" in error.message, error
ok("refusals")
