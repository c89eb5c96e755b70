import { setTimeout as delay } from "node:timers/promises";
import { readStreamInfo } from "@reprise/log";
import type { Broker } from "@reprise/log";
import { generationsStream } from "@reprise/protocol";
import type { Child } from "../../children/child.ts";
import type { ChurnMeasured, ChurnOrder } from "../../load/churn-client.ts";
import type { LoadClient } from "../../load/load-client.ts";
import { nowMicros } from "../../measure/clock.ts";
import { readUsage, type UsageByRole } from "../../measure/process-usage.ts";
import { SHARDS } from "../../targets/reprise/broker.ts";
import type { WholePlatform } from "../../targets/reprise/whole-platform.ts";
import type { Drivers, Phase } from "./fit-costs.ts";
import { cancelGenerations, createGenerations } from "./generations.ts";

export interface PhaseWorld {
  readonly platform: WholePlatform;
  readonly broker: Broker;
  readonly load: LoadClient;
  readonly churnClient: Child;
  readonly signal: AbortSignal;
}

export interface StreamLoad {
  readonly name: string;
  readonly generations: number;
  readonly tokensPerSecond: number;
  readonly readers: number;
}

/** Live bytes of each service after garbage collection. */
export type HeapByRole = Readonly<Record<string, number>>;

export interface StreamPhase extends Phase {
  readonly rssBytes: Readonly<Record<string, number>>;
  /** For each of these generations, live in the heap of each service. */
  readonly heapPerGeneration: HeapByRole;
  /** For each of these generations, resident, of processes that have no such heap: nats-server, Redis. */
  readonly rssPerGeneration: HeapByRole;
}

export const WARM_UP_MS = 3_000;
const AT_ONCE = 64;
const ATTACHED_AT_ONCE = 20;
export const CHURNED_TOKENS = 5;
/** So many tokens that no generation of a phase ends by itself. */
const ENDLESS_SECONDS = 120;

export async function measureIdle(world: PhaseWorld, seconds: number): Promise<Phase> {
  await delay(WARM_UP_MS, undefined, { signal: world.signal });
  return observe(world, "idle", async () => {
    await delay(seconds * 1e3, undefined, { signal: world.signal });
    return {};
  });
}

/** Generations that are made before the measured time and cancelled behind it: only their tokens are in it. */
export async function measureStreams(
  world: PhaseWorld,
  { name, generations, tokensPerSecond, readers }: StreamLoad,
  seconds: number,
): Promise<StreamPhase> {
  const { platform, load, signal } = world;
  const before = await readMemory(platform);
  const ids = await startStreams(world, { generations, tokensPerSecond, readers });
  await delay(WARM_UP_MS, undefined, { signal });
  const phase = await observe(world, name, async (eventsSoFar) => {
    await delay(seconds * 1e3, undefined, { signal });
    const events = await eventsSoFar();
    return { deliveries: events * readers, openSeconds: generations * seconds };
  });
  const loaded = await readUsage(platform.processes);
  const after = await readMemory(platform);
  await load.disconnect();
  await cancelGenerations(platform, ids);
  const each = (one: HeapByRole, other: HeapByRole) =>
    Object.fromEntries(
      Object.entries(one).map(([role, bytes]) => [role, (bytes - (other[role] ?? 0)) / generations]),
    );
  return {
    ...phase,
    rssBytes: Object.fromEntries(Object.entries(loaded).map(([role, { rssBytes }]) => [role, rssBytes])),
    heapPerGeneration: each(after.heap, before.heap),
    rssPerGeneration: each(after.rss, before.rss),
  };
}

/** Generations that go on until they are cancelled, with readers. */
export async function startStreams(
  { platform, load }: PhaseWorld,
  { generations, tokensPerSecond, readers }: Omit<StreamLoad, "name">,
): Promise<string[]> {
  const tokens = Math.ceil(tokensPerSecond * ENDLESS_SECONDS);
  const ids = await createGenerations(platform, generations, { tokens, tokens_per_second: tokensPerSecond });
  // All at once would be a load of its own: each reader that comes has its generation read.
  for (let at = 0; at < ids.length; at += ATTACHED_AT_ONCE) {
    const specs = ids.slice(at, at + ATTACHED_AT_ONCE).map((id) => readerOf(platform, id));
    await load.connect({ specs, copies: readers });
  }
  return ids;
}

