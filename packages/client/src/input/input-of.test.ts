import { expect, it } from "vitest";
import { createTestClient } from "../testing/test-runtime.ts";
import { inputOf } from "./input-of.ts";

/** PROTOCOL §4.2: `bodyBytes`. */
const LIMITS_BODY_BYTES = 1_048_576;

interface Body {
  readonly first: number;
  readonly entries: readonly { readonly type: string; readonly text?: string; readonly audio?: string }[];
}

/** A platform that stores entries; every `breaks`th answer is lost. */
function openPlatform(breaks = Number.POSITIVE_INFINITY) {
  const log: string[] = [];
  const bodies: Body[] = [];
  const client = createTestClient("http://platform.test", {
    fetch: async (_url, { body }) => {
      const sent = JSON.parse(body as string) as Body;
      bodies.push(sent);
      for (const [i, { type, text, audio }] of sent.entries.entries())
        if (sent.first + i === log.length + 1) log.push(text ?? audio ?? type);
      if (bodies.length % breaks === 0) throw new Error("reset");
      return new Response(JSON.stringify({ stored: log.length, consumed: 0 }), { status: 200 });
    },
  });
  return { client, log, bodies };
}

it("entries are numbered in the order of the calls, and those that wait go together", async () => {
  const { client, log, bodies } = openPlatform();
  const input = inputOf(client, "gen_0_1");
  await Promise.all([
    input.text("a"),
    input.text("b"),
    input.audio(Uint8Array.of(1, 2)),
    input.commit(),
    input.end(),
  ]);
  expect(log).toEqual(["a", "b", "AQI=", "input.commit", "input.end"]);
  expect(bodies.map(({ first, entries }) => [first, entries.length])).toEqual([
    [1, 1],
    [2, 4],
  ]);
});

it("nothing is lost or stored twice where answers are lost", async () => {
  const { client, log } = openPlatform(2);
  const input = inputOf(client, "gen_0_1");
  const texts = Array.from({ length: 600 }, (_, i) => `${i}`);
  await Promise.all(texts.map((text) => input.text(text)));
  expect(log).toEqual(texts);
});

it("a call has at most 256 entries and about 128 KiB, and fits a body when all of it is escaped", async () => {
  const { client, bodies } = openPlatform();
  const input = inputOf(client, "gen_0_1", { stored: 0 });
  const long = "\u0001".repeat(16_000);
  await Promise.all([
    ...Array.from({ length: 40 }, () => input.text(long)),
    ...Array.from({ length: 300 }, () => input.commit()),
  ]);
  expect(Math.max(...bodies.map(({ entries }) => entries.length))).toBeLessThanOrEqual(256);
  expect(Math.max(...bodies.map((body) => JSON.stringify(body).length))).toBeLessThan(LIMITS_BODY_BYTES);
});

it("an error that is not retryable ends what waits, and continues after what is stored", async () => {
  const { client, log } = openPlatform();
  await inputOf(client, "gen_0_1").text("a");
  const other = inputOf(client, "gen_0_1", { stored: 1 });
  await other.text("b");
  expect(log).toEqual(["a", "b"]);
  const refusing = createTestClient("http://platform.test", {
    fetch: async () =>
      new Response(JSON.stringify({ error: { code: "input_ended", message: "over", retryable: false } }), {
        status: 409,
      }),
  });
  const input = inputOf(refusing, "gen_0_1");
  const outcomes = await Promise.allSettled([input.text("a"), input.text("b")]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await expect(input.end()).rejects.toMatchObject({ code: "input_ended" });
});
