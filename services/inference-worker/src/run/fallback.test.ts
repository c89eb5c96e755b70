import { type ErrorCode, RepriseError } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { Engine, Prefix } from "../engines/engine.ts";
import { attemptEnded, delta, started } from "../testing/drafts.ts";
import { createFakeEngine } from "../testing/fake-engines.ts";
import { openWorld, textOf, typesOf } from "../testing/world.ts";

/** An engine that fails after these words. */
function failing(code: ErrorCode, ...words: string[]): Engine {
  return createFakeEngine(async function* () {
    for (const word of words) yield { type: "text", text: word };
    throw new RepriseError(code, "The first engine is broken.");
  });
}

/** The second engine, and the prefixes that it got. */
function standingIn() {
  const prefixes: Prefix[] = [];
  const engine = createFakeEngine(
    async function* (_request, { prefix }) {
      prefixes.push(prefix);
      yield { type: "text", text: "instead" };
      yield { type: "finish", reason: "stop" };
    },
    { canContinue: () => true },
  );
  return { fallback: { model: "small", engine }, prefixes };
}

test("an engine that fails before its first token is replaced by its fallback, and no attempt is used up", async () => {
  await using world = await openWorld();
  const { fallback } = standingIn();
  const ref = await world.submit({ policy: { max_attempts: 1 } });
  await world.startWorker(failing("engine_failed"), { fallback });
  const events = await world.untilEnded(ref);
  expect(events.slice(1)).toMatchObject([
    { type: "generation.started", attempt: 1, model: "fake" },
    { type: "attempt.ended", attempt: 1, reason: "fallback" },
    { type: "generation.started", attempt: 2, model: "small", reason: "fallback" },
    { type: "output.delta", text: "instead" },
    { type: "generation.completed", usage: { output_tokens: 1 } },
  ]);
  expect(await world.jobDeliveries()).toBe(1);
});

test("a takeover from a fallback stays with it, and continues its text", async () => {
  await using world = await openWorld();
  const { fallback, prefixes } = standingIn();
  const fallen = { ...started(2, "fallback"), model: "small" };
  const ref = await world.submit({
    history: [started(1), attemptEnded(1, "fallback"), fallen, delta("small words, ", 2)],
  });
  await world.startWorker(failing("internal"), { fallback });
  const events = await world.untilEnded(ref);
  expect(prefixes).toEqual([{ text: "small words, ", tokens: 2 }]);
  expect(textOf(events)).toBe("small words, instead");
  expect(typesOf(events).slice(5)).toEqual(["generation.started", "output.delta", "generation.completed"]);
  expect(events[5]).toMatchObject({ attempt: 3, reason: "worker_lost", model: "small" });
  expect(events.at(-1)).toMatchObject({ usage: { output_tokens: 3 } });
});
