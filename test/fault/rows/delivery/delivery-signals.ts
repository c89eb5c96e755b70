import { setTimeout as delay } from "node:timers/promises";
import type { Reader } from "../../readers/reader-record.ts";
import { type LoadOptions, startLoad } from "../../trial/load.ts";
import { reportSilences, watchReconnect } from "../../trial/recovery.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";

/** 25 generations with 20 readers each. */
const GENERATIONS = 25;
const READERS_EACH = 20;

export const deliverySigkill: FaultRow = {
  name: "delivery-sigkill",
  about:
    "one of two delivery nodes with 500 readers is killed; until each of its readers has its next event from a node",
  proof: "a reader of the killed node has its next event over a new connection",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const { readers } = await startLoad(
      trial,
      {
        generations: GENERATIONS,
        readers: Array.from({ length: READERS_EACH }, () => "raw" as const),
        // Under way for as long as it takes the machine to bring all readers back: then they are cancelled.
        tokens: 3_000,
        tokensPerSecond: 10,
        mayEnd: ["generation.cancelled"],
      },
      10,
    );
    const victim = random.integer(0, world.deliveries.length - 1);
    const killedAt = performance.now();
    const affected = readers.filter(({ record }) => !record.isDone && record.node === victim);
    const reconnects = affected.map(({ record }) => watchReconnect(record, killedAt));
    const { slot } = world.deliveries[victim]!;
    await slot.kill();
    // Half of the time the node is back while its readers still look for another.
    if (random.chance(0.5)) await slot.start();
    await Promise.all(
      affected.map(({ record }, index) => record.until(() => reconnects[index]!() !== undefined)),
    );
    await trial.cancelAll();
    await trial.ended();
    for (const timeToReconnect of reconnects) {
      const ms = timeToReconnect();
      if (ms === undefined) continue;
      trial.hit();
      trial.recovered(ms);
    }
  },
};

const LOAD: LoadOptions = {
  generations: 6,
  readers: ["raw", "raw", "sdk"],
  tokens: 120,
  tokensPerSecond: 50,
};

export const deliveryRollingRestart: FaultRow = {
  name: "delivery-rolling-restart",
  about:
    "two delivery nodes are restarted in order, one after the other, while generations are created and read; until each reader that was sent away has its next event",
  proof: "a node sends a reader home, which has its next event from the other; both nodes have to",
  world: {},
  async run(trial) {
    const rolled = new AbortController();
    const creating = keepCreating(trial, rolled.signal);
    const sentAway: number[] = [];
    for (const [node, { slot }] of trial.world.deliveries.entries()) {
      // A load for each: while a node is restarted on a busy machine, an earlier one may have ended.
      const { readers } = await startLoad(trial, LOAD, 20);
      const leavingAt = performance.now();
      const affected = readingFrom(readers, node);
      const reconnects = affected.map(({ record }) => watchReconnect(record, leavingAt));
      await slot.stop();
      await slot.start();
      await Promise.all(affected.map(({ record }) => record.until(({ node: now }) => now !== node)));
      const times = reconnects.map((timeToReconnect) => timeToReconnect()).filter((ms) => ms !== undefined);
      for (const ms of times) trial.recovered(ms);
      sentAway.push(times.length);
    }
    trial.hit(Math.min(...sentAway));
    rolled.abort();
    await creating;
  },
};

/** Starts one generation after the other, and reads each: readers that come in the middle must not notice either. */
async function keepCreating(trial: Trial, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const generation = await trial.create({ tokens: 20 });
    await trial.read(generation, "sdk").record.done;
  }
}

const LONGEST_MS = 1_500;

export const deliveryCutOff: FaultRow = {
  name: "delivery-cut-off",
  about:
    "a delivery node's connections to the broker are half open for up to 1.5 s, and then break; until the end of the longest silence of its readers",
  proof: "a connection of the node is cut while a reader of it waits for more",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const { readers } = await startLoad(trial, { readers: ["raw", "raw", "sdk"] });
    const victim = busiestNode(trial, readers);
    const affected = readingFrom(readers, victim);
    const { toBroker } = world.deliveries[victim]!.slot;
    const since = performance.now();
    toBroker.setFaults({ toClient: { stalled: true }, toServer: { stalled: random.chance(0.5) } });
    await delay(random.integer(1, LONGEST_MS));
    const waiting = affected.filter(({ record }) => !record.isDone);
    if (toBroker.cutNow() > 0) trial.hit(waiting.length);
    toBroker.setFaults({});
    await trial.ended();
    reportSilences(trial, affected, since);
  },
};

/** Those who read from a delivery node at this moment. */
function readingFrom(readers: readonly Reader[], node: number): Reader[] {
  return readers.filter(({ record }) => !record.isDone && record.node === node);
}

/** The delivery node from which most of these read at this moment; where several do, a drawn one. */
export function busiestNode({ random, world }: Trial, readers: readonly Reader[]): number {
  const first = random.integer(0, world.deliveries.length - 1);
  const nodes = world.deliveries.map((_, index) => (first + index) % world.deliveries.length);
  return nodes.reduce((best, node) =>
    readingFrom(readers, node).length > readingFrom(readers, best).length ? node : best,
  );
}
