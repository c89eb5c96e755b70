import { readFileSync } from "node:fs";
import { createGenerationId, DEFAULT_POLICY, type RequestedEvent, Transcript } from "@reprise/protocol";
import { expect, test } from "vitest";
import { toGeneration } from "./to-generation.ts";

const DOCUMENT = readFileSync(new URL("../../../../PROTOCOL.md", import.meta.url), "utf8");
const id = createGenerationId(new Uint8Array(17), 1);

const requested: RequestedEvent = {
  seq: 0,
  type: "generation.requested",
  tenant: "acme",
  generation: id,
  created_at: "2026-11-21T02:00:00.000Z",
  request: { model: "sim", input: "Hi" },
  policy: DEFAULT_POLICY,
};

test("a generation has the fields that PROTOCOL.md shows, in the same order", () => {
  const [, example] = /^```json\n(\{\n  "id": "gen_[\s\S]*?)```$/m.exec(DOCUMENT)!;
  const documented = JSON.parse(example!) as object;
  expect(Object.keys(toGeneration(id, requested, new Transcript()))).toEqual(Object.keys(documented));
});

test("a generation shows the calls that wait, as its log has them, and none that do not", () => {
  const transcript = new Transcript();
  const call = { call_id: "a", name: "look_up", arguments: "{}" };
  transcript.apply({ seq: 1, type: "generation.started", attempt: 1, worker: "w", model: "sim" });
  transcript.apply({ seq: 2, type: "tool.call", ...call });
  expect(toGeneration(id, requested, transcript)).toMatchObject({
    status: "awaiting_tool",
    tool_calls: [call],
  });
  transcript.apply({ seq: 3, type: "tool.result", call_id: "a", output: 1 });
  expect(toGeneration(id, requested, transcript)).toMatchObject({ status: "in_progress", tool_calls: [] });
});
