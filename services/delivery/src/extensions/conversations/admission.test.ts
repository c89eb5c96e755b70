import { type GenerationId, type GenerationRef, parseGenerationId, parseTenantId } from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuditedPlatform, expire, openAuditedPlatform } from "../../testing/audited-platform.ts";
import { append, completed, delta, type Node, openWorker, started } from "../../testing/platform.ts";
import { ACME, ask, openConversation, said } from "../../testing/conversations.ts";

const roles = ["create", "read"];
const limited = "rk_limited_0123456789abcdef";
const budgeted = "rk_budgeted_0123456789abcdef";
const contended = "rk_contended_0123456789abcdef";
const moreTenants = [
  // A conversation and its first turn.
  { id: "limited", keys: [{ secret: limited, roles }], limits: { tenant: { requests_per_minute: 2 } } },
  {
    id: "budgeted",
    keys: [{ secret: budgeted, roles }],
    budgets: [{ name: "all", unit: "tokens", limit: 1_000, period: "total" }],
  },
  {
    id: "contended",
    keys: [{ secret: contended, roles }],
    budgets: [{ name: "all", unit: "tokens", limit: 1_000, period: "total" }],
    conversations: { on_busy: "queue" },
  },
];
/** Room for the earlier turns of one create. */
const SMALL = 5_000_000;

let platform: AuditedPlatform;
let small: Node;

beforeAll(async () => {
  platform = await openAuditedPlatform({ moreTenants });
  small = await platform.addNode({ requestBytes: SMALL });
});
afterAll(() => platform[Symbol.asyncDispose]());

/** Whatever is asked about what came before, only the archive can answer. */
async function leaveToArchive(ref: GenerationRef): Promise<void> {
  await platform.audit.archive(ref);
  await expire(platform, ref);
}

async function archivedConversation(key: string, tenant: string, input: string) {
  const conversation = await openConversation(platform, {}, key);
  const { json } = await ask(platform, { conversation, input, max_output_tokens: 64 }, { key });
  const generation = parseGenerationId((json as { id: string }).id);
  const ref = { tenant: parseTenantId(tenant), generation };
  await append(await openWorker(platform.log, ref), started(1), delta("b"), completed());
  await leaveToArchive(ref);
  return conversation;
}

describe("a turn costs no read of what came before", () => {
  test.each([
    ["limits", limited, "limited", "limit_exceeded", "x"],
    ["budgets", budgeted, "budgeted", "budget_exceeded", "x".repeat(8_000)],
  ])("where its tenant's %s refuse it", async (_, key, tenant, code, input) => {
    const conversation = await archivedConversation(key, tenant, "a");
    const before = platform.audit.calls.length;
    const answer = await ask(platform, { conversation, input, max_output_tokens: 64 }, { key });
    expect(answer.json).toMatchObject({ error: { code } });
    expect(platform.audit.calls).toHaveLength(before);
  });
});

test("a turn is refused by a budget that has less left than its whole prompt needs", async () => {
  // By bytes, 750 tokens are said before.
  const conversation = await archivedConversation(budgeted, "budgeted", "x".repeat(3_000));
  const answer = await ask(platform, { conversation, max_output_tokens: 64 }, { key: budgeted });
  expect(answer).toMatchObject({ status: 429, json: { error: { code: "budget_exceeded", param: "all" } } });
});

test("so is one whose prompt is longer because another turn was faster", async () => {
  const conversation = await archivedConversation(contended, "contended", "a");
  const [reads, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  platform.audit.intercept = () => {
    platform.audit.intercept = () => {};
    reads.resolve();
    return goesOn.promise;
  };
  const slow = ask(platform, { conversation, max_output_tokens: 64 }, { key: contended });
  await reads.promise;
  // By bytes, 550 tokens.
  const fast = { conversation, input: "x".repeat(2_200), max_output_tokens: 64 };
  const { json } = await ask(platform, fast, { key: contended });
  const ref = {
    tenant: parseTenantId("contended"),
    generation: parseGenerationId((json as { id: string }).id),
  };
  await append(await openWorker(platform.log, ref), started(1), delta("b"), completed());
  goesOn.resolve();
  expect(await slow).toMatchObject({
    status: 429,
    json: { error: { code: "budget_exceeded", param: "all" } },
  });
});

test("what a turn reads takes of the node's memory for requests until the turn is created, and what does not fit is told to come again", async () => {
  const at = { ...platform, node: small };
  const conversations = await Promise.all([openConversation(at), openConversation(at)]);
  const turns: GenerationId[] = [];
  for (const conversation of conversations) turns.push(await said(at, { conversation }, "b"));
  for (const generation of turns) await leaveToArchive({ tenant: ACME, generation });
  const [first, second] = conversations;
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  platform.audit.intercept = () => {
    asked.resolve();
    return answered.promise;
  };
  const creating = ask(at, { conversation: first });
  await asked.promise;
  const refused = await ask(at, { conversation: second });
  expect(refused).toMatchObject({ status: 503, json: { error: { code: "overloaded", retryable: true } } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  answered.resolve();
  platform.audit.intercept = () => {};
  expect((await creating).status).toBe(201);
  expect((await ask(at, { conversation: second })).status).toBe(201);
  const metrics = async () => (await fetch(`${small.opsUrl}/metrics`)).text();
  await expect.poll(metrics).toMatch(/^reprise_request_bytes 0$/m);
});