/** Short generations as fast as the platform can. What consumers do later for them counts too. */
export async function measureChurn(
  world: PhaseWorld,
  seconds: number,
  settled: () => Promise<void>,
): Promise<Phase> {
  const { url, apiKey } = world.platform;
  await settled();
  return observe(world, "churn", async (eventsSoFar) => {
    const order: ChurnOrder = {
      url,
      apiKey,
      atOnce: AT_ONCE,
      tokens: CHURNED_TOKENS,
      untilMicros: nowMicros() + seconds * 1e6,
    };
    const { whole } = await world.churnClient.call<ChurnMeasured>("churn", order);
    await settled();
    const openSeconds = (whole.count * whole.mean) / 1e3;
    return { generations: whole.count, deliveries: await eventsSoFar(), openSeconds };
  });
}

/** Live bytes of delivery's heap for each reader of a generation that says nothing. */
export async function measureReaders(
  { platform, load, signal }: PhaseWorld,
  readers: number,
): Promise<{ readonly heapBytes: number }> {
  const options = { tokens: 1_000, stall_after_tokens: 1 };
  const ids = await createGenerations(platform, 1, options);
  const specs = ids.map((id) => readerOf(platform, id));
  await load.connect({ specs, copies: 50 });
  const before = await readMemory(platform);
  await load.connect({ specs, copies: readers });
  await delay(WARM_UP_MS, undefined, { signal });
  const after = await readMemory(platform);
  await load.disconnect();
  await cancelGenerations(platform, ids);
  return { heapBytes: (after.heap["delivery"]! - before.heap["delivery"]!) / readers };
}

function readerOf({ url, apiKey }: WholePlatform, id: string) {
  const headers = { authorization: `Bearer ${apiKey}` };
  const path = `/v1/generations/${id}/events`;
  return { transport: "sse", port: Number(new URL(url).port), path, headers, countedAs: 0 } as const;
}

export async function observe(
  { platform, broker }: PhaseWorld,
  name: string,
  run: (eventsSoFar: () => Promise<number>) => Promise<Partial<Drivers>>,
): Promise<Phase> {
  const stored = await countEvents(broker);
  const startMicros = nowMicros();
  const before = await readUsage(platform.processes);
  const eventsSoFar = async () => (await countEvents(broker)) - stored;
  const driven = await run(eventsSoFar);
  const after = await readUsage(platform.processes);
  const seconds = (nowMicros() - startMicros) / 1e6;
  const drivers = { seconds, events: await eventsSoFar(), deliveries: 0, generations: 0, openSeconds: 0 };
  return { name, drivers: { ...drivers, ...driven }, usage: usageBetween(before, after) };
}

function usageBetween(before: UsageByRole, after: UsageByRole): Phase["usage"] {
  return Object.fromEntries(
    Object.entries(after).map(([role, now]) => {
      const then = before[role] ?? { cpuMicros: 0, readBytes: 0, writtenBytes: 0 };
      return [
        role,
        {
          cpuMicros: now.cpuMicros - then.cpuMicros,
          readBytes: now.readBytes - then.readBytes,
          writtenBytes: now.writtenBytes - then.writtenBytes,
        },
      ];
    }),
  );
}

/** Events of all logs; none is ever removed while a bench runs. */
export async function countEvents({ reads }: Broker): Promise<number> {
  const infos = await Promise.all(
    Array.from({ length: SHARDS }, (_, shard) => readStreamInfo(reads, generationsStream(shard))),
  );
  return infos.reduce((sum, { lastStreamSeq }) => sum + lastStreamSeq, 0);
}

async function readMemory({
  services,
  processes,
}: WholePlatform): Promise<{ heap: HeapByRole; rss: HeapByRole }> {
  const heap = await Promise.all(
    [...services].map(async ([role, child]) => {
      const { heapBytes } = await child.call<{ heapBytes: number }>("collectGarbage");
      return [role, heapBytes] as const;
    }),
  );
  const usage = await readUsage(processes);
  return {
    heap: Object.fromEntries(heap),
    rss: Object.fromEntries(Object.entries(usage).map(([role, { rssBytes }]) => [role, rssBytes])),
  };
}
