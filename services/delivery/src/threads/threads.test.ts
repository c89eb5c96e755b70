import { asUnixMs, createGenerationId, parseTenantId, threadSubject } from "@reprise/protocol";
import { hash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Platform, openPlatform } from "../testing/platform.ts";
import { Threads } from "./threads.ts";

let platform: Platform;
let threads: Threads;
beforeAll(async () => {
  platform = await openPlatform();
  const { log, broker } = platform;
  threads = new Threads({ publish: log.publish, reads: broker.reads, budgetMs: () => 600_000 });
});
afterAll(async () => platform?.[Symbol.asyncDispose]());

const generation = () => createGenerationId(randomBytes(17), 2);
const named = (id: string, endUser?: string, protocol = "ai-sdk") =>
  ({ tenant: parseTenantId("acme"), protocol, endUser, id }) as const;
const run = (at: number) => ({ generation: generation(), requestedAtMs: asUnixMs(at) });

test("a thread is at the run that was requested last", async () => {
  const [first, second] = [run(1), run(2)];
  expect(await threads.current(named("last"))).toBeUndefined();
  await threads.begin(named("last"), first);
  expect(await threads.current(named("last"))).toBe(first.generation);
  await threads.begin(named("last"), second);
  expect(await threads.current(named("last"))).toBe(second.generation);
});

test("a request that is sent again does not put its older run in the place of a newer one", async () => {
  const [first, second] = [run(1), run(2)];
  await threads.begin(named("again"), first);
  await threads.begin(named("again"), second);
  await threads.begin(named("again"), first);
  expect(await threads.current(named("again"))).toBe(second.generation);
});

test("runs that are begun at once leave the newest", async () => {
  const runs = Array.from({ length: 8 }, (_, at) => run(at));
  await Promise.all(runs.map((one) => threads.begin(named("race"), one)));
  expect(await threads.current(named("race"))).toBe(runs.at(-1)?.generation);
});

test("many runs of one millisecond leave one of them, and none fails", async () => {
  const runs = Array.from({ length: 32 }, () => run(5));
  await Promise.all(runs.map((one) => threads.begin(named("same"), one)));
  expect(runs.map((one) => one.generation)).toContain(await threads.current(named("same")));
});

test("a row may be kept for less than the logs are", async () => {
  const [first, second] = [run(1), run(2)];
  await threads.begin(named("short"), first, { ttlSeconds: 1 });
  await threads.begin(named("long"), second);
  await expect.poll(() => threads.current(named("short"))).toBeUndefined();
  expect(await threads.current(named("long"))).toBe(second.generation);
  await threads.begin(named("short"), second, { ttlSeconds: 60 });
  expect(await threads.current(named("short"))).toBe(second.generation);
});

test("another end user, protocol or tenant has a thread of its own under the same name", async () => {
  const one = run(1);
  await threads.begin(named("own", "ann"), one);
  expect(await threads.current(named("own", "bob"))).toBeUndefined();
  expect(await threads.current(named("own"))).toBeUndefined();
  expect(await threads.current(named("own", "ann", "tanstack"))).toBeUndefined();
  expect(await threads.current({ ...named("own", "ann"), tenant: parseTenantId("beta") })).toBeUndefined();
});

test("a name may be any text", () => {
  const sha256 = (text: string) => hash("sha256", text, "buffer");
  for (const id of ["", "*", ">", "a.b", "x".repeat(10_000), "\n"])
    expect(threadSubject(named(id), sha256)).toMatch(/^thread\.acme\.[0-9a-v]{26}$/);
});
