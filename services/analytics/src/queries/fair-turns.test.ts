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
  const [beta, gamma] = [work("beta", begun), work("gamma", begun)];
  answers.push(turns.run("beta", beta.run), turns.run("gamma", gamma.run));
  await Promise.resolve();
  expect(begun).toEqual(["acme 0", "beta"]);
  many[0]?.end();
  await answers[0];
  // What came before acme's second question is answered before it.
  await expect.poll(() => begun).toEqual(["acme 0", "beta", "gamma"]);
  for (const { end } of [...many, beta, gamma]) end();
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
