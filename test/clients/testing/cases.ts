import { randomUUID } from "node:crypto";
import { createSeededRandom } from "@reprise/testkit";
import { expect } from "vitest";
import { textOf } from "../../e2e/testing/cluster.ts";
import type { CaseName } from "./cells.ts";
import { type Asked, type Asker, type Client, codeOf, MOST_RETURNS, type Told } from "./client.ts";
import type { Platform, Tenant } from "./platform.ts";
import {
  CALLED,
  CALLING,
  CARD,
  FAILING,
  QUICK,
  REASONED,
  REASONING,
  RESTARTING,
  type Script,
  SLOW,
  STALLING,
  STORY,
  STRUCTURED,
  WEATHER,
} from "./sim.ts";

/* The cases of docs/clients.md, for any client. */

type Case<Needed extends Asker = Asker> = (platform: Platform, client: Needed) => Promise<void>;
type Question = Omit<Asked, "platform" | "scripts">;

const CUTS = 4;

/** Asks a client and checks the number of runs. */
async function ask(
  platform: Platform,
  client: Asker,
  scripts: Asked["scripts"],
  question: Question = {},
): Promise<Told> {
  const before = await platform.runs(question.tenant);
  const told = await client.ask({ platform, scripts, ...question });
  expect((await platform.runs(question.tenant)) - before).toBe(scripts.length);
  return told;
}

const plain: Case = async (platform, client) => {
  const told = await ask(platform, client, [QUICK]);
  expect(told).toMatchObject({ text: QUICK.text, finish: client.finish.completed, error: undefined });
};

const tools: Case = async (platform, client) => {
  const told = await ask(platform, client, [CALLING, REASONING], { tools: true });
  expect(told).toMatchObject({ text: CALLING.text + REASONING.text, calls: [CALLED], error: undefined });
};

const reasoning: Case = async (platform, client) => {
  const told = await ask(platform, client, [REASONING]);
  expect(told).toMatchObject({ text: REASONING.text, reasoning: REASONED });
};

const structured: Case = async (platform, client) => {
  const { text } = await ask(platform, client, [STRUCTURED], { structured: true });
  expect(JSON.parse(text)).toEqual(WEATHER);
};

const cancel: Case = async (platform, client) => {
  const asked = ask(platform, client, [STALLING]);
  const id = await untilStalled(platform, asked);
  await (client.cancel ? client.cancel(platform, id) : platform.cancel(id));
  expect(await asked).toMatchObject({
    text: STALLING.text,
    finish: client.finish.cancelled,
    error: undefined,
  });
};

const failure: Case<Client> = async (platform, client) => {
  const told = await ask(platform, client, [FAILING]);
  expect(codeOf(told.error)).toBe("engine_failed");
  expect(told.text).toBe(client.failsBare ? "" : FAILING.text);
};

const takeoverWithContinuation: Case = async (platform, client) => {
  const told = await takeOver(platform, SLOW, (script) =>
    ask(platform, client, [script], { idempotencyKey: randomUUID() }),
  );
  expect(told).toMatchObject({ text: SLOW.text, finish: client.finish.completed, error: undefined });
};

/** Text that was shown stays shown: a stream fails as `restarted`, and one body has the whole answer. */
const takeoverWithoutContinuation: Case<Client> = async (platform, client) => {
  const { told, asked } = await takeOver(platform, RESTARTING, async (script) => {
    const idempotencyKey = randomUUID();
    return {
      told: await ask(platform, client, [script], { idempotencyKey }),
      asked: { platform, scripts: [script], idempotencyKey } satisfies Asked,
    };
  });
  expect(client.streams ? codeOf(told.error) : told.text).toBe(
    client.streams ? "restarted" : RESTARTING.text,
  );
  if (client.readWhole) expect(await client.readWhole(asked)).toBe(RESTARTING.text);
};

const moderated =
  (tenant: Tenant, text: string): Case =>
  async (platform, client) => {
    const told = await ask(platform, client, [CARD], { tenant });
    expect(told).toMatchObject({ text, finish: client.finish.completed, error: undefined });
  };

