import * as conversations from "@reprise/conversations";
import { STREAM_START } from "@reprise/protocol";
import { expect, test } from "vitest";
import { call, openPlatform, type Platform } from "../../../testing/platform.ts";
import { askResponse, endedResponse, type ResponseJson } from "./responses.fixture.ts";

const KEY = "rk_few_0123456789abcdef";

/** A tenant with limits. */
const few = (limits: object) => ({ id: "few", keys: [{ secret: KEY, roles: ["create", "read"] }], limits });
const openLimited = (limits: object) => openPlatform({ moreTenants: [few(limits)] });

async function conversationsOf({ broker, log }: Platform) {
  const { publish, budgetMs } = log;
  const rows = new conversations.ConversationRows({ publish, reads: broker.reads, budgetMs: () => budgetMs });
  return Array.fromAsync(rows.list(undefined, STREAM_START));
}

test("a call above the limit of calls has nothing read for it", async () => {
  const limits = { tenant: { requests_per_minute: 2 } };
  await using platform = await openLimited(limits);
  const { url, ref } = await endedResponse(platform, "One.", {}, { key: KEY });
  const [item] = ((await call(url, { key: KEY })).json as ResponseJson).output;
  const input = [{ type: "item_reference", id: item!.id }];
  // What this node reads of another one's generations, it has in its memory.
  const other = await platform.addNode({ moreTenants: [few(limits)] });
  const ask = () => askResponse(other, { background: true, input }, { key: KEY });
  for (let i = 0; i < 2; i++) await call(`${other.url}/v1/models`, { key: KEY });
  expect(await ask()).toMatchObject({ status: 429, json: { error: { code: "limit_exceeded" } } });
  const heldBy = async ({ opsUrl }: { opsUrl: string }) =>
    /^reprise_hub_generations(?:\{.*\})? (\d+)$/m.exec(await (await fetch(`${opsUrl}/metrics`)).text())?.[1];
  expect([await heldBy(platform.node), await heldBy(other), ref.tenant]).toEqual(["1", "0", "few"]);
});

test("a call that continues after a response is one call", async () => {
  await using platform = await openLimited({ tenant: { requests_per_minute: 3 } });
  const { id } = await endedResponse(platform, "One.", {}, { key: KEY });
  const body = { background: true, previous_response_id: id };
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await askResponse(platform.node, body, { key: KEY })).status);
  expect(statuses).toEqual([200, 200, 429]);
});

test("a response after another one that is not admitted leaves no conversation", async () => {
  await using platform = await openLimited({ tenant: { generations: 1 } });
  // It counts until its end is announced.
  const first = await endedResponse(platform, "One.", {}, { key: KEY });
  const next = await askResponse(
    platform.node,
    { background: true, previous_response_id: first.id },
    { key: KEY },
  );
  expect(next).toMatchObject({ status: 429, json: { error: { param: "tenant.generations" } } });
  expect(await conversationsOf(platform)).toEqual([]);
});
