import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { startFakeAnalytics } from "../testing/fake-analytics.ts";
import { KEYS, openPlatform } from "../testing/platform.ts";
import { EXIT } from "./command.ts";
import { runCommand } from "./run-command.ts";

/** A platform in which analytics answers, and a shell that asks as the operator. */
async function openShell(...answers: object[]) {
  const platform = await openPlatform({ liveTenants: true });
  const asked = await startFakeAnalytics(platform.broker, () => answers.shift() ?? {});
  const run = async (...args: string[]) => {
    const texts = { out: "", err: "" };
    const sink = (name: keyof typeof texts) =>
      new Writable({
        write(chunk: Buffer, _encoding, callback) {
          texts[name] += chunk.toString();
          callback();
        },
      });
    const env = { REPRISE_URL: platform.node.url, REPRISE_ADMIN_KEY: KEYS.operator };
    const code = await runCommand(args, { out: sink("out"), err: sink("err"), env });
    return { code, ...texts };
  };
  return { platform, asked, run };
}

test("a latency budget is a table of its terms, and names the one that breaks it", async () => {
  const { platform, asked, run } = await openShell({
    class: "voice",
    tokens: 8,
    generations: 5,
    without_output: 2,
    targets: [{ quantile: 0.95, target_ms: 800, measured_ms: 912.34, met: false }],
    terms: [
      { term: "queue", allotted_ms: 80, measured: 3, p50_ms: 1, p95_ms: 700.5, over_ms: 620.5, blamed: 2 },
      { term: "client", allotted_ms: 112, measured: 0, p50_ms: null, p95_ms: null, over_ms: null, blamed: 0 },
    ],
    decode_ms_per_token: { p50: 20, p95: 31.25 },
    breaks: "queue",
  });
  await using _ = platform;
  const { code, out } = await run(
    "analytics",
    "budget",
    "--class",
    "voice",
    "--tokens",
    "8",
    "--tenant",
    "acme",
  );
  expect(code).toBe(EXIT.fine);
  expect(out.split("\n")).toEqual([
    "voice, 5 generations, 2 of them without output: not counted below",
    "p95 of the first 8 tokens within 800 ms: 912.3 ms, MISSED",
    "term    allotted ms        p50 ms  p95 ms  over ms  late by it",
    "queue          80.0           1.0   700.5    620.5           2",
    "client        112.0  not measured                            0",
    "decode, after the first output: 20.0 ms per token at p50, 31.3 ms at p95",
    "The term that breaks it: queue",
    "",
  ]);
  expect(asked).toMatchObject([{ call: "budget", request: { tenant: "acme", class: "voice", tokens: 8 } }]);
});

test("usage is a table of its groups", async () => {
  const sums = { generations: 2, input_tokens: 10, output_tokens: 30, output_tokens_kept: 20 };
  const { platform, run } = await openShell({
    complete_until: "2026-11-23T11:59:58.000Z",
    data: [{ key: { model: "sim", day: "2026-11-21" }, ...sums, cost: { EUR: "0.0012" }, incomplete: 1 }],
  });
  await using _ = platform;
  const { out } = await run("analytics", "usage", "--by", "model,day");
  expect(out.split("\n")).toEqual([
    "model         day  generations  input  output  kept        cost",
    "sim    2026-11-21            2     10      30    20  0.0012 EUR",
    "incomplete, as events expired before analytics read them: 1",
    "complete until 2026-11-23T11:59:58.000Z",
    "",
  ]);
});

test("all usage is one table of every page's groups", async () => {
  const sums = { generations: 1, input_tokens: 2, output_tokens: 3, output_tokens_kept: 3, cost: {} };
  const page = (...tenants: string[]) => ({ data: tenants.map((tenant) => ({ key: { tenant }, ...sums })) });
  const { platform, asked, run } = await openShell({ ...page("a", "b"), next: "xyz" }, page("c"));
  await using _ = platform;
  const { out } = await run("analytics", "usage", "--by", "tenant", "--all");
  expect(out.split("\n").map((line) => line.trim().split(" ")[0])).toEqual(["tenant", "a", "b", "c", ""]);
  expect(asked).toMatchObject([
    { request: { by: ["tenant"], order: "key", limit: 200 } },
    { request: { by: ["tenant"], order: "key", limit: 200, after: "xyz" } },
  ]);
});

test("what the platform refuses ends the command with its words", async () => {
  const { platform, run } = await openShell({});
  await using _ = platform;
  expect(await run("analytics", "usage", "--by", "password")).toMatchObject({
    code: EXIT.refused,
    err: expect.stringContaining("invalid_request: by: must be dimensions"),
  });
});
