import { createClient } from "@reprise/client";
import { conversationsOf } from "@reprise/client/conversations";
import { effectiveRequest, type KnownEvent, type RequestedEvent } from "@reprise/protocol";
import { expect, test } from "vitest";
import { startCluster, textOf } from "./testing/cluster.ts";

/* The first turn is what the fourth has no room for. */
const LONG = "word ".repeat(60_000);
const LONGEST = "word ".repeat(140_000);
const hasEnded = (events: readonly KnownEvent[]) =>
  events.some(({ type }) => /completed|failed|cancelled/.test(type));

test("turns that do not fit are summed up by a model, and the turn that waits for it and all later ones are given that", async () => {
  await using cluster = await startCluster({ ackWaitMs: 5_000 });
  const [one, two] = await Promise.all([cluster.startDelivery(), cluster.startDelivery()]);
  const worker = await cluster.startWorker();
  const apiKey = cluster.keys["acme"]!;
  const [client, other] = [one, two].map(({ url }) => createClient({ url, apiKey }));
  const requestedOf = async (id: string) =>
    JSON.parse((await cluster.readLog("acme", id))[0]!) as RequestedEvent;
  const endOf = (id: string) => cluster.untilLog("acme", id, hasEnded);

  const when_full = { policy: "summarize", model: "sim" } as const;
  const { id: conversation } = await conversationsOf(client!).create({ when_full });
  const ask = async (at: typeof client, input: string) =>
    (await at!.generations.create({ model: "sim", conversation, input, options: { tokens: 4 } })).id;
  for (let n = 1; n <= 3; n++) await endOf(await ask(client, n === 1 ? LONGEST : `${n} ${LONG}`));
  worker.kill("SIGKILL");
  const fourth = await ask(other, `4 ${LONG}`);
  const { context } = await requestedOf(fourth);
  expect(context).toMatchObject({ dropped_turns: 1, summary: { turns: 1 } });
  await cluster.startWorker();
  const asked = await endOf(fourth);
  const summary = await endOf(context!.summary!.generation);
  expect(summary.at(-1)?.type).toBe("generation.completed");
  expect(asked.at(-1)?.type).toBe("generation.completed");

  const fifth = await requestedOf(await ask(client, "5?"));
  const { input } = effectiveRequest(fifth);
  const messages = input as Exclude<typeof input, string>;
  expect(messages[1]).toEqual({ role: "assistant", content: textOf(summary) });
  expect(messages.slice(-3)).toEqual([
    { role: "user", content: `4 ${LONG}` },
    { role: "assistant", content: textOf(asked) },
    { role: "user", content: "5?" },
  ]);
  expect(fifth.context).not.toHaveProperty("dropped_turns");
  // What the fourth turn was given is what later ones are given of it, byte for byte.
  const direct = await client!.generations.create({ model: "sim", input: messages.slice(0, -2) });
  const inputOf = (events: readonly KnownEvent[]) =>
    events.findLast((event) => event.type === "generation.started")?.input_tokens;
  expect(inputOf(asked)).toBeGreaterThan(0);
  expect(inputOf(asked)).toBe(inputOf(await endOf(direct.id)));
});
