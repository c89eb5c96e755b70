import { createGenerationId, parseGenerationId, RepriseError } from "@reprise/protocol";
import { createLogger, DependencyWatches } from "@reprise/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EngineReport, logEngineReport } from "./engine-report.ts";
import { EngineError } from "../../engines/engine-error.ts";
import { content, frame } from "../../engines/testing/chat-frames.ts";
import { startMisbehavingServer, type Answer } from "../../engines/testing/misbehaving-server.ts";
import { createOpenaiEngine } from "../../engines/openai/openai-engine.ts";
import { openWorld, type World } from "../../testing/world.ts";

const ABOUT = {
  generation: parseGenerationId(createGenerationId(new Uint8Array(17), 1)),
  model: "m",
  attempt: 1,
};

/** The lines that a logger writes. */
function openLog(graceMs = 3_000) {
  const lines: string[] = [];
  const logger = createLogger({ service: "test", destination: { write: (line) => void lines.push(line) } });
  const watches = new DependencyWatches({ service: "test", logger });
  const watch = watches.add({ name: "engine:m", gone: "gone", back: "back", reports: "each", graceMs });
  const log = (report: EngineReport) => logEngineReport(logger, report, watch);
  return {
    lines,
    watch,
    log,
    parsed: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

describe("the worker's log", () => {
  test("has what the engine said of its failure, as far as it was redacted", () => {
    const { log, parsed } = openLog();
    const error = new EngineError("engine_rejected", "The engine answered 400.", {
      retry: "never",
      said: "no … model",
    });
    log({ ...ABOUT, error });
    expect(parsed()).toMatchObject([
      { ...ABOUT, code: "engine_rejected", reason: "The engine answered 400.", said: "no … model" },
    ]);
  });

  test("has where a defect of an adapter is, and not its message, which may quote the model", () => {
    const { log, lines, parsed } = openLog();
    const cause = new TypeError("Project Falcon is not iterable");
    log({ ...ABOUT, error: new RepriseError("internal", "Something went wrong.", { cause }) });
    expect(parsed()).toMatchObject([
      {
        level: "error",
        frames: expect.arrayContaining([expect.stringContaining("engine-report.test")]) as unknown,
      },
    ]);
    expect(lines.join("")).not.toContain("Falcon");
  });

  test("has one line of an engine that takes no requests, whatever the number of attempts, and one when it answers", () => {
    const { log, parsed, watch } = openLog(0);
    const error = new EngineError("engine_unavailable", "The engine could not be reached.", {
      retry: "broken",
    });
    for (let attempts = 0; attempts < 5; attempts++) log({ ...ABOUT, error });
    watch.worked();
    expect(parsed()).toMatchObject([
      { level: "warn", msg: "gone", because: "The engine could not be reached." },
      { level: "info", msg: "back", failures: 5 },
    ]);
    expect(parsed()).toHaveLength(2);
  });

  test("has one line of an engine that says nothing, and none where the policy has less patience than an engine may need", () => {
    const { log, parsed, watch } = openLog(0);
    for (let attempts = 0; attempts < 3; attempts++) log({ ...ABOUT, silentMs: 100 });
    expect([parsed().map(({ level }) => level), watch.isAway]).toEqual([["info", "info", "info"], false]);
    for (let attempts = 0; attempts < 3; attempts++) log({ ...ABOUT, silentMs: 60_000 });
    expect(parsed().slice(3)).toMatchObject([
      { msg: "gone", because: "The engine said nothing for 60000 ms." },
    ]);
    expect(parsed()).toHaveLength(4);
  });

  test("has each failure that may be the request's own doing, which says nothing of the engine", () => {
    const { log, parsed, watch } = openLog(0);
    const error = new EngineError("engine_rejected", "The engine answered 400.", { retry: "never" });
    for (let attempts = 0; attempts < 2; attempts++) log({ ...ABOUT, error });
    expect([parsed().length, watch.isAway]).toEqual([2, false]);
  });
});

const NO_USAGE = { input_tokens: null, output_tokens: 0 };

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const SAID = "The password of Project Falcon is hunter2.";

test.each<[string, Answer]>([
  ["answers a status", { status: 500, body: [JSON.stringify({ error: { message: SAID } })] }],
  ["sends an error in mid-stream", { body: [content("Hello."), frame({ error: SAID })] }],
  [
    "calls a tool without a name",
    {
      body: [
        frame({
          choices: [
            { delta: { tool_calls: [{ index: 0, function: { arguments: SAID } }] }, finish_reason: "stop" },
          ],
        }),
      ],
    },
  ],
])("neither readers nor the log get a word of the model's from an engine that %s", async (_, answer) => {
  await using server = await startMisbehavingServer();
  await using stack = new AsyncDisposableStack();
  const engine = createOpenaiEngine({ baseUrl: server.baseUrl, upstreamModel: "m" });
  stack.defer(() => engine.close());
  server.willAnswer(answer);
  const { lines, log } = openLog();
  const ref = await world.submit({ policy: { max_attempts: 1 } });
  await world.run(ref, engine, { onEngineReport: log });
  const events = await world.read(ref);
  expect(events.at(-1)).toMatchObject({
    type: "generation.failed",
    error: { code: expect.stringMatching(/^engine_/) as string },
  });
  expect(JSON.stringify(events) + lines.join("")).not.toMatch(/falcon|hunter|password/i);
  expect(lines).toHaveLength(1);
});

test("an engine at whose address nothing listens is told of at the first refusal, by its model, while it is asked again", async () => {
  await using stack = new AsyncDisposableStack();
  const server = await startMisbehavingServer();
  const { baseUrl } = server;
  await server[Symbol.asyncDispose]();
  const engine = createOpenaiEngine({ baseUrl, upstreamModel: "m" });
  stack.defer(() => engine.close());
  const { parsed, log } = openLog();
  const ref = await world.submit();
  const running = world.run(ref, engine, { onEngineReport: log });
  await expect
    .poll(parsed)
    .toMatchObject([{ msg: "the engine has failed", model: "fake", code: "engine_unavailable" }]);
  const types = (await world.read(ref)).map(({ type }) => type);
  expect(types).not.toContain("generation.failed");
  await world.append(ref, { type: "generation.cancelled", reason: "requested", usage: NO_USAGE });
  await running;
});
