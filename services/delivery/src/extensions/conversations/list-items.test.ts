import {
  type EventDraft,
  type GenerationId,
  RepriseError,
  type ServedBy,
  SIM_CAPABILITIES,
} from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuditedPlatform, expire, openAuditedPlatform } from "../../testing/audited-platform.ts";
import { append, call, delta, KEYS, started } from "../../testing/platform.ts";
import { ACME, openConversation, turn, workerOf } from "../../testing/conversations.ts";

/* Conversations whose turns do not fit into one prompt: their history is in several logs. */

const LONG = "x".repeat(6_000);
const TURNS = 7;
/** Without a count of the input the prompt's size is estimated from its bytes. */
const DONE: EventDraft = {
  type: "generation.completed",
  finish_reason: "stop",
  usage: { input_tokens: null, output_tokens: 1 },
};

let platform: AuditedPlatform;
let url: string;

beforeAll(async () => {
  const sim: ServedBy = { engine: "sim", capabilities: SIM_CAPABILITIES, contextTokens: 6_000 };
  platform = await openAuditedPlatform({ models: new Set(["sim"]), served: new Map([["sim", sim]]) });
  const conversation = await openConversation(platform, { when_full: "truncate_oldest" });
  url = `${platform.node.url}/v1/conversations/${conversation}/items`;
  const turns: GenerationId[] = [];
  for (let i = 1; i <= TURNS; i++) {
    const question = { role: "user", content: `${i}?` };
    const input = i === 1 ? [{ role: "system", content: "Be brief." }, question] : [question];
    const generation = await turn(platform, { conversation, input });
    await append(await workerOf(platform, generation), started(1), delta(`${i}.${LONG}`), DONE);
    turns.push(generation);
  }
  for (const generation of turns.slice(0, -1)) {
    await platform.audit.archive({ tenant: ACME, generation });
    await expire(platform, { tenant: ACME, generation });
  }
});
afterAll(() => platform[Symbol.asyncDispose]());

interface Page {
  readonly data: readonly { readonly content: string }[];
  readonly cursor?: string;
}

const get = (query: string) => call(`${url}?${query}`, { key: KEYS.acmeReader });
const textsOf = ({ data }: Page) => data.map(({ content }) => content.slice(0, 9));
const TEXTS = [
  "Be brief.",
  ...Array.from({ length: TURNS }, (_, i) => [`${i + 1}?`, `${i + 1}.${LONG}`.slice(0, 9)]).flat(),
];

describe("the items of a conversation that does not fit into one prompt", () => {
  test.each([
    ["asc", 1],
    ["asc", 4],
    ["asc", 100],
    ["desc", 1],
    ["desc", 4],
    ["desc", 100],
  ])("are whole in the order %s, in pages of %i", async (order, limit) => {
    const pages: Page[] = [];
    do {
      const cursor = pages.at(-1)?.cursor;
      const after = cursor === undefined ? "" : `&after=${cursor}`;
      pages.push((await get(`order=${order}&limit=${limit}${after}`)).json as Page);
    } while (pages.at(-1)?.cursor !== undefined);
    expect(pages.flatMap(textsOf)).toEqual(order === "asc" ? TEXTS : TEXTS.toReversed());
    expect(pages).toHaveLength(Math.ceil(TEXTS.length / limit));
  });

  test("are read back to the oldest that the page needs, and no further", async () => {
    const newest = (await get("order=desc&limit=2")).json as Page;
    const earlier = (await get("limit=4")).json as Page;
    platform.audit.intercept = () => {
      throw new RepriseError("audit_unavailable", "It is away.");
    };
    const answers = [
      await get("order=desc&limit=2"),
      await get(`limit=1&after=${newest.cursor}`),
      await get("limit=4"),
      await get(`order=desc&limit=2&after=${earlier.cursor}`),
    ];
    platform.audit.intercept = () => {};
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 503, 503]);
    expect(textsOf(answers[0]!.json as Page)).toEqual(TEXTS.slice(-2).toReversed());
    expect(textsOf(answers[1]!.json as Page)).toEqual(TEXTS.slice(-1));
  });
});
