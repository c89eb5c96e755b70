import { createClient } from "@reprise/client";
import type { KnownEvent } from "@reprise/protocol";
import { expect, test } from "vitest";
import { startCluster, textOf } from "./testing/cluster.ts";

const QUEUED = 16;
const hasEnded = (events: readonly KnownEvent[]) =>
  events.some(({ type }) => /completed|failed|cancelled/.test(type));
const startsOf = (events: readonly KnownEvent[]) =>
  events.flatMap((event) => (event.type === "generation.started" ? [event] : []));

test("the worker of a turn and of the 16 behind it is killed: another one runs them all, in order, each with its whole prompt", async () => {
  await using cluster = await startCluster();
  const [{ url }, { url: second }] = await Promise.all([cluster.startDelivery(), cluster.startDelivery()]);
  const victim = await cluster.startWorker();
  const headers = { authorization: `Bearer ${cluster.keys["acme"]!}`, "content-type": "application/json" };
  const post = async (at: string, path: string, body: object) => {
    const response = await fetch(`${at}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const json = (await response.json()) as { id: string };
    expect(response.status, JSON.stringify(json)).toBe(201);
    return json.id;
  };
  const conversation = await post(url, "/v1/conversations", { on_busy: "queue" });
  const ask = (at: string, n: number, options: object) =>
    post(at, "/v1/generations", { model: "sim", conversation, input: `Turn ${n}?`, options });
  const slow = { tokens: 200, tokens_per_second: 50, seed: 3 };
  const ids = [await ask(url, 0, slow)];
  await cluster.untilLog("acme", ids[0]!, (events) => textOf(events).length > 0);
  for (let n = 1; n <= QUEUED; n++)
    ids.push(await ask(n % 2 === 0 ? url : second, n, { tokens: 4, tokens_per_second: 0, seed: n }));
  victim.kill("SIGKILL");
  const heir = await cluster.startWorker();

  const client = createClient({ url, apiKey: cluster.keys["acme"]! });
  const history: { role: "user" | "assistant"; content: string }[] = [];
  for (const [n, id] of ids.entries()) {
    const events = await cluster.untilLog("acme", id, hasEnded);
    expect(events.at(-1)?.type).toBe("generation.completed");
    const started = startsOf(events).at(-1)!;
    expect(started.worker).toBe(heir.id);
    history.push({ role: "user", content: `Turn ${n}?` });
    const whole = await client.generations.create({
      model: "sim",
      input: [...history],
      options: { tokens: 1 },
    });
    const direct = await cluster.untilLog("acme", whole.id, hasEnded);
    expect(started.input_tokens).toBe(startsOf(direct).at(-1)!.input_tokens);
    history.push({ role: "assistant", content: textOf(events) });
  }
  const response = await fetch(`${url}/v1/conversations/${conversation}/items?limit=100`, { headers });
  const { data } = (await response.json()) as { data: { role: string; content: string }[] };
  expect(data.map(({ role, content }) => ({ role, content }))).toEqual(history);
});
