"""Volcengine's SDKs at the simulated Ark: the films of clip-2.0 by the Ark runtime, and avatar assets by signed calls."""

import time

import volcenginesdkcore
from providers_common import ELSEWHERE, KEY, NOWHERE, SCENE, downloaded, expect_film, expect_picture, ok, sample
from volcenginesdkarkruntime import Ark
from volcenginesdkarkruntime._exceptions import ArkBadRequestError, ArkNotFoundError

MODEL = "doubao-seedance-2-0-260128"
client = Ark(base_url=SCENE["ark"]["data"], api_key=KEY)
tasks = client.content_generation.tasks


def text(words):
    return {"type": "text", "text": words}


def medium(kind, url, role):
    return {"type": kind, kind: {"url": url}, "role": role}


def ended(task_id):
    deadline = time.monotonic() + 60
    while (task := tasks.get(task_id=task_id)).status in ("queued", "running"):
        assert time.monotonic() < deadline, task
    return task


def made(*content, **more):
    task = ended(tasks.create(model=MODEL, content=list(content), **more).id)
    assert task.status == "succeeded", task
    expect_film(downloaded(task.content.video_url))
    return task


plain = made(text("a kite"))
assert plain.usage.completion_tokens > 0 and plain.seed is not None, plain
ok("clip-2.0 from a text")

full = made(text("a kite"), resolution="480p", ratio="1:1", duration=4, seed=7, generate_audio=False,
            return_last_frame=True, watermark=False, priority=1)
expect_picture(downloaded(full.content.last_frame_url))
assert (full.resolution, full.ratio, full.duration, full.seed) == ("480p", "1:1", 4, 7), full
ok("clip-2.0 with all its fields, and its last frame")

first = medium("image_url", sample("800x600.png"), "first_frame")
made(text("it flies"), first, medium("image_url", ELSEWHERE, "last_frame"))
ok("clip-2.0 between two images")

made(text("they fly"), medium("image_url", sample("800x600.png"), "reference_image"),
     medium("video_url", sample("1280x720-4s.mp4"), "reference_video"),
     medium("audio_url", sample("5s.mp3"), "reference_audio"))
ok("clip-2.0 with references")

for kind, role in [("image_url", "first_frame"), ("video_url", "reference_video")]:
    try:
        tasks.create(model=MODEL, content=[text("it flies"), medium(kind, NOWHERE, role)])
        raise AssertionError("accepted")
    except ArkBadRequestError as error:
        assert (error.code, error.param) == ("InvalidParameter", f"content[1].{kind}.url"), error
        assert "could not be downloaded" in error.message, error
ok("a file that nobody can download")

try:
    tasks.create(model=MODEL, content=[text("a kite")], camera_fixed=True)
    raise AssertionError("accepted")
except ArkBadRequestError as error:
    assert error.param == "camera_fixed", error
ok("a field of another model")

queued = tasks.create(model=MODEL, content=[text("[[always-queued]] a kite")]).id
listed = tasks.list(status="queued", task_ids=[queued, plain.id])
assert (listed.total, [task.id for task in listed.items]) == (1, [queued]), listed
assert tasks.list(page_size=2).total > 4
tasks.delete(queued)
assert tasks.get(task_id=queued).status == "cancelled"
tasks.delete(plain.id)
try:
    tasks.get(task_id=plain.id)
    raise AssertionError("still there")
except ArkNotFoundError:
    pass
ok("tasks are listed, cancelled and deleted")

configuration = volcenginesdkcore.Configuration()
configuration.ak, configuration.sk, configuration.region = f"AK{KEY}", KEY, "cn-beijing"
configuration.scheme, configuration.host = SCENE["ark"]["control"].split("://")
signed = volcenginesdkcore.UniversalApi(volcenginesdkcore.ApiClient(configuration))


def act(action, **body):
    info = volcenginesdkcore.UniversalInfo("POST", "ark", "2024-01-01", action, "application/json")
    return signed.do_call(info, body)


def reviewed(group, name, url):
    asset = act("CreateAsset", GroupId=group, Name=name, URL=url, AssetType="Image")["Id"]
    deadline = time.monotonic() + 60
    while (found := act("GetAsset", Id=asset))["Status"] == "Processing":
        assert time.monotonic() < deadline, found
    return found


group = act("CreateAssetGroup", Name="faces", GroupType="AIGC")["Id"]
assert act("GetAssetGroup", Id=group)["Name"] == "faces"
face = reviewed(group, "face", sample("800x600.png"))
assert face["Status"] == "Active", face
made(text("a face"), medium("image_url", f"asset://{face['Id']}", "reference_image"))
ok("an avatar asset, and a film of it")

lost = reviewed(group, "nobody", NOWHERE)
assert (lost["Status"], lost["Error"]["Code"]) == ("Failed", "InvalidParameter.DownloadFailed"), lost
ok("an asset that nobody can download")

assert act("ListAssetGroups", Filter={"GroupIds": [group]})["TotalCount"] == 1
assert act("ListAssets", Filter={"GroupIds": [group], "Statuses": ["Active"]})["Items"][0]["Id"] == face["Id"]
act("DeleteAsset", Id=face["Id"])
assert act("ListAssets", Filter={"GroupIds": [group]})["TotalCount"] == 1
ok("assets are listed and deleted")
