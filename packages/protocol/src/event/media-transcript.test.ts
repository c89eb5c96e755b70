import { expect, test } from "vitest";
import { asSeq } from "../seq.ts";
import type { EventDraft, KnownEvent } from "./event.ts";
import { MediaTranscript } from "./media-transcript.ts";

const call = (callId: string): EventDraft => ({
  type: "tool.call",
  call_id: callId,
  name: "look_up",
  arguments: "{}",
});
const answer = (callId: string): EventDraft => ({ type: "tool.result", call_id: callId, output: 1 });
const delta: EventDraft = { type: "output.delta", text: "a" };

test.each([
  ["text alone", [delta, delta, delta], 2, 2],
  ["an answered call", [delta, call("a"), answer("a"), delta], 4, 4],
  ["a call whose answer comes later", [delta, call("a"), answer("a"), delta], 2, 1],
  ["a call that waits", [delta, call("a")], 2, 1],
  ["a turn of which one call waits", [delta, call("a"), call("b"), answer("a")], 4, 1],
  ["an earlier turn before that", [call("a"), answer("a"), call("b"), call("c"), answer("c")], 5, 2],
])("no call stays without its answer after a rewind: %s", (_name, drafts, heard, to) => {
  const transcript = new MediaTranscript();
  for (const [i, draft] of drafts.entries()) transcript.apply({ ...draft, seq: asSeq(i + 1) } as KnownEvent);
  expect(transcript.answeredAt(asSeq(heard))).toBe(to);
});
