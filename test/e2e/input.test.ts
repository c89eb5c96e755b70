import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { KnownEvent } from "@reprise/protocol";
import { startTcpProxy, withSeed } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster, textOf } from "./testing/cluster.ts";

/* Streamed input: what a client says while the model speaks. The simulator's output is a function of the input, so that bytes can be compared. */

type Entry = { readonly type: string; readonly text?: string; readonly audio?: string };
type Cluster = Awaited<ReturnType<typeof startCluster>>;

const END: Entry = { type: "input.end" };
const typed = (text: string): Entry => ({ type: "input.delta", text });
const isEnd = ({ type }: KnownEvent) => /completed|failed|cancelled/.test(type);

/** A client that numbers its entries, and after a broken connection asks for the next one. */
function createSender(cluster: Cluster, id: string, url: () => string) {
  const headers = { authorization: `Bearer ${cluster.keys["acme"]!}`, "content-type": "application/json" };
  const call = async (init: RequestInit) => {
    const answer = await fetch(`${url()}/v1/generations/${id}/input`, { ...init, headers });
    return { status: answer.status, json: (await answer.json()) as Record<string, number> };
  };
  const append = (first: number, entries: readonly Entry[]) =>
    call({ method: "POST", body: JSON.stringify({ first, entries }) });
  /** Sends all entries, again after each broken connection. */
  async function sendAll(entries: readonly Entry[], sizeOf: () => number) {
    let breaks = 0;
    for (let next = 1; next <= entries.length;) {
      try {
        const { status, json } = await append(next, entries.slice(next - 1, next - 1 + sizeOf()));
        expect([status, json]).toMatchObject([200, {}]);
        next = json["stored"]! + 1;
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        breaks++;
        next = await eventualNext();
      }
    }
    return breaks;
  }
  async function eventualNext(): Promise<number> {
    for (;;) {
      try {
        return (await call({ method: "GET" })).json["stored"]! + 1;
      } catch {
        // Cut again.
      }
    }
  }
  return { append, call, sendAll };
}

async function create(
  cluster: Cluster,
  url: string,
  format: string,
  options: object = {},
  { model = "sim", policy = {} }: { model?: string; policy?: object } = {},
): Promise<string> {
  const answer = await fetch(`${url}/v1/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${cluster.keys["acme"]!}`, "content-type": "application/json" },
    body: JSON.stringify({ model, input: { stream: { format } }, options, policy }),
  });
  const created = (await answer.json()) as { id: string };
  expect([answer.status, created]).toEqual([201, expect.anything()]);
  return created.id;
}

const WORDS = Array.from({ length: 400 }, (_, i) => `word-${i} `);

test("text that is sent over broken connections to two nodes is answered once, whole and in order", async () => {
  await withSeed(20_261_129, async (random) => {
    await using cluster = await startCluster();
    const [near, far] = await Promise.all([
      cluster.startDelivery(),
      cluster.startDelivery(),
      cluster.startWorker(),
    ]);
    await using proxy = await startTcpProxy({
      target: { port: Number(new URL(near.url).port) },
      faults: () => ({
        toServer: { cutAfterBytes: random.integer(200, 6_000) },
        toClient: { cutAfterBytes: random.integer(200, 6_000) },
      }),
    });
    const id = await create(cluster, near.url, "text");
    const urls = [`http://${proxy.host}:${proxy.port}`, far.url];
    const sender = createSender(cluster, id, () => urls[random.integer(0, 9) === 0 ? 1 : 0]!);
    const breaks = await sender.sendAll([...WORDS.map(typed), END], () => random.integer(1, 12));
    expect(breaks).toBeGreaterThan(2);
    const events = await cluster.untilLog("acme", id, (log) => log.some(isEnd));
    expect(textOf(events)).toBe(WORDS.join(""));
    expect(events.at(-1)).toMatchObject({ type: "generation.completed", finish_reason: "stop" });
    // The answer to the last entries may be lost, and the generation ends meanwhile.
    const last = WORDS.length + 1;
    const { append } = createSender(cluster, id, () => far.url);
    expect(await append(last - 1, [typed(WORDS.at(-1)!), END])).toMatchObject({
      status: 200,
      json: { stored: last },
    });
    expect(await append(last + 1, [typed("late")])).toMatchObject({
      status: 409,
      json: { error: { code: "generation_ended" } },
    });
  });
});

test.each([
  ["text", WORDS.map(typed), WORDS.join("").toUpperCase(), { answer: "upper" }],
  [
    "audio/pcm;rate=16000;channels=1",
    Array.from({ length: 300 }, (_, i) => ({
      type: "input.audio",
      audio: Buffer.alloc(640, i).toString("base64"),
    })),
    // A word for each 100 ms of six seconds.
    expect.stringMatching(/^\s*(\S+\s+){59}\S+$/),
    {},
  ],
])(
  "another worker continues %s where the lost one was, with nothing heard twice",
  async (format, entries, expected, options) => {
    await using cluster = await startCluster({ ackWaitMs: 2_000 });
    const [{ url }, victim] = await Promise.all([cluster.startDelivery(), cluster.startWorker()]);
    const whole = await create(cluster, url, format, options);
    const direct = createSender(cluster, whole, () => url);
    await direct.sendAll([...entries, END], () => 100);
    const undisturbed = textOf(await cluster.untilLog("acme", whole, (log) => log.some(isEnd)));
    expect(undisturbed).toEqual(expected);

    const id = await create(cluster, url, format, options);
    const sender = createSender(cluster, id, () => url);
    await sender.append(1, entries.slice(0, 150));
    await cluster.untilLog("acme", id, (log) => textOf(log).length > undisturbed.length / 4);
    victim.kill("SIGKILL");
    await sender.append(151, entries.slice(150, 250));
    await cluster.startWorker();
    await sender.append(251, [...entries.slice(250), END]);
    const events = await cluster.untilLog("acme", id, (log) => log.some(isEnd));
    expect(textOf(events)).toBe(undisturbed);
    expect(events.filter(({ type }) => type === "generation.started")).toHaveLength(2);
  },
);

