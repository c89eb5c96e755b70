import { createClient, type Generation, type Generations } from "@reprise/client";
import type { KnownEvent } from "@reprise/protocol";
import { type SeededRandom, withSeed } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Cluster, startCluster, textOf } from "./testing/cluster.ts";

const REQUEST = { model: "sim", input: "Tell me a story." };
const TOKENS = 30;
/** Tokens a second, and up to which event a cancel comes. As fast as it can, the simulator's tokens come a few to an event. */
const PACES = [[0, 4] as const, [500, TOKENS + 2] as const];
/** On any machine: a cancel with half a minute left wins, one that comes when all is over does not. */
const CERTAIN = [
  { tokens_per_second: 1, cancelAt: 1 },
  { tokens_per_second: 0, cancelAt: Number.POSITIVE_INFINITY },
];
const DRAWN = 8;

const endOf = (events: readonly KnownEvent[]) =>
  events.filter(({ type }) => /completed|failed|cancelled/.test(type)).map(({ type }) => type);

async function startNodes(cluster: Cluster): Promise<[Generations, Generations]> {
  const clients = await Promise.all(
    [1, 2].map(async () => {
      const { url } = await cluster.startDelivery();
      return createClient({ url, apiKey: cluster.keys["acme"]! }).generations;
    }),
  );
  return [clients[0]!, clients[1]!];
}

interface Round {
  readonly tokens_per_second: number;
  readonly cancelAt: number;
}

function drawRound(random: SeededRandom): Round {
  const [tokens_per_second, lastSeq] = random.pick(PACES);
  return { tokens_per_second, cancelAt: random.integer(1, lastSeq) };
}

/**
 * Follows a generation at one node, and cancels it at both when an event comes by: its first, its last or any between.
 * @returns what the two callers were told, and what the reader saw
 */
async function cancelMidway(
  [one, two]: [Generations, Generations],
  { tokens_per_second, cancelAt }: Round,
  seed: number,
) {
  const options = { tokens: TOKENS, tokens_per_second, seed };
  const reader = one.run({ ...REQUEST, options });
  const answers: Promise<Generation>[] = [];
  for await (const { seq } of reader) {
    if (seq === cancelAt) answers.push(one.cancel(reader.id!), two.cancel(reader.id!, { reason: "two" }));
  }
  answers.push(two.cancel(reader.id!));
  return { id: reader.id!, answers: await Promise.all(answers), seen: await reader.done() };
}

test("at any time and any node a cancel and the completion have one winner, which every reader is told", async () => {
  await using cluster = await startCluster();
  const [nodes] = await Promise.all([startNodes(cluster), cluster.startWorker()]);
  const winners = new Set<string>();
  await withSeed(7, async (random) => {
    const rounds = [...CERTAIN, ...Array.from({ length: DRAWN }, () => drawRound(random))];
    for (const round of rounds) {
      const { id, answers, seen } = await cancelMidway(nodes, round, random.integer(0, 999));
      const events = await cluster.untilLog("acme", id, (log) => endOf(log).length > 0);
      const ends = endOf(events);
      expect(ends).toEqual([`generation.${seen.status}`]);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => seen.status));
      expect(answers.map(({ text }) => text)).toEqual(answers.map(() => textOf(events)));
      expect(seen.text).toBe(textOf(events));
      winners.add(ends[0]!);
    }
  });
  expect([...winners].toSorted((a, b) => a.localeCompare(b))).toEqual([
    "generation.cancelled",
    "generation.completed",
  ]);
});
