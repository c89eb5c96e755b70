import { expect, test } from "vitest";
import { FairSemaphore, MOST_OF_TENANT, OPERATOR } from "./fair-semaphore.ts";

/** Work that runs until it is told to end. */
function work(name: string, begun: string[]) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = () => {
    begun.push(name);
    return promise;
  };
  return { run, end: resolve };
}

test("a tenant with many questions has one answered at a time, and others have theirs between", async () => {
  const semaphore = new FairSemaphore();
  const begun: string[] = [];
  const many = Array.from({ length: 8 }, (_, i) => work(`acme ${i}`, begun));
  const answers = many.map(({ run }) => semaphore.run("acme", run));
  const others = ["beta", "gamma", "delta", "epsilon"].map((name) => ({ name, ...work(name, begun) }));
  for (const { name, run } of others) answers.push(semaphore.run(name, run));
  await expect.poll(() => begun).toEqual(["acme 0", "beta", "gamma"]);
  many[0]?.end();
  await answers[0];
  // What came before acme's second question is answered before it.
  await expect.poll(() => begun).toEqual(["acme 0", "beta", "gamma", "delta"]);
  for (const { end } of [...many, ...others]) end();
  await Promise.all(answers);
  expect(begun.filter((name) => name.startsWith("acme"))).toEqual(many.map((_, i) => `acme ${i}`));
});

test("a tenant's question beyond its limit is refused, and another tenant's is not", async () => {
  const semaphore = new FairSemaphore();
  const works = Array.from({ length: MOST_OF_TENANT + 1 }, (_, i) => work(`${i}`, []));
  const answers = works.slice(0, MOST_OF_TENANT).map(({ run }) => semaphore.run("acme", run));
  await expect(semaphore.run("acme", works[MOST_OF_TENANT]!.run)).rejects.toMatchObject({
    code: "analytics_unavailable",
    retryAfterMs: 1_000,
  });
  expect(await semaphore.run("beta", async () => "answered")).toBe("answered");
  for (const { end } of works) end();
  await Promise.all(answers);
  expect(await semaphore.run("acme", async () => "again")).toBe("again");
});

test("an answer that fails gives its place back", async () => {
  const semaphore = new FairSemaphore();
  for (let i = 0; i < 20; i++)
    await expect(semaphore.run("acme", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
});

test("the operator's question does not wait for those of tenants, however many there are", async () => {
  const semaphore = new FairSemaphore();
  const begun: string[] = [];
  const works = Array.from({ length: 20 }, (_, i) => ({ name: `tenant ${i}`, ...work(`${i}`, begun) }));
  const answers = works.map(({ name, run }) => semaphore.run(name, run));
  expect(await semaphore.run(OPERATOR, async () => "answered")).toBe("answered");
  expect(begun).toEqual(["0", "1", "2"]);
  for (const { end } of works) end();
  await Promise.all(answers);
});

test("a question that is not answered in time is told so, while it waits and while it is answered", async () => {
  const semaphore = new FairSemaphore(1);
  const signals: AbortSignal[] = [];
  const answer = (signal: AbortSignal) => {
    signals.push(signal);
    return new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  };
  const late = [semaphore.run("acme", answer), semaphore.run("acme", answer)];
  for (const one of late) await expect(one).rejects.toMatchObject({ code: "analytics_unavailable" });
  expect(signals.map(({ aborted }) => aborted)).toContain(true);
  expect(await semaphore.run("acme", async () => "again")).toBe("again");
});

test("a question whose caller is gone gives its place to the next one, and is not begun", async () => {
  const semaphore = new FairSemaphore();
  const begun: string[] = [];
  const first = work("first", begun);
  const gone = new AbortController();
  const answers = [
    semaphore.run("acme", first.run),
    semaphore.run("acme", work("gone", begun).run, gone.signal),
  ];
  const next = semaphore.run("acme", async () => void begun.push("next"));
  gone.abort(new Error("gone"));
  await expect(answers[1]).rejects.toThrow("gone");
  first.end();
  await Promise.all([answers[0], next]);
  expect(begun).toEqual(["first", "next"]);
});
