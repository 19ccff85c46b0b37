"""What the Python scripts share: checks by row, questions to the stage, and a spy on the wire.

A check is a function with the number of its row in the table of rows (see main.rs). The stage is the test that
started this script: a line that begins with "? " is a question to it, answered by one line of JSON.
"""

import asyncio
import importlib
import inspect
import json
import math
import os
import sys
import time
import traceback

SCENE = json.loads(os.environ["GATEHOUSE_SCENE"])
GATEWAY = SCENE["gateway"]
KEYS = SCENE["keys"]
CURRENT = SCENE["set"] == "current"
# The full form of the keep-alive row, a quarter of an hour long: pauses about as long as clients keep connections.
PAUSES = "GATEHOUSE_CLIENTS_PAUSES" in os.environ

# A picture of one pixel, base64 of a PNG.
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

_checks = []


def check(row, name):
    """Registers a check of that row."""

    def register(function):
        _checks.append((row, name, function))
        return function

    return register


def main(version):
    """Runs every check, or those whose row or name the arguments give; leaves with 1 if one failed."""
    print(f"sdk {version}")
    wanted = sys.argv[1:]
    failed = 0
    for row, name, function in _checks:
        if wanted and str(row) not in wanted and name not in wanted:
            continue
        try:
            result = function()
            if inspect.iscoroutine(result):
                asyncio.run(result)
        except Exception:
            failed += 1
            print(f"not ok {row} {name}\n{traceback.format_exc()}", flush=True)
        else:
            print(f"ok {row} {name}", flush=True)
    sys.exit(1 if failed else 0)


def ask(question, **more):
    """Asks the stage."""
    print("? " + json.dumps({"ask": question, **more}), flush=True)
    return json.loads(sys.stdin.readline())


def equal(found, expected, about=""):
    assert found == expected, f"{about}: expected {expected!r}, got {found!r}"


def holds(condition, about):
    assert condition, about


def raises(kind, function, *args, **more):
    """Expects exactly that class of error and gives it back."""
    try:
        result = function(*args, **more)
    except Exception as error:
        assert type(error) is kind, f"expected {kind.__name__}, got {type(error).__name__}: {error}"
        return error
    raise AssertionError(f"expected {kind.__name__}, got {result!r}")


def many(call):
    """Two hundred calls in a row; with the switch, every one after a pause of 4 to 6 seconds."""
    for number in range(200):
        if PAUSES:
            time.sleep(4 + number % 5 / 2)
        call()


class Bill:
    """What an account is charged between two moments, and what the providers counted meanwhile."""

    def __init__(self, account="main"):
        self.account = account
        self.before = ask("settled", name=account)["spent"]
        self.since = {wire: ask("record", wire=wire, since=10**9)["count"] for wire in ("messages", "chat")}

    def charged(self):
        """Micro-credits, once nothing is held any more."""
        after = ask("settled", name=self.account)
        equal(after["reserved"], 0, "still held")
        return after["spent"] - self.before

    def received(self, wire):
        """The provider's requests since then."""
        return ask("record", wire=wire, since=self.since[wire])["requests"]

    def expect(self, wire, usages=1):
        """So many answers were given, and exactly what they cost is charged."""
        charged = self.charged()
        requests = self.received(wire)
        used = [request["usage"] for request in requests if request["usage"]]
        equal(len(used), usages, f"answers the provider billed, of {[r['status'] for r in requests]}")
        equal(charged, sum(cost(usage) for usage in used), "charged")
        return requests


def cost(usage):
    """By the prices in scene.rs: 2 an input token, 1 cached, 3 written to a cache, 5 an output token."""
    written = usage["cache_write_5m"] + usage["cache_write_1h"]
    return 2 * usage["input"] + usage["cache_read"] + 3 * written + 5 * usage["output"]


def calls(surface, function, expected, either=()):
    """Expects the gateway to answer exactly so many requests, all with one of these statuses, while it runs."""
    before = ask("requests", surface=surface)
    function()
    found = ask("requests", surface=surface, above=before, until=expected)
    equal((sum(found.values()), set(found) - {str(status) for status in either}), (expected, set()), found)


def paid(mark, text, charged):
    """What arrived is paid as if it had been counted, and nothing is asked for nothing. A reset may overtake all."""
    holds(text or mark.startswith("reset"), f"[[{mark}]]: nothing arrived")
    least = 5 * math.ceil(len(text.encode()) / 4)
    most = least + 2 * 100 if text else 0
    holds(least <= charged <= most, f"[[{mark}]]: {charged} for {text!r}, expected {least} to {most}")


class Spy:
    """Watches an answer's bytes on their way to the SDK; at the first keep-alive it has the stage let go."""

    def __init__(self, ping):
        self.ping, self.seen, self.pings = ping, b"", 0

    def note(self, chunk):
        self.seen += chunk
        found = self.seen.count(self.ping)
        if found > self.pings:
            self.pings = found
            ask("release")

    def sync_hook(self, response):
        base = importlib.import_module(type(response).__module__.partition(".")[0]).SyncByteStream
        inner, note = response.stream, self.note

        class Watched(base):
            def __iter__(self):
                for chunk in inner:
                    note(chunk)
                    yield chunk

            def close(self):
                inner.close()

        response.stream = Watched()

    async def async_hook(self, response):
        base = importlib.import_module(type(response).__module__.partition(".")[0]).AsyncByteStream
        inner, note = response.stream, self.note

        class Watched(base):
            async def __aiter__(self):
                async for chunk in inner:
                    note(chunk)
                    yield chunk

            async def aclose(self):
                await inner.aclose()

        response.stream = Watched()
