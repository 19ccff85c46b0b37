"""What the scripts share that use a provider's own SDK: the addresses, samples, and downloads of results.

    <script>.py SCENE

SCENE is JSON: the addresses that `gatehouse sandbox` prints, and the providers' `key`. Every job that went well is a line,
`ok <job>`; the first that did not ends the script.
"""

import json
import sys
import urllib.request

SCENE = json.loads(sys.argv[1])
KEY = SCENE["key"]
# No socket of the simulation goes there, and nobody's does.
NOWHERE = "https://nohost.invalid/x.png"
ELSEWHERE = "https://example.com/x.png"


def sample(name):
    return f"{SCENE['context']['samples']}/samples/{name}"


def downloaded(link):
    with urllib.request.urlopen(link, timeout=60) as file:
        return file.read()


def expect_film(content):
    assert content[4:8] == b"ftyp" and len(content) > 1000, content[:80]


def expect_picture(content):
    assert content.startswith((b"\xff\xd8\xff", b"\x89PNG")) and len(content) > 1000, content[:80]


def ok(job):
    print("ok", job, flush=True)
