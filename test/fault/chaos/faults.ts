import { setTimeout as delay } from "node:timers/promises";
import { findBusiest } from "../rows/worker/takeover.ts";
import type { WorldOptions } from "../world/world-options.ts";
import { count, readingNow, type Scene, waited } from "./scene.ts";

export type FaultName = "worker" | "delivery" | "broker" | "reader";

interface Fault {
  readonly title: string;
  readonly world: WorldOptions;
  /** Breaks something, tells of it, and resolves when it is overcome and everything runs again. */
  readonly strike: (scene: Scene) => Promise<void>;
}

/** How long the broker is away. */
const BROKER_ABSENCE_MS = 400;

export const FAULTS: Readonly<Record<FaultName, Fault>> = {
  worker: {
    title: "kills the busiest worker in mid-stream; another takes over what it had",
    world: {},
    async strike(scene) {
      const { trial, load, say } = scene;
      const { busiest: victim, served: affected } = findBusiest(trial.world, load.readers);
      const { size } = new Set(affected.map(({ record }) => record.generation));
      say(`✂ SIGKILL to ${victim.name} (process ${victim.pid}), which runs ${count(size, "generation")}`);
      const since = performance.now();
      await victim.kill();
      const slowest = await waited(scene, affected, since, () => isTakeover);
      say(
        `  another worker goes on with ${count(size, "generation")}; of ${count(affected.length, "reader")} ${slowest}`,
      );
      await victim.start();
      say(`  ${victim.name} is back (process ${victim.pid})`);
    },
  },
  delivery: {
    title: "kills a delivery node; its readers go on at another, from where they were",
    world: {},
    async strike(scene) {
      const { trial, load, say } = scene;
      const node = trial.random.integer(0, trial.world.deliveries.length - 1);
      const { slot } = trial.world.deliveries[node]!;
      const affected = readingNow(load).filter(({ record }) => record.node === node);
      const before = new Map(affected.map((reader) => [reader, reader.record.connections] as const));
      say(
        `✂ SIGKILL to ${slot.name} (process ${slot.pid}), from which ${count(affected.length, "reader")} read`,
      );
      const since = performance.now();
      await slot.kill();
      const slowest = await waited(
        scene,
        affected,
        since,
        (reader) => (seen) => seen.connection > before.get(reader)!,
      );
      say(`  all read on elsewhere; ${slowest}`);
      await slot.start();
      say(`  ${slot.name} is back (process ${slot.pid})`);
    },
  },
  broker: {
    title: "kills nats-server, the one place where everything is stored, and starts it again",
    world: {},
    async strike(scene) {
      const { trial, load, say } = scene;
      const { server } = trial.world.broker;
      const affected = readingNow(load);
      say(`✂ SIGKILL to nats-server (process ${server.pid}), on which all depends`);
      const since = performance.now();
      await server.kill("SIGKILL");
      await delay(BROKER_ABSENCE_MS);
      await server.restart();
      const backAt = performance.now();
      say(`  nats-server is back (process ${server.pid})`);
      const slowest = await waited(
        scene,
        affected,
        since,
        () =>
          ({ at }) =>
            at > backAt,
      );
      say(`  all ${count(affected.length, "reader")} read on; ${slowest}`);
    },
  },
  reader: {
    title: "cuts the connections of all readers at once; they resume with their cursors",
    world: { clientProxies: true },
    async strike(scene) {
      const { trial, load, say } = scene;
      const affected = readingNow(load);
      const before = new Map(affected.map((reader) => [reader, reader.record.connections] as const));
      say(`✂ the connections of all ${count(affected.length, "reader")} are reset`);
      const since = performance.now();
      for (const { toClients } of trial.world.deliveries) toClients!.cutNow();
      const slowest = await waited(
        scene,
        affected,
        since,
        (reader) => (seen) => seen.connection > before.get(reader)!,
      );
      say(`  all have resumed; ${slowest}`);
    },
  },
};

export function isFaultName(name: string): name is FaultName {
  return Object.hasOwn(FAULTS, name);
}

function isTakeover({ payload }: { readonly payload: string }): boolean {
  return payload.includes('"type":"generation.started"');
}
