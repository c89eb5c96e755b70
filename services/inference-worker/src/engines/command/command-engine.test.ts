import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import {
  asSeq,
  COMMAND_CAPABILITIES,
  type InputEntry,
  type InputRecord,
  RepriseError,
} from "@reprise/protocol";
import { createTempDir, readCommandLine } from "@reprise/testkit";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { type EngineEvent, type GenerateOptions, NO_PROGRESS } from "../engine.ts";
import { collect } from "../testing/collect.ts";
import { type CommandEngineOptions, createCommandEngine } from "./command-engine.ts";

const END: InputEntry = { type: "input.end" };
const typed = (text: string): InputEntry => ({ type: "input.delta", text });
const sound = (bytes: number): InputEntry => ({ type: "input.audio", audio: new Uint8Array(bytes) });
const sh = (script: string) => ["/bin/sh", "-c", script] as const;

function createEngine(command: readonly [string, ...string[]], options: Partial<CommandEngineOptions> = {}) {
  const environment = { PATH: "/usr/bin:/bin" };
  const capabilities = COMMAND_CAPABILITIES;
  return createCommandEngine({ command, environment, maxOutputBytes: 1_048_576, capabilities, ...options });
}

async function* recordsOf(entries: Iterable<InputEntry> | AsyncIterable<InputEntry>) {
  let number = 0;
  for await (const entry of entries) {
    const seq = asSeq(++number);
    yield { first: seq, seq, at: 0, committed: asSeq(0), entry } satisfies InputRecord;
  }
}

/** Runs a program, with input that streams if there is any. */
function generate(
  command: readonly [string, ...string[]],
  entries?: Iterable<InputEntry> | AsyncIterable<InputEntry>,
  {
    request,
    generate: more,
    ...options
  }: Partial<CommandEngineOptions> & { request?: object; generate?: Partial<GenerateOptions> } = {},
): AsyncIterable<EngineEvent> {
  const engine = createEngine(command, options);
  const own = entries ? { input: [], input_stream: { format: "text" as const } } : { input: "straße" };
  return engine.generate(
    { model: "program", ...own, ...request },
    {
      ...NO_PROGRESS,
      signal: new AbortController().signal,
      ...(entries && { input: recordsOf(entries) }),
      ...more,
    },
  );
}

const consumedOf = (events: readonly EngineEvent[]) =>
  events.flatMap((event) => (event.type === "text" && event.consumed ? [event.consumed] : []));

afterEach(() => void vi.unstubAllEnvs());

test("a program reads text and commits, and its output is joined however it is cut", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: "grapheme", minLength: 1 })), async (texts) => {
      const entries = [...texts.flatMap((text) => [typed(text), { type: "input.commit" } as const]), END];
      // One byte at a time: characters of several bytes arrive in pieces.
      const { text, events, error } = await collect(generate(["dd", "bs=1", "status=none"], entries));
      expect([error, text]).toEqual([undefined, texts.map((line) => `${line}\n`).join("")]);
      expect(events.at(-1)).toEqual({ type: "finish", reason: "stop" });
    }),
    { numRuns: 10 },
  );
});

test("the text of a prompt is its program's input, and each four bytes of output count as a token", async () => {
  const input = [
    { role: "system", content: "one" },
    { role: "user", content: [{ type: "text", text: "two" }] },
  ];
  const { text, events } = await collect(generate(["tr", "a-z", "A-Z"], undefined, { request: { input } }));
  expect(text).toBe("ONE\nTWO");
  const tokens = events.map((event) => (event.type === "text" ? (event.tokens ?? 1) : 0));
  expect(tokens.reduce((sum, each) => sum + each)).toBe(2);
  expect(consumedOf(events)).toEqual([]);
});

test("a prompt of any length reaches a program that speaks at its end only", async () => {
  const request = { input: "a".repeat(200_000) };
  const { text } = await collect(generate(["wc", "-c"], undefined, { request }));
  expect(text.trim()).toBe("200000");
});

test("a program that speaks at its end only says how far it has read meanwhile", async () => {
  const heard = Promise.withResolvers<void>();
  async function* entries() {
    for (let i = 0; i < 10; i++) yield sound(16_384);
    await heard.promise;
    yield END;
  }
  const events: EngineEvent[] = [];
  for await (const event of generate(["wc", "-c"], entries())) {
    events.push(event);
    if (consumedOf([event]).length > 0) heard.resolve();
  }
  expect(events.slice(-2)).toMatchObject([
    { text: expect.stringMatching(/^\s*163840\n$/) },
    { reason: "stop" },
  ]);
  expect(consumedOf(events).at(-1)).toBe(11);
});

test("a program that reads no more is fed no more, and its end is the end", async () => {
  let pulled = 0;
  function* endless() {
    for (;;) {
      pulled++;
      yield typed("x".repeat(16_384));
    }
  }
  const { text, events } = await collect(generate(["head", "-c", "3"], endless()));
  expect([text, events.at(-1)]).toEqual(["xxx", { type: "finish", reason: "stop" }]);
  expect(pulled).toBeLessThan(200);
});

