import { setTimeout as delay } from "node:timers/promises";
import { readStreamInfo } from "@reprise/log";
import { JOBS_STREAM } from "@reprise/protocol";
import type { ChurnMeasured, ChurnOrder } from "../../load/churn-client.ts";
import { nowMicros } from "../../measure/clock.ts";
import { readUsage } from "../../measure/process-usage.ts";
import { type StoredBytes, weighStored } from "./disk.ts";
import type { Phase } from "./fit-costs.ts";
import { cancelGenerations } from "./generations.ts";
import { CHURNED_TOKENS, countEvents, observe, type PhaseWorld, startStreams, WARM_UP_MS } from "./phases.ts";

/** A load that the costs were not fitted to, and what it took: what the calculator is compared with. */
export interface HeldOut {
  readonly phase: Phase;
  readonly openGenerations: number;
  readonly readers: number;
  /** Whose log, checkpoint and verdict the broker kept then: of all loads so far. */
  readonly keptGenerations: number;
  /** Resident, of each process. */
  readonly rssBytes: Readonly<Record<string, number>>;
  /** From the first create to the last event that was archived, and what it left on disk. */
  readonly stored: Omit<StoredBytes, "analyticsFiles"> & {
    readonly events: number;
    readonly generations: number;
  };
}

const FAST = { generations: 40, tokensPerSecond: 40, readers: 2 };
const SLOW = { generations: 160, tokensPerSecond: 6, readers: 2 };
const SHORT_AT_ONCE = 4;

/**
 * Three loads at once: fast generations and slow ones, with two readers each, and short ones, one after the other. No load of the fit has more than one of
 * these, or two readers.
 *
 * @param eventsPerShort events of a short generation, as the load of short ones alone has shown
 */
export async function measureHeldOut(
  world: PhaseWorld,
  seconds: number,
  eventsPerShort: number,
): Promise<HeldOut> {
  const { platform, broker, churnClient, load, signal } = world;
  const { url, apiKey } = platform;
  const created = async () => (await readStreamInfo(broker.reads, JOBS_STREAM)).lastStreamSeq;
  const before = await weighStored(platform, broker, signal);
  const [eventsBefore, createdBefore] = [await countEvents(broker), await created()];

  const ids = [...(await startStreams(world, FAST)), ...(await startStreams(world, SLOW))];
  const order: ChurnOrder = {
    url,
    apiKey,
    atOnce: SHORT_AT_ONCE,
    tokens: CHURNED_TOKENS,
    untilMicros: nowMicros() + seconds * 1e6 + 2e3 * WARM_UP_MS,
  };
  const churned = churnClient.call<ChurnMeasured>("churn", order);
  await delay(WARM_UP_MS, undefined, { signal });
  const { readers } = FAST;
  const observed = await observe(world, "held out", async (eventsSoFar) => {
    const first = await created();
    await delay(seconds * 1e3, undefined, { signal });
    const generations = (await created()) - first;
    const ofShort = generations * eventsPerShort;
    return { generations, deliveries: readers * ((await eventsSoFar()) - ofShort) + ofShort };
  });
  const usage = await readUsage(platform.processes);
  const { whole } = await churned;
  const openGenerations = FAST.generations + SLOW.generations;
  const shortSeconds = (observed.drivers.generations * whole.mean) / 1e3;
  const openSeconds = openGenerations * observed.drivers.seconds + shortSeconds;

  await load.disconnect();
  await cancelGenerations(platform, ids);
  const after = await weighStored(platform, broker, signal);
  const [events, keptGenerations] = [(await countEvents(broker)) - eventsBefore, await created()];
  return {
    phase: { ...observed, drivers: { ...observed.drivers, openSeconds } },
    openGenerations,
    readers: readers * openGenerations,
    keptGenerations,
    rssBytes: Object.fromEntries(Object.entries(usage).map(([role, { rssBytes }]) => [role, rssBytes])),
    stored: { events, generations: keptGenerations - createdBefore, ...bytesBetween(before, after) },
  };
}

function bytesBetween(before: StoredBytes, after: StoredBytes): Omit<StoredBytes, "analyticsFiles"> {
  const streams = Object.entries(after.streamBytes).map(([stream, bytes]) => [
    stream,
    bytes - (before.streamBytes[stream] ?? 0),
  ]);
  return {
    streamBytes: Object.fromEntries(streams),
    archiveBytes: after.archiveBytes - before.archiveBytes,
    analyticsBytes: after.analyticsBytes - before.analyticsBytes,
  };
}
