import { createClient, type ToolContext } from "@reprise/client";
import type { KnownEvent } from "@reprise/protocol";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

const TOOLS = [{ name: "look_up", parameters: { type: "object" } }, { name: "add" }];
const OPTIONS = { tokens: 40, tokens_per_second: 200, seed: 3 };
const REQUEST = {
  model: "sim",
  input: "What is a log?",
  tools: TOOLS,
  options: { ...OPTIONS, tool_call_after_tokens: 20, tool_calls: 3 },
};

const hasEnded = (events: readonly KnownEvent[]) => events.some(({ type }) => /completed|failed/.test(type));

test("an app's functions answer each call once, though two streams at two nodes offer to, and the model continues", async () => {
  await using cluster = await startCluster();
  const [one, two] = await Promise.all([
    cluster.startDelivery(),
    cluster.startDelivery(),
    cluster.startWorker(),
  ]);
  const apiKey = cluster.keys["acme"]!;
  const nodes = [one, two].map(({ url }) => createClient({ url, apiKey }).generations);
  const tools = (who: string) => {
    const answer = (_args: unknown, { callId }: ToolContext) => ({ who, callId });
    return { look_up: answer, add: answer };
  };
  const { id } = await nodes[0]!.create(REQUEST);
  const outcomes = await Promise.all(
    nodes.map((generations, i) => generations.stream(id, { tools: tools(`app ${i}`) }).done()),
  );
  const plain = await nodes[0]!.run({ ...REQUEST, options: OPTIONS }).done();
  expect(outcomes.map(({ status, text }) => [status, text])).toEqual(
    outcomes.map(() => ["completed", plain.text]),
  );
  const events = await cluster.untilLog("acme", id, hasEnded);
  const results = events.flatMap((event) => (event.type === "tool.result" ? [event] : []));
  expect(results.map(({ call_id }) => call_id).toSorted()).toEqual(
    events.flatMap((event) => (event.type === "tool.call" ? [event.call_id] : [])).toSorted(),
  );
});
