import { setTimeout as delay } from "node:timers/promises";
import { streamOf } from "@reprise/protocol";
import type { Reader } from "../../readers/reader-record.ts";
import { hitRunning } from "../../trial/acked.ts";
import { reportSilences } from "../../trial/recovery.ts";
import type { Trial } from "../../trial/trial.ts";
import { judgeUpload, Upload } from "../../trial/upload.ts";
import { untilLed } from "../broker/cluster-leader.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest } from "../worker/takeover.ts";

/* Input that a client sends while the model answers. The simulator echoes it, so that both directions are compared byte for byte. */

const GENERATIONS = 4;
const WORDS = 150;
/** Entries that the first upload has stored when the fault strikes. */
const STRUCK = { earliest: 5, latest: 100 };

interface Uploads {
  readonly uploads: readonly Upload[];
  readonly readers: readonly Reader[];
}

type Options = Pick<FaultRow, "name" | "about" | "world"> & Partial<Pick<FaultRow, "proof" | "shortTrials">>;

/** @param fault strikes while everything is under way, and repairs what it breaks */
function uploadRow(options: Options, fault: (trial: Trial, load: Uploads) => Promise<void>): FaultRow {
  return {
    proof: "a generation ends after the fault",
    ...options,
    async run(trial) {
      const words = Array.from({ length: WORDS }, (_, i) => `wört-${i}${i % 7 === 0 ? "\n" : " "}`);
      const generations = await Promise.all(
        Array.from({ length: GENERATIONS }, () => trial.create({ typed: words })),
      );
      const readers = generations.flatMap((generation) =>
        (["raw", "sdk"] as const).map((kind) => trial.read(generation, kind)),
      );
      const uploads = generations.map((generation) => new Upload(trial, generation));
      await uploads[0]!.until(trial.random.integer(STRUCK.earliest, STRUCK.latest));
      const since = performance.now();
      await fault(trial, { uploads, readers });
      await Promise.all(uploads.map(({ done }) => done));
      await trial.ended();
      if (!options.proof) hitRunning(trial, generations, since);
      reportSilences(trial, readers, since);
      for (const upload of uploads) await judgeUpload(trial, upload);
    },
  };
}

const SILENCE = "until the end of each reader's longest silence";
/** Bytes of a connection, in either direction, until it is reset. A create and its answer have some 500. */
const LIFE = { shortest: 600, longest: 4_000 };
/** Entries that the first upload stores meanwhile. */
const CUT = { least: 20, most: 80 };
const LONGEST_ABSENCE_MS = 1_500;

export const inputCut = uploadRow(
  {
    name: "input-cut",
    about: `every connection of clients that upload and read is reset at a random byte, in either direction; ${SILENCE}`,
    proof: "a request of an upload breaks off",
    world: { clientProxies: true },
  },
  async (trial, { uploads }) => {
    const { random, world } = trial;
    const life = () => ({ cutAfterBytes: random.integer(LIFE.shortest, LIFE.longest) });
    for (const { toClients } of world.deliveries) {
      toClients!.setFaults(() => (random.chance(0.5) ? { toServer: life() } : { toClient: life() }));
      toClients!.cutNow();
    }
    const [first] = uploads;
    await first!.until(first!.stored + random.integer(CUT.least, CUT.most));
    for (const { toClients } of world.deliveries) {
      toClients!.cutNow();
      toClients!.setFaults({});
    }
    trial.hit(uploads.reduce((sum, { broken }) => sum + broken, 0));
  },
);

export const inputDeliverySigkill = uploadRow(
  {
    name: "input-delivery-sigkill",
    about: `one of two nodes to which input is uploaded is killed, and started again; ${SILENCE}`,
    world: {},
  },
  async ({ random, world }) => {
    const { slot } = random.pick(world.deliveries);
    await slot.kill();
    await slot.start();
  },
);

export const inputWorkerSigkill = uploadRow(
  {
    name: "input-worker-sigkill",
    about: `the busiest worker is killed while its input is uploaded, and started again; ${SILENCE}`,
    world: {},
  },
  async ({ world }, { readers }) => {
    const { busiest } = findBusiest(world, readers);
    await busiest.kill();
    await busiest.start();
  },
);

export const inputBrokerSigkill = uploadRow(
  {
    name: "input-broker-sigkill",
    about: `nats-server is killed while input is uploaded, and back within 1.5 s; ${SILENCE}`,
    world: {},
  },
  async ({ random, world }) => {
    const { server } = world.broker;
    await server.kill("SIGKILL");
    await delay(random.integer(0, LONGEST_ABSENCE_MS));
    await server.restart();
  },
);

export const inputLeaderSigkill = uploadRow(
  {
    name: "input-leader-sigkill",
    about: `the leader of a shard's stream, one of three nats-servers, is killed while input is uploaded, and back within 1.5 s; ${SILENCE}`,
    world: { broker: "cluster" },
    shortTrials: 1,
  },
  async ({ random, world }, { uploads }) => {
    const { cluster } = world.broker;
    const leader = await untilLed(cluster, streamOf(uploads[0]!.generation.ref.generation));
    await leader.kill("SIGKILL");
    await delay(random.integer(0, LONGEST_ABSENCE_MS));
    await leader.restart();
  },
);
