import { CAPABILITIES, type Capability } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { EngineEvent } from "../engines/engine.ts";
import { EngineError } from "../engines/engine-error.ts";
import { createFakeEngine } from "../testing/fake-engines.ts";
import { openWorld, textOf } from "../testing/world.ts";

const FINISH: EngineEvent = { type: "finish", reason: "stop" };

function saying(text: string, ...lacking: Capability[]) {
  const capabilities = new Set(CAPABILITIES.filter((name) => !lacking.includes(name)));
  return createFakeEngine(
    async function* () {
      yield { type: "text", text };
      yield FINISH;
    },
    { capabilities },
  );
}

test("a request that says what no field of this version says goes back to the queue, and nothing is left out", async () => {
  await using world = await openWorld();
  const ref = await world.submit({ needs: ["top_p", "smell_of_bread"] });
  await world.startWorker(saying("half of it"));
  await expect.poll(() => world.jobDeliveries()).toBeGreaterThan(1);
  expect(await world.read(ref)).toHaveLength(1);
});

test("what the engine can't do ends the generation, and is not left out", async () => {
  await using world = await openWorld();
  const ref = await world.submit({ needs: ["json_schema"] });
  await world.startWorker(saying("no JSON", "json_schema"));
  const events = await world.untilEnded(ref);
  expect(events.at(-1)).toMatchObject({
    type: "generation.failed",
    error: { code: "capability_unsupported", message: expect.stringContaining("json_schema") },
  });
  expect(textOf(events)).toBe("");
});

test("a fallback that can't do it is not used", async () => {
  await using world = await openWorld();
  const broken = createFakeEngine(async function* () {
    yield* [];
    throw new EngineError("engine_rejected", "No.", { retry: "never" });
  });
  await world.startWorker(broken, { fallback: { model: "small", engine: saying("instead", "tools") } });
  const with_tools = await world.submit({ request: { tools: [{ name: "f" }] } });
  expect((await world.untilEnded(with_tools)).at(-1)).toMatchObject({ error: { code: "engine_rejected" } });
  expect(textOf(await world.untilEnded(await world.submit()))).toBe("instead");
});
