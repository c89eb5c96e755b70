import type { ConnectionFaults, SeededRandom } from "@reprise/testkit";
import { startLoad } from "../../trial/load.ts";
import { watchReconnect } from "../../trial/recovery.ts";
import type { FaultRow } from "../row.ts";

/** A stream of this row is some 12,000 bytes long, and its head 300. */
const LONGEST_LIFE_BYTES = 6_000;
/** How many each reader has been shown when the faults end. On a busy machine a stream has few, of many tokens each. */
const EVENTS = { least: 8, most: 40 };

export const readerCut: FaultRow = {
  name: "reader-cut",
  about:
    "every connection between clients and delivery is reset at a random byte, some late and jittery, some in slices of one byte; from the last reset until each reader's next event",
  proof: "a proxy cuts a connection whose reader has not seen the end",
  world: { clientProxies: true },
  async run(trial) {
    const { random, world } = trial;
    for (const { toClients } of world.deliveries) toClients!.setFaults(() => drawFaults(random));
    const { readers } = await startLoad(trial, {}, 0);
    const enough = random.integer(EVENTS.least, EVENTS.most);
    await Promise.all(readers.map(({ record }) => record.until(({ seen }) => seen.length >= enough)));
    const cutAt = performance.now();
    const reconnects = readers
      .filter(({ record }) => !record.isDone)
      .map(({ record }) => watchReconnect(record, cutAt));
    for (const { toClients } of world.deliveries) {
      toClients!.cutNow();
      toClients!.setFaults({});
    }
    await trial.ended();
    for (const { record } of trial.readers)
      trial.hit(record.responses.filter(({ how, isTold }) => how === "broken" && !isTold).length);
    for (const timeToReconnect of reconnects) {
      const ms = timeToReconnect();
      if (ms !== undefined) trial.recovered(ms);
    }
  },
};

function drawFaults(random: SeededRandom): ConnectionFaults {
  return {
    toClient: {
      cutAfterBytes: random.integer(0, LONGEST_LIFE_BYTES),
      ...(random.chance(0.15) && { sliceBytes: 1 }),
      ...(random.chance(0.3) && { latencyMs: random.integer(1, 40), jitterMs: random.integer(1, 40) }),
    },
  };
}
