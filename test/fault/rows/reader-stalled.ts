import { setTimeout as delay } from "node:timers/promises";
import { startLoad } from "../trial/load.ts";
import { timeToEvent } from "../trial/recovery.ts";
import type { FaultRow } from "./row.ts";

const LONGEST_MS = 2_000;

export const readerStalled: FaultRow = {
  name: "reader-stalled",
  about:
    "half of the readers stop reading for up to 2 s, beside others of the same generations that go on; from reading again until each is where the others were",
  world: {},
  async run(trial) {
    const { random } = trial;
    const { generations, readers } = await startLoad(trial, { readers: ["raw", "raw", "sdk"], tokens: 300 });
    const stalled = readers.filter(() => random.chance(0.5));
    for (const reader of stalled) reader.pause();
    await delay(random.integer(1, LONGEST_MS));
    const heads = new Map(
      generations.map((generation) => {
        const own = readers.filter(({ record }) => record.generation === generation);
        return [generation, Math.max(...own.map(({ record }) => record.lastSeq))] as const;
      }),
    );
    const resumedAt = performance.now();
    for (const reader of stalled) reader.resume();
    await trial.ended();
    for (const { record } of stalled) {
      const ms = timeToEvent(record, resumedAt, ({ seq }) => seq >= heads.get(record.generation)!);
      if (ms !== undefined) trial.recovered(ms);
    }
  },
};
