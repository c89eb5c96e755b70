import { setTimeout as delay } from "node:timers/promises";
import type { Reader, Seen } from "../readers/reader-record.ts";
import { findBusiest } from "../rows/worker/takeover.ts";
import type { Load } from "../trial/load.ts";
import type { Trial } from "../trial/trial.ts";
import type { WorldOptions } from "../world/world-options.ts";

export type FaultName = "worker" | "delivery" | "broker" | "reader";

interface Fault {
  readonly title: string;
  readonly world: WorldOptions;
  readonly strike: (trial: Trial, load: Load) => Promise<Strike>;
}

/** A fault that was just made. */
interface Strike {
  /** A line of text: the broken part and its process. */
  readonly victim: string;
  /** The affected readers, with the event that shows the recovery of each. */
  readonly affected: ReadonlyMap<Reader, (seen: Seen) => boolean>;
  /** Starts the killed process again after the recovery. */
  readonly restore?: () => Promise<void>;
}

const BROKER_ABSENCE_MS = 400;

export const FAULTS: Readonly<Record<FaultName, Fault>> = {
  worker: {
    title: "kills the busiest worker in mid-stream; another worker takes over",
    world: {},
    async strike({ world }, load) {
      const { busiest, served } = findBusiest(world, load.readers);
      const victim = `${busiest.name} (process ${busiest.pid}) killed`;
      await busiest.kill();
      const isTakeover = ({ payload }: Seen) => payload.includes('"type":"generation.started"');
      const affected = new Map(served.map((reader) => [reader, isTakeover] as const));
      return { victim, affected, restore: () => busiest.start() };
    },
  },
  delivery: {
    title: "kills a delivery node; its readers resume at another node",
    world: {},
    async strike({ random, world }, load) {
      const node = random.integer(0, world.deliveries.length - 1);
      const { slot } = world.deliveries[node]!;
      const victim = `${slot.name} (process ${slot.pid}) killed`;
      const affected = untilReconnected(readingNow(load).filter(({ record }) => record.node === node));
      await slot.kill();
      return { victim, affected, restore: () => slot.start() };
    },
  },
  broker: {
    title: "kills nats-server, which stores every event, and starts it again",
    world: {},
    async strike({ world }, load) {
      const { server } = world.broker;
      const victim = `nats-server (process ${server.pid}) killed`;
      await server.kill("SIGKILL");
      await delay(BROKER_ABSENCE_MS);
      await server.restart();
      const backAt = performance.now();
      const isLater = ({ at }: Seen) => at > backAt;
      return { victim, affected: new Map(readingNow(load).map((reader) => [reader, isLater] as const)) };
    },
  },
  reader: {
    title: "cuts the connections of all readers at once; they resume with their cursors",
    world: { clientProxies: true },
    async strike({ world }, load) {
      const affected = untilReconnected(readingNow(load));
      for (const { toClients } of world.deliveries) toClients!.cutNow();
      return { victim: "every connection cut", affected };
    },
  },
};

export function isFaultName(name: string): name is FaultName {
  return Object.hasOwn(FAULTS, name);
}

/** Finds the readers that have not reached the end. */
export function readingNow({ readers }: Load): Reader[] {
  return readers.filter(({ record }) => !record.isDone);
}

function untilReconnected(readers: readonly Reader[]): Strike["affected"] {
  return new Map(
    readers.map((reader) => {
      const before = reader.record.connections;
      return [reader, ({ connection }: Seen) => connection > before] as const;
    }),
  );
}
