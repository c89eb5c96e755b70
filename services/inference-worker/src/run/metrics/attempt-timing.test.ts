import { type AttemptRecord, decodeOpsRecord, opsSubjects } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { EngineEvent } from "../../engines/engine.ts";
import { EngineError } from "../../engines/engine-error.ts";
import { createFakeEngine } from "../../testing/fake-engines.ts";
import { openWorld, type World } from "../../testing/world.ts";
import { AttemptTiming } from "./attempt-timing.ts";

const FINISH: EngineEvent = { type: "finish", reason: "stop" };

function listen({ broker }: World): AttemptRecord[] {
  const records: AttemptRecord[] = [];
  broker.main.subscribe(opsSubjects("attempt"), {
    callback(_error, { data }) {
      const record = decodeOpsRecord(data);
      if (record?.kind === "attempt") records.push(record);
    },
  });
  return records;
}

test("of each attempt that came so far one record says how its first output came into the log", async () => {
  await using world = await openWorld();
  const records = listen(world);
  let tries = 0;
  const engine = createFakeEngine(async function* () {
    if (tries++ === 0) throw new EngineError("engine_failed", "It has broken.", { retry: "broken" });
    yield { type: "text", text: "a" };
    yield { type: "text", text: "b" };
    yield FINISH;
  });
  await world.startWorker(engine);
  await world.untilEnded(await world.submit({ policy: { max_attempts: 2 } }));
  const ms = expect.any(Number) as number;
  const at = expect.stringMatching(/Z$/) as string;
  await expect
    .poll(() => records)
    .toEqual([{ kind: "attempt", at, attempt: 2, model: "fake", engine_first_ms: ms, append_ms: ms }]);
});

test("an attempt is measured once, by the event that is stored first after the engine's first output", () => {
  const records: AttemptRecord[] = [];
  const timing = new AttemptTiming((record) => records.push(record));
  timing.stored(1);
  timing.begun({ attempt: 1, model: "sim" });
  timing.stored(2);
  timing.arrived(30.12345);
  timing.arrived(40);
  timing.stored(3);
  timing.stored(4);
  timing.begun({ attempt: 2, model: "other" });
  timing.arrived(50);
  timing.stored(5);
  expect(records).toMatchObject([
    { attempt: 1, model: "sim", engine_first_ms: 30.123, append_ms: 3 },
    { attempt: 2, model: "other", engine_first_ms: 50, append_ms: 5 },
  ]);
});
