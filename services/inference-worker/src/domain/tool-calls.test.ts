import { LIMITS, Transcript, asSeq } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ToolCallEvent } from "../engines/engine.ts";
import { toCallDrafts } from "./tool-calls.ts";

const call = (callId?: string): ToolCallEvent => ({
  type: "tool_call",
  callId,
  name: "look_up",
  arguments: '{"of":1}',
});

/** A log whose earlier turn has asked with these ids. */
function after(ids: readonly string[]): Transcript {
  const transcript = new Transcript();
  for (const [i, id] of ids.entries()) {
    transcript.apply({ seq: asSeq(i + 1), type: "tool.call", call_id: id, name: "look_up", arguments: "{}" });
  }
  return transcript;
}

const idsOf = (calls: readonly ToolCallEvent[], transcript: Transcript, isModerated = false) =>
  toCallDrafts(calls, transcript, { isModerated }).flatMap((draft) =>
    draft.type === "tool.call" ? [draft.call_id] : [],
  );

test("a call keeps what the upstream calls it, and what it says", () => {
  expect(toCallDrafts([call("call_abc")], after([]), { isModerated: false })).toEqual([
    { type: "tool.call", call_id: "call_abc", name: "look_up", arguments: '{"of":1}' },
  ]);
});

test("a call has what its model server asks to get back with it", () => {
  const providerState = { google: { thought_signature: "c2VhbGVk" } };
  expect(toCallDrafts([{ ...call("a"), providerState }], after([]), { isModerated: true })).toMatchObject([
    { provider_state: providerState },
  ]);
});

test("an upstream that counts from 0 in every turn gets other names for what it asks the second time", () => {
  expect(idsOf([call("0"), call("1")], after(["0"]))).toEqual(["c00001000", "1"]);
});

test("in a moderated generation no call has an upstream's name, which may be the model's text", () => {
  expect(idsOf([call("4111 1111 1111 1111"), call("1")], after(["0"]), true)).toEqual([
    "c00001000",
    "c00001001",
  ]);
});

test("gives each call an id of its own that can be answered, for any ids of the upstream", () => {
  // Names like ours among them: an upstream may be another Reprise.
  const name = fc.option(
    fc.oneof(
      fc.constantFrom("", "0", "1", "c00002000", "c00002001", "c00002002"),
      fc.string({ maxLength: 300 }),
    ),
    { nil: undefined },
  );
  const earlier = fc.constantFrom([], ["0"], ["c00002001", "0"], ["c00002002", "c00002000"]);
  fc.assert(
    fc.property(fc.array(name, { maxLength: 5 }), earlier, fc.boolean(), (names, before, isModerated) => {
      const ids = idsOf(names.map(call), after(before), isModerated);
      expect(new Set([...before, ...ids]).size).toBe(before.length + names.length);
      for (const id of ids) {
        expect(id.length).toBeGreaterThan(0);
        expect(id.length).toBeLessThanOrEqual(LIMITS.toolCallIdLength);
      }
    }),
    { seed: 3, numRuns: 1_000 },
  );
});