/** Cuts connections. A client that does not come back by itself sends its request again, with its key. */
const randomCuts: Case = async (platform, client) => {
  // A kept connection would be reused, and not be cut.
  platform.cutNow();
  const before = { cuts: platform.cuts, runs: await platform.runs() };
  platform.cutNext(createSeededRandom(11), { count: CUTS, ...client.cuts });
  const asked: Asked = { platform, scripts: [STORY], idempotencyKey: randomUUID() };
  let told = await client.ask(asked);
  for (let returns = 0; told.error !== undefined && !client.comesBack; returns++) {
    if (returns === MOST_RETURNS) throw new Error("The answer never comes.", { cause: told.error });
    told = await client.ask(asked);
  }
  expect(told).toMatchObject({ text: STORY.text, finish: client.finish.completed, error: undefined });
  expect(platform.cuts - before.cuts).toBe(client.cuts?.count ?? CUTS);
  expect((await platform.runs()) - before.runs).toBe(1);
};

const OF_ALL = {
  plain,
  tools,
  reasoning,
  structured,
  cancel,
  "takeover with continuation": takeoverWithContinuation,
  observe: moderated("observe", CARD.text),
  gate: moderated("gate", CARD.shown),
  retract: moderated("retract", CARD.shown),
  "random cuts": randomCuts,
} satisfies Partial<Record<CaseName, Case>>;

const CLIENT_CASES: Readonly<Record<CaseName, Case<Client>>> = {
  ...OF_ALL,
  failure,
  "takeover without continuation": takeoverWithoutContinuation,
};

/** A chat of the AI SDK has the message of a failure, and takes back text that is restarted. */
const CHAT_CASES: Readonly<Record<CaseName, Case>> = {
  ...OF_ALL,
  async failure(platform, client) {
    const { text, error } = await ask(platform, client, [FAILING]);
    expect(text).toBe(FAILING.text);
    expect(error).toMatchObject({ message: expect.stringMatching(/told to fail after 20 tokens/) });
  },
  async "takeover without continuation"(platform, client) {
    const told = await takeOver(platform, RESTARTING, (script) => ask(platform, client, [script]));
    expect(told).toMatchObject({ text: RESTARTING.text, finish: "stop", error: undefined });
  },
};

export function runCase(name: CaseName, platform: Platform, client: Client): Promise<void> {
  return CLIENT_CASES[name](platform, client);
}

export function runChatCase(name: CaseName, platform: Platform, client: Asker): Promise<void> {
  return CHAT_CASES[name](platform, client);
}

/** A position within the head of any answer. */
const HEAD_BYTES = 100;
let lost = 0;

/** A client whose connection is lost before the head of its answer sends its request again, and joins its run without a key, at any node. */
export const lostHead: Case = async (platform, client) => {
  platform.cutNow();
  const { cuts } = platform;
  platform.cutNext(createSeededRandom(19), { count: 1, from: 1, to: HEAD_BYTES });
  // The same request as another test's would join that test's run.
  const script = { ...QUICK, options: { ...QUICK.options, seed: ++lost } };
  const told = await ask(platform, client, [script]);
  expect(told).toMatchObject({ text: QUICK.text, finish: client.finish.completed, error: undefined });
  expect(platform.cuts - cuts).toBe(1);
};

/** Tokens per second. The faster ones are for machines that are idle. */
const PACES = [15, 5, 1] as const;

/**
 * Kills the worker of a run in mid-answer. If the answer ended first, on a busy machine, it asks again at a slower pace.
 * @param askPaced asks for a new run each time
 */
async function takeOver<T>(
  platform: Platform,
  script: Script,
  askPaced: (paced: Script) => Promise<T>,
): Promise<T> {
  for (const pace of PACES) {
    const asked = askPaced({ ...script, options: { ...script.options, tokens_per_second: pace } });
    const id = await Promise.race([platform.untilSaid(5), asked.then(() => undefined)]);
    const isTakenOver = id !== undefined && (await platform.killWorkerOf(id));
    const told = await asked;
    if (isTakenOver) return told;
  }
  throw new Error(`Each answer ended before its worker was killed, the last at ${PACES.at(-1)} token/s.`);
}

/**
 * Resolves with the id of the generation with the script `STALLING` once all of its text is stored.
 * @throws Error if the client has its answer before: the test can disturb it no more
 */
async function untilStalled(platform: Platform, asked: Promise<unknown>): Promise<string> {
  const tooEarly = async () => {
    throw new Error("The answer came before it was disturbed.", { cause: await asked });
  };
  const id = await Promise.race([platform.untilSaid(1), tooEarly()]);
  await platform.untilLog(id, (events) => textOf(events) === STALLING.text);
  return id;
}
