import { randomUUID } from "node:crypto";
import { createSeededRandom } from "@reprise/testkit";
import { expect } from "vitest";
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
  SLOW,
  STALLING,
  STORY,
  STRUCTURED,
  WEATHER,
} from "./sim.ts";
import { takeOver } from "./take-over.ts";
import { untilStalled } from "./until-stalled.ts";

/* What each client is put through that is asked in one way. */

type Case<Needed extends Asker = Asker> = (platform: Platform, client: Needed) => Promise<void>;
type Question = Omit<Asked, "platform" | "scripts">;

const CUTS = 4;

/** The answer, and that it took so many runs. */
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

export const plain: Case = async (platform, client) => {
  const told = await ask(platform, client, [QUICK]);
  expect(told).toMatchObject({ text: QUICK.text, finish: client.finish.completed, error: undefined });
};

export const tools: Case = async (platform, client) => {
  const told = await ask(platform, client, [CALLING, REASONING], { tools: true });
  expect(told).toMatchObject({ text: CALLING.text + REASONING.text, calls: [CALLED], error: undefined });
};

export const reasoning: Case = async (platform, client) => {
  const told = await ask(platform, client, [REASONING]);
  expect(told).toMatchObject({ text: REASONING.text, reasoning: REASONED });
};

export const structured: Case = async (platform, client) => {
  const { text } = await ask(platform, client, [STRUCTURED], { structured: true });
  expect(JSON.parse(text)).toEqual(WEATHER);
};

export const cancel: Case = async (platform, client) => {
  const asked = ask(platform, client, [STALLING]);
  await (client.cancel ?? cancelNatively)(platform, await untilStalled(platform, asked));
  expect(await asked).toMatchObject({
    text: STALLING.text,
    finish: client.finish.cancelled,
    error: undefined,
  });
};

const cancelNatively: NonNullable<Asker["cancel"]> = (platform, id) => platform.cancel(id);

export const failure: Case<Client> = async (platform, client) => {
  const told = await ask(platform, client, [FAILING]);
  expect(codeOf(told.error)).toBe("engine_failed");
  expect(told.text).toBe(client.failsBare ? "" : FAILING.text);
};

export const takeoverWithContinuation: Case = async (platform, client) => {
  const told = await takeOver(platform, SLOW, (script) =>
    ask(platform, client, [script], { idempotencyKey: randomUUID() }),
  );
  expect(told).toMatchObject({ text: SLOW.text, finish: client.finish.completed, error: undefined });
};

/** What was shown can't be taken back: the client is told so, and is given the whole answer where it asks for it as one body. */
export const takeoverWithoutContinuation: Case<Client> = async (platform, client) => {
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
  expect(await client.readWhole(asked)).toBe(RESTARTING.text);
};

const moderated =
  (tenant: Tenant, text: string): Case =>
  async (platform, client) => {
    const told = await ask(platform, client, [CARD], { tenant });
    expect(told).toMatchObject({ text, finish: client.finish.completed, error: undefined });
  };
export const observe = moderated("observe", CARD.text);
export const gate = moderated("gate", CARD.shown);
export const retract = moderated("retract", CARD.shown);

/** A client that does not come back is made to send its request again, with its key. */
export const randomCuts: Case<Client> = async (platform, client) => {
  // Connections that are kept open would be used again, and are not cut.
  platform.cutNow();
  const before = { cuts: platform.cuts, runs: await platform.runs() };
  const random = createSeededRandom(11);
  platform.cutNext(random, { count: CUTS, ...(client.streams ? {} : { from: 50, to: 1_500 }) });
  const asked: Asked = { platform, scripts: [STORY], idempotencyKey: randomUUID() };
  let told = await client.ask(asked);
  for (let returns = 0; told.error !== undefined && !client.comesBack; returns++) {
    if (returns === MOST_RETURNS) throw new Error("The answer never comes.", { cause: told.error });
    told = await client.ask(asked);
  }
  expect(told).toMatchObject({ text: STORY.text, finish: client.finish.completed, error: undefined });
  expect(platform.cuts - before.cuts).toBe(CUTS);
  expect((await platform.runs()) - before.runs).toBe(1);
};

/** Within the head of an answer, however short. */
const HEAD_BYTES = 100;
let lost = 0;

/** A client whose connection is lost before the head of its answer sends its request again by itself: without a key it joins its run, on whichever node. */
export const lostHead: Case = async (platform, client) => {
  platform.cutNow();
  const { cuts } = platform;
  platform.cutNext(createSeededRandom(19), { count: 1, from: 1, to: HEAD_BYTES });
  // In words of its own: the same words as of another test would join that one's run.
  const script = { ...QUICK, options: { ...QUICK.options, seed: ++lost } };
  const told = await ask(platform, client, [script]);
  expect(told).toMatchObject({ text: QUICK.text, finish: client.finish.completed, error: undefined });
  expect(platform.cuts - cuts).toBe(1);
};
