import { listGenerations } from "@reprise/stream";
import { openJobs } from "@reprise/jobs";
import { type KnownEvent, parseTenantId, type RequestedEvent } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type Cluster, startCluster, textOf } from "./testing/cluster.ts";

const SHARDS = 2;
/** A turn that runs until its call is answered. */
const WAITING = {
  model: "sim",
  tools: [{ name: "look_up", parameters: { type: "object" } }],
  options: { tokens: 12, tokens_per_second: 0, tool_call_after_tokens: 6 },
};
const hasCalled = (events: readonly KnownEvent[]) => events.some(({ type }) => type === "tool.call");
const hasEnded = (events: readonly KnownEvent[]) =>
  events.some(({ type }) => /completed|failed|cancelled/.test(type));

interface Target {
  readonly url: string;
  readonly apiKey: string;
}

async function post({ url, apiKey }: Target, path: string, body: object) {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, json: (await response.json()) as { id: string; error?: object } };
}

async function get<T>({ url, apiKey }: Target, path: string): Promise<T> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${apiKey}` } });
  return (await response.json()) as T;
}

const requestedOf = (payloads: readonly string[]) => JSON.parse(payloads[0]!) as RequestedEvent;

/** Every generation that the broker has, with its seq 0. */
async function generationsOf(cluster: Cluster, tenant: string): Promise<[string, RequestedEvent][]> {
  const refs = await Array.fromAsync(listGenerations(cluster.broker.main, parseTenantId(tenant), SHARDS));
  return Promise.all(
    refs.map(async ({ generation }): Promise<[string, RequestedEvent]> => [
      generation,
      requestedOf(await cluster.readLog(tenant, generation)),
    ]),
  );
}

test("of two clients at two nodes that ask for the next turn at once, round by round, one gets it and the other is told that the conversation is busy", async () => {
  await using cluster = await startCluster();
  const [one, two] = await Promise.all([
    cluster.startDelivery(),
    cluster.startDelivery(),
    cluster.startWorker(),
  ]);
  const apiKey = cluster.keys["acme"]!;
  const nodes = [one, two].map(({ url }) => ({ url, apiKey }));
  const { json: opened } = await post(nodes[0]!, "/v1/conversations", {});
  const conversation = opened.id;
  const said: { id: string; input: string; text: string }[] = [];

  for (let round = 1; round <= 8; round++) {
    const inputs = nodes.map((_, i) => `round ${round}, client ${i}`);
    const answers = await Promise.all(
      nodes.map((node, i) =>
        post(node, "/v1/generations", { ...WAITING, conversation, input: inputs[i], seed: round }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
    const winner = answers.findIndex(({ status }) => status === 201);
    expect(answers[1 - winner]!.json.error).toMatchObject({ code: "conversation_busy", retryable: true });
    const { id } = answers[winner]!.json;

    // It runs for as long as its call waits, and both nodes say so.
    await cluster.untilLog("acme", id, hasCalled);
    for (const node of nodes)
      expect(
        await post(node, "/v1/generations", { ...WAITING, conversation, input: "too early" }),
      ).toMatchObject({
        status: 409,
        json: { error: { code: "conversation_busy" } },
      });
    const answered = await post(nodes[1 - winner]!, `/v1/generations/${id}/tool-results`, {
      call_id: "sim_call_6_0",
      output: round,
    });
    expect(answered.status).toBe(200);
    const events = await cluster.untilLog("acme", id, hasEnded);
    said.push({ id, input: inputs[winner]!, text: textOf(events) });
  }

  // Turns are dense, each after the one before, and nothing else was ever created, queued or said.
  const all = new Map(await generationsOf(cluster, "acme"));
  expect([...all.keys()].toSorted()).toEqual(said.map(({ id }) => id).toSorted());
  expect(said.map(({ id }) => all.get(id)!.context)).toEqual(
    said.map((_, i) => ({ conversation, turn: i + 1, ...(i > 0 && { parent: said[i - 1]!.id }) })),
  );
  const jobs = () => Array.fromAsync(openJobs.readAllJobs(cluster.broker.reads));
  await expect.poll(jobs).toEqual([]);
  expect(await get(nodes[0]!, `/v1/conversations/${conversation}`)).toMatchObject({
    turns: said.length,
    head: said.at(-1)!.id,
  });
  const { data } = await get<{ data: { role: string; content?: string; output?: number }[] }>(
    nodes[1]!,
    `/v1/conversations/${conversation}/items?limit=100`,
  );
  const texts = data.filter(({ role }) => role === "user").map(({ content }) => content);
  expect(texts).toEqual(said.map(({ input }) => input));
  expect(data.filter(({ role }) => role === "tool").map(({ output }) => output)).toEqual(
    said.map((_, i) => i + 1),
  );
  const spoken = data.filter(({ role }) => role === "assistant").map(({ content }) => content ?? "");
  expect(spoken.join("")).toBe(said.map(({ text }) => text).join(""));
});
