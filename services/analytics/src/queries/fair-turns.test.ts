import { expect, test } from "vitest";
import { FairTurns, MOST_OF_TENANT } from "./fair-turns.ts";

/** Work that goes on until it is told to end. */
function work(name: string, begun: string[]) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = () => {
    begun.push(name);
    return promise;
  };
  return { run, end: resolve };
}

test("a tenant with many questions has one answered at a time, and others have theirs between", async () => {
  const turns = new FairTurns();
  const begun: string[] = [];
  const many = Array.from({ length: 8 }, (_, i) => work(`acme ${i}`, begun));
  const answers = many.map(({ run }) => turns.run("acme", run));
  const others = ["beta", "gamma", "delta", "epsilon"].map((name) => ({ name, ...work(name, begun) }));
  for (const { name, run } of others) answers.push(turns.run(name, run));
  await expect.poll(() => begun).toEqual(["acme 0", "beta", "gamma", "delta"]);
  many[0]?.end();
  await answers[0];
  // What came before acme's second question is answered before it.
  await expect.poll(() => begun).toEqual(["acme 0", "beta", "gamma", "delta", "epsilon"]);
  for (const { end } of [...many, ...others]) end();
  await Promise.all(answers);
  expect(begun.filter((name) => name.startsWith("acme"))).toEqual(many.map((_, i) => `acme ${i}`));
});

test("a tenant's question beyond its limit is refused, and another tenant's is not", async () => {
  const turns = new FairTurns();
  const works = Array.from({ length: MOST_OF_TENANT + 1 }, (_, i) => work(`${i}`, []));
  const answers = works.slice(0, MOST_OF_TENANT).map(({ run }) => turns.run("acme", run));
  await expect(turns.run("acme", works[MOST_OF_TENANT]!.run)).rejects.toMatchObject({
    code: "analytics_unavailable",
    retryAfterMs: 1_000,
  });
  expect(await turns.run("beta", async () => "answered")).toBe("answered");
  for (const { end } of works) end();
  await Promise.all(answers);
  expect(await turns.run("acme", async () => "again")).toBe("again");
});

test("an answer that fails gives its turn back", async () => {
  const turns = new FairTurns();
  for (let i = 0; i < 20; i++)
    await expect(turns.run("acme", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
});

test("a question that nobody waits for any more is not answered", async () => {
  const turns = new FairTurns(0);
  const begun: string[] = [];
  const late = turns.run("acme", work("late", begun).run);
  await expect(late).rejects.toMatchObject({ code: "analytics_unavailable" });
  expect(begun).toEqual([]);
});
