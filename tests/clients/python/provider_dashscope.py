"""Alibaba's DashScope SDK at the simulated DashScope: the videos of motion-2.6 and motion-2.7."""

from http import HTTPStatus

import dashscope
from dashscope import VideoSynthesis
from providers_common import ELSEWHERE, KEY, NOWHERE, SCENE, downloaded, expect_film, ok, sample

dashscope.api_key = KEY
dashscope.base_http_api_url = SCENE["dashscope"]["api"] + "/api/v1"


def created(model, prompt=None, **more):
    task = VideoSynthesis.async_call(model=model, prompt=prompt, **more)
    assert task.status_code == HTTPStatus.OK, task
    assert task.output.task_status == "PENDING", task
    return task


def made(model, prompt=None, **more):
    """A finished film: created, waited for, downloaded."""
    answer = VideoSynthesis.wait(created(model, prompt, **more))
    assert answer.output.task_status == "SUCCEEDED", answer
    expect_film(downloaded(answer.output.video_url))
    return answer


whole = VideoSynthesis.call(model="wan2.6-t2v", prompt="a kite", size="1280*720", duration=5, seed=7)
assert whole.output.task_status == "SUCCEEDED" and whole.usage.video_count == 1, whole
expect_film(downloaded(whole.output.video_url))
ok("motion-2.6 from a text, in one call")

made("wan2.6-t2v", "a kite", size="832*1088", duration=10, shot_type="multi", prompt_extend=True,
     negative_prompt="rain", audio_url=sample("5s.mp3"), watermark=False)
ok("motion-2.6 from a text, with all its fields")

made("wan2.6-i2v", "it flies", img_url=sample("800x600.png"), resolution="720P", audio=False)
made("wan2.6-i2v", img_url=sample("800x600.png"), template="flying", resolution="720P")
ok("motion-2.6 from an image")

made("wan2.7-t2v", "a kite", ratio="9:16", resolution="720P", duration=2)
ok("motion-2.7 from a text")

frames = [{"type": "first_frame", "url": sample("800x600.png")}, {"type": "last_frame", "url": ELSEWHERE}]
made("wan2.7-i2v", "it flies", media=frames, resolution="720P", duration=3)
ok("motion-2.7 between two images")

clip = [{"type": "first_clip", "url": sample("1280x720-4s.mp4")}]
longer = made("wan2.7-i2v", "it goes on", media=clip, resolution="720P", duration=10)
assert longer.usage["input_video_duration"] == 4, longer
ok("motion-2.7 that continues a film")

for model, more in [
    ("wan2.6-i2v", {"img_url": NOWHERE}),
    ("wan2.7-i2v", {"media": [{"type": "first_frame", "url": NOWHERE}]}),
]:
    lost = VideoSynthesis.wait(created(model, "it flies", resolution="720P", **more))
    assert (lost.output.task_status, lost.output.code) == ("FAILED", "InvalidParameter.DataInspection"), lost
    assert "download" in lost.output.message, lost
ok("an image that nobody can download")

waiting = created("wan2.6-t2v", "[[queued]] a kite", size="1280*720")
assert VideoSynthesis.fetch(waiting).output.task_status == "PENDING"
assert VideoSynthesis.cancel(waiting).status_code == HTTPStatus.OK
again = VideoSynthesis.cancel(waiting)
assert (again.status_code, again.code) == (400, "UnsupportedOperation"), again
assert VideoSynthesis.fetch(waiting).output.task_status == "CANCELED"
ok("a task is cancelled once")

listed = VideoSynthesis.list(status="CANCELED", model_name="wan2.6-t2v", page_size=5)
rows = listed.output["data"]
assert (listed.output["total"], [row["task_id"] for row in rows]) == (1, [waiting.output.task_id]), listed
pages = [VideoSynthesis.list(page_no=number, page_size=2).output for number in (1, 2)]
assert pages[0]["data"][0]["status"] == "CANCELED" and pages[0]["total_page"] > 2, pages
assert not {row["task_id"] for row in pages[0]["data"]} & {row["task_id"] for row in pages[1]["data"]}
day = VideoSynthesis.list(start_time="20200101000000", end_time="20200102000000").output
assert day["total"] == 0, day
ok("tasks are listed")

refused = VideoSynthesis.async_call(model="wan2.7-t2v", prompt="a kite", size="1280*720")
assert (refused.status_code, refused.code) == (400, "InvalidParameter"), refused
assert "size" in refused.message, refused
stranger = VideoSynthesis.async_call(model="wan2.6-t2v", prompt="a kite", api_key="sk-another")
assert (stranger.status_code, stranger.code) == (401, "InvalidApiKey"), stranger
ok("refusals")
