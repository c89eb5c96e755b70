"""Writes its standard input to a generation, as a producer of Reprise does (docs/protocol/producers.md).

    my-model | python3 producer.py http://127.0.0.1:8080 "Say hello."
    my-model | python3 producer.py http://127.0.0.1:8080 --continue gen_0_4q

The key is in REPRISE_API_KEY. With --continue it takes over from a producer that was lost, and leaves out as much of the text as that has stored.
"""

import codecs
import json
import os
import queue
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

MAX_TEXT = 4_000  # characters: an event has 16,384 bytes of text at most


class Refused(Exception):
    pass


def call(url, path, body, headers=()):
    """Makes a call, again after a broken connection or an error that is retryable: no call of a producer counts twice."""
    data = json.dumps(body).encode()
    head = {"authorization": f"Bearer {os.environ['REPRISE_API_KEY']}", "content-type": "application/json", **dict(headers)}
    for tries in range(60):
        try:
            with urllib.request.urlopen(urllib.request.Request(url + path, data, head), timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            try:
                problem = json.load(error)["error"]
                reason, retryable = f"{problem['code']}: {problem['message']}", problem["retryable"]
            except (ValueError, KeyError, TypeError):  # a proxy's own answer
                reason, retryable = str(error), error.code >= 500 or error.code in (408, 425, 429)
            if not retryable:
                raise Refused(reason) from error
            after = error.headers.get("retry-after", "")
            pause = int(after) if after.isdigit() else 0
        except (urllib.error.URLError, OSError):
            pause = 0
        time.sleep(max(pause, min(8, 0.25 * 2**tries)))
    raise Refused("the platform can't be reached")


class Producer:
    def __init__(self, url, generation, grant):
        self.url, self.path = url, f"/v1/generations/{generation}/output"
        self.grant, self.next, self.text_length = grant, grant["next"], grant["text_length"]

    def append(self, *entries):
        """Appends events; none says that this process lives."""
        body = {"epoch": self.grant["epoch"], "nonce": self.grant["nonce"], "first": self.next, "entries": entries}
        answer = call(self.url, self.path, body)
        stored, self.next = answer["stored"] + 1 - self.next, answer["stored"] + 1
        if stored < len(entries) or (not entries and "ended" in answer):
            raise Refused(f"the generation is {answer['ended']}")


def create(url, prompt):
    key = {"idempotency-key": uuid.uuid4().hex}
    created = call(url, "/v1/generations", {"model": "external", "input": prompt}, key)
    # Without a producer it was created by a try whose answer was lost.
    return created["id"], created.get("producer") or claim(url, created["id"])


def claim(url, generation):
    return call(url, f"/v1/generations/{generation}/producer", {})


def read_into(pieces):
    while piece := os.read(0, 65_536):
        pieces.put(piece)
    pieces.put(b"")


def main(url, *asked):
    continues = asked[0] == "--continue"
    generation, grant = (asked[1], claim(url, asked[1])) if continues else create(url, asked[0])
    producer = Producer(url, generation, grant)
    print(generation, flush=True)
    pieces = queue.Queue()
    threading.Thread(target=read_into, args=(pieces,), daemon=True).start()
    # Lengths are in UTF-16 code units, and a piece may end within a character.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    skip, ended = producer.text_length * 2, False
    while not ended:
        try:
            piece = pieces.get(timeout=grant["silence_ms"] / 3_000)
        except queue.Empty:
            producer.append()
            continue
        ended = piece == b""
        units = decoder.decode(piece, final=ended).encode("utf-16-le")
        text, skip = units[skip:].decode("utf-16-le"), max(0, skip - len(units))
        for at in range(0, len(text), MAX_TEXT):
            producer.append({"type": "output.delta", "text": text[at : at + MAX_TEXT]})
    producer.append({"type": "generation.completed"})


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Refused as refused:
        sys.exit(str(refused))