test.each([
  [{ maxOutputBytes: 10 }, "ßßßßß", 3],
  [{ maxOutputBytes: 11 }, "ßßßßß", 3],
  [{ request: { max_output_tokens: 1 } }, "ßß", 1],
])("output is cut off at %j, and the program is ended", async (options, expected, count) => {
  const { text, events, error } = await collect(generate(sh("yes ß | tr -d '\\n'"), undefined, options));
  expect([error, text]).toEqual([undefined, expected]);
  expect(events.at(-1)).toEqual({ type: "finish", reason: "length" });
  expect(events.flatMap((event) => (event.type === "text" ? [event.tokens] : []))).toEqual([count]);
});

test.each([
  ["exit 3", "engine_failed", "ended with status 3", "never"],
  ["exit 255", "engine_failed", "ended with status 255", "never"],
  ["kill -SEGV $$", "engine_failed", "ended by signal 11", "broken"],
  ["exec /no/such/program", "engine_unavailable", "can't be run", "never"],
])("%s is a failure, told without a word of the program", async (script, code, message, retry) => {
  const { error } = await collect(generate(sh(`cat >&2; ${script}`)));
  expect(error).toMatchObject({ code, retry, message: expect.stringContaining(message) });
  expect(JSON.stringify([error, (error as Error).message])).not.toContain("straße");
});

test("stderr is told by its size", async () => {
  const { error } = await collect(generate(sh("cat >&2; exit 1")));
  expect(error).toMatchObject({ said: "7 bytes on stderr" });
});

test("a program has the environment and the memory that its operator gives it, and a folder that is removed", async () => {
  const environment = { PATH: "/usr/bin:/bin", MODEL_DIR: "/models" };
  const script = "pwd; touch rest; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | sort";
  const { text } = await collect(generate(sh(script), undefined, { environment }));
  const [folder, ...variables] = text.trimEnd().split("\n");
  expect(variables).toEqual(["MODEL_DIR=/models", "PATH=/usr/bin:/bin"]);
  expect(folder).toMatch(/reprise-command-\w+$/);
  const engine = createEngine(["true"]);
  await engine.close();
  await expect.poll(() => readdir(tmpdir())).not.toContain(folder!.split("/").at(-1));

  const greedy = ["dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1", "status=none"] as const;
  expect((await collect(generate(greedy))).error).toBeUndefined();
  expect((await collect(generate(greedy, undefined, { maxMemoryMb: 100 }))).error).toMatchObject({
    code: "engine_failed",
  });
});

test("an abort is answered at once, and no process is left, even of those that do not listen", async () => {
  const engine = createEngine(sh("trap '' TERM; sleep 600 & echo $$ $!; cat; wait"));
  const controller = new AbortController();
  const reason = new Error("cancelled");
  const events = engine.generate(
    { model: "program", input: [], input_stream: { format: "text" } },
    {
      ...NO_PROGRESS,
      signal: controller.signal,
      input: recordsOf(
        (async function* () {
          yield typed("never ends");
          await new Promise(() => {});
        })(),
      ),
    },
  );
  let said = "";
  const failed = (async () => {
    for await (const event of events) {
      said += event.type === "text" ? event.text : "";
      if (said.endsWith("ends")) controller.abort(reason);
    }
  })();
  await expect(failed).rejects.toBe(reason);
  const pids = /^\d+ \d+/.exec(said)![0].split(" ").map(Number);
  await engine.close();
  for (const pid of pids) await expect.poll(() => readCommandLine(pid)).toBe("");
});

test("a folder that can't be removed does no harm", async () => {
  // A path that is longer than the system takes in one piece.
  const engine = createEngine(
    sh("pwd; name=$(printf %0250d 0); for i in $(seq 20); do mkdir $name; cd -P $name; done"),
  );
  const options = { ...NO_PROGRESS, signal: new AbortController().signal };
  const { text } = await collect(engine.generate({ model: "program", input: "" }, options));
  await engine.close();
  await promisify(execFile)("rm", ["-r", text.trimEnd()]);
});

test("a program that the system does not start leaves no folder", async () => {
  await using folder = await createTempDir();
  vi.stubEnv("TMPDIR", folder.path);
  const { error } = await collect(generate(["echo", "x".repeat(1_000_000)]));
  expect(error).toMatchObject({ code: "engine_unavailable", retry: "broken" });
  expect(await readdir(folder.path)).toEqual([]);
});

test("input that is lost fails the generation", async () => {
  const lost = new RepriseError("cursor_expired", "Entry 2 of the input is no longer kept.");
  async function* entries() {
    yield typed("a");
    throw lost;
  }
  expect((await collect(generate(["cat"], entries()))).error).toBe(lost);
});