test("a term that is cut over two nodes does not reach the model, nor after a worker's loss", async () => {
  await using cluster = await startCluster({ ackWaitMs: 2_000 });
  const [near, far, victim] = await Promise.all([
    cluster.startDelivery(),
    cluster.startDelivery(),
    cluster.startWorker(),
  ]);
  const rules = [{ terms: ["falcon"] }, { terms: ["bomb"], action: "halt", category: "violence" }];
  const policy = { moderation: { input: "gate", rules } };
  const id = await create(cluster, near.url, "text", {}, { policy });
  const [here, there] = [near, far].map(({ url }) => createSender(cluster, id, () => url));
  const isSaid = (text: string) => (log: readonly KnownEvent[]) => textOf([...log]) === text;
  await here!.append(1, [typed("Project ")]);
  await there!.append(2, [typed("fal")]);
  await cluster.untilLog("acme", id, isSaid("Project "));
  victim.kill("SIGKILL");
  await here!.append(3, [typed("con "), { type: "input.commit" }, typed("a bo")]);
  await cluster.startWorker();
  await cluster.untilLog("acme", id, isSaid("Project [redacted] "));
  await there!.append(6, [typed("mb"), END]);
  const events = await cluster.untilLog("acme", id, (log) => log.some(isEnd));
  expect(textOf(events)).toBe("Project [redacted] ");
  expect(events.slice(-2)).toMatchObject([
    { type: "moderation.halted", category: "violence", replacement: "" },
    { type: "generation.completed", finish_reason: "content_filter" },
  ]);
});

test("a program's input that was sent to a lost worker is given to another one from the start", async () => {
  await using cluster = await startCluster({ ackWaitMs: 2_000 });
  const models = join(dirname(cluster.tenantsFile), "models.json");
  const upper = { engine: "command", command: ["dd", "bs=4", "conv=ucase", "status=none"] };
  await writeFile(models, JSON.stringify({ models: { upper } }));
  const env = { REPRISE_MODELS_FILE: models };
  const [{ url }, victim] = await Promise.all([cluster.startDelivery(env), cluster.startWorker(env)]);
  const id = await create(cluster, url, "text", {}, { model: "upper" });
  const sender = createSender(cluster, id, () => url);
  await sender.append(1, WORDS.slice(0, 100).map(typed));
  await cluster.untilLog("acme", id, (log) => textOf(log).length >= 400);
  victim.kill("SIGKILL");
  await cluster.startWorker(env);
  await sender.append(101, [...WORDS.slice(100, 150).map(typed), { type: "input.commit" }, END]);
  const events = await cluster.untilLog("acme", id, (log) => log.some(isEnd));
  expect(textOf(events)).toBe(`${WORDS.slice(0, 150).join("").toUpperCase()}\n`);
  expect(events.filter(({ type }) => type === "output.rewind")).toHaveLength(1);
  expect(await sender.call({ method: "GET" })).toMatchObject({ json: { stored: 152, ended: true } });
});

test("input that does not fit is refused with what to do", async () => {
  await using cluster = await startCluster();
  const { url } = await cluster.startDelivery();
  const id = await create(cluster, url, "text");
  const { append, call } = createSender(cluster, id, () => url);
  expect(await call({ method: "GET" })).toMatchObject({
    status: 200,
    json: { stored: 0, consumed: 0, bytes: 0, ended: false },
  });
  const codes = async (first: number, ...entries: Entry[]) => {
    const { status, json } = await append(first, entries);
    return [status, (json as { error?: { code: string; param?: string } }).error];
  };
  expect(await codes(2, typed("b"))).toMatchObject([409, { code: "input_gap" }]);
  expect(await codes(1, { type: "input.audio", audio: "AAAA" })).toMatchObject([
    400,
    { code: "invalid_request", param: "entries.0.type" },
  ]);
  expect(await codes(1, typed("x".repeat(16_385)))).toMatchObject([400, { param: "entries.0" }]);
  const [, ahead] = await codes(1, ...Array.from({ length: 60 }, () => typed("x".repeat(16_384))));
  expect(ahead).toBeUndefined();
  // No worker consumes it.
  const [status, error] = await codes(61, ...Array.from({ length: 60 }, () => typed("x".repeat(16_384))));
  expect([status, error]).toMatchObject([429, { code: "limit_exceeded", param: "input.ahead_bytes" }]);
  await codes(61, END);
  expect(await codes(62, typed("late"))).toMatchObject([409, { code: "input_ended" }]);
});
