import { generateSigningKey, importPrivateKey, mintStreamToken, toPublicKey } from "@reprise/tenancy";
import {
  decodeEvent,
  effectiveRequest,
  type GenerationId,
  isKnownEvent,
  parseTenantId,
  unixNow,
} from "@reprise/protocol";
import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { ask, assistant, openConversation, requestedOf, said, turn, user } from "../testing/conversations.ts";
import {
  authorization,
  call,
  createTestTenants,
  KEYS,
  openPlatform,
  type Platform,
  REQUEST,
} from "../testing/platform.ts";

const CREATES = { scopes: ["create", "read"], end_user: "ann" };
const TEMPLATE = {
  model: "sim",
  input: [{ role: "system", content: "Be brief." }],
  max_output_tokens: 50,
  policy: {
    max_attempts: 1,
    moderation: { mode: "retract", rules: [{ terms: ["secret"] }] },
  },
  metadata: { page: "help" },
};
const RULES = { moderation: { mode: "retract", rules: [{ terms: ["x"] }] } };

async function mint({ node }: Platform, body: object): Promise<{ token: string; warning?: string }> {
  const { status, json } = await call(`${node.url}/v1/tokens`, { body: { ...CREATES, ...body } });
  expect([status, json]).toMatchObject([201, { object: "token" }]);
  return json as { token: string };
}

async function requestOf({ log }: Platform, json: unknown) {
  const { id } = json as { id: GenerationId };
  const first = await log.reader.readFirst({ tenant: parseTenantId("acme"), generation: id });
  const event = first && decodeEvent(first.payload);
  return event && isKnownEvent(event) && event.type === "generation.requested" ? event.request : undefined;
}

describe("a token with a template", () => {
  test("creates what the template says, of the page's messages alone", async () => {
    await using platform = await openPlatform();
    const minted = await mint(platform, { template: TEMPLATE });
    expect(minted).toMatchObject({ template: TEMPLATE });
    expect(minted.warning).toBeUndefined();
    const create = (body: object) => call(`${platform.node.url}/v1/generations`, { key: minted.token, body });
    const bodies = [
      { input: "Hi" },
      { input: [{ role: "user", content: "Hi" }], model: "sim", max_output_tokens: 50, end_user: "ann" },
    ];
    for (const body of bodies) {
      const created = await create(body);
      expect(created.status).toBe(201);
      expect(await requestOf(platform, created.json)).toEqual({
        ...TEMPLATE,
        end_user: "ann",
        input: [...TEMPLATE.input, { role: "user", content: "Hi" }],
      });
    }
  });

  test.each([
    [{ model: "other" }, "model"],
    [{ max_output_tokens: 51 }, "max_output_tokens"],
    [{ temperature: 1 }, "temperature"],
    [{ metadata: { page: "shop" } }, "metadata"],
    [{ metadata: {} }, "metadata"],
    [{ policy: { max_attempts: 1 } }, "policy"],
    [{ policy: RULES }, "policy"],
    [{ tools: [{ name: "f" }] }, "tools"],
    [{ options: { tokens: 5 } }, "options"],
    [{ priority: "batch" }, "priority"],
    [{ subject: "s" }, "subject"],
    [{ input: [{ role: "system", content: "No." }] }, "input.0.role"],
    [
      {
        input: [
          { role: "user", content: "a" },
          { role: "developer", content: "No." },
        ],
      },
      "input.1.role",
    ],
  ] as const)("does not let the page say %j", async (more, param) => {
    await using platform = await openPlatform();
    const { token: key } = await mint(platform, { template: TEMPLATE });
    const refused = await call(`${platform.node.url}/v1/generations`, {
      key,
      body: { input: "Hi", ...more },
    });
    expect([refused.status, refused.json]).toMatchObject([403, { error: { code: "forbidden", param } }]);
  });

  test("creates by other protocols, whose own names of a run are beside its metadata", async () => {
    await using platform = await openPlatform();
    const { token } = await mint(platform, { template: TEMPLATE });
    const run = {
      threadId: "t1",
      runId: "r1",
      state: {},
      messages: [{ id: "u1", role: "user", content: "Hi" }],
      tools: [],
      context: [],
      forwardedProps: { model: "sim" },
    };
    const parts = [{ type: "text", text: "Hi" }];
    const chat = { id: "c1", messages: [{ id: "u1", role: "user", parts }], trigger: "submit-message" };
    const completion = { model: "sim", messages: [{ role: "user", content: "Hi" }], stream: true };
    for (const [path, body, names] of [
      ["/v1/chat/completions", completion, {}],
      ["/v1/ai-sdk/chat", chat, {}],
      ["/v1/ag-ui/agent", run, { "ag_ui.thread_id": "t1", "ag_ui.run_id": "r1" }],
    ] as const) {
      const url = `${platform.node.url}${path}`;
      await using reader = await openSseReader(url, { method: "POST", headers: authorization(token), body });
      expect([path, reader.status]).toEqual([path, expect.toSatisfy((status: number) => status < 300)]);
      const id = reader.headers["reprise-generation-id"];
      expect(await requestOf(platform, { id })).toMatchObject({
        model: "sim",
        max_output_tokens: 50,
        metadata: { page: "help", ...names },
        input: [...TEMPLATE.input, { role: "user" }],
      });
    }
  });

  test("is held to it by the other protocols too", async () => {
    await using platform = await openPlatform();
    const { token: key } = await mint(platform, { template: TEMPLATE });
    const complete = (body: object) => call(`${platform.node.url}/v1/chat/completions`, { key, body });
    const messages = [{ role: "user", content: "Hi" }];
    const base = { model: "sim", messages, stream: true };
    const refused = await Promise.all([
      complete({ ...base, temperature: 1 }),
      complete({ ...base, messages: [{ role: "system", content: "No." }, ...messages] }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([403, 403]);
  });

  test("is not minted with a wrong one, or without the scope to create", async () => {
    await using platform = await openPlatform();
    const answer = async (body: object) => {
      const { status, json } = await call(`${platform.node.url}/v1/tokens`, {
        body: { ...CREATES, ...body },
      });
      return [status, (json as { error: { param: string } }).error.param];
    };
    const wrong = (more: object) => ({ template: { model: "sim", ...more } });
    expect(await answer({ template: {} })).toEqual([400, "template.model"]);
    expect(await answer(wrong({ max_output_tokens: 0 }))).toEqual([400, "template.max_output_tokens"]);
    expect(await answer(wrong({ colour: "red" }))).toEqual([400, "template.colour"]);
    expect(await answer(wrong({ conversation: "c" }))).toEqual([400, "template.conversation"]);
    expect(await answer(wrong({ input: "Hi" }))).toEqual([400, "template.input"]);
    expect(await answer(wrong({ input: [{ role: "user", content: "Hi" }] }))).toEqual([
      400,
      "template.input",
    ]);
    expect(
      await answer(
        wrong({ metadata: { long: "x".repeat(512), more: "y".repeat(512), most: "z".repeat(512) } }),
      ),
    ).toEqual([400, "template"]);
    expect(await answer({ ...wrong({}), scopes: ["read"] })).toEqual([400, "template"]);
    expect(await answer({ ...wrong({}), rules: true })).toEqual([400, "rules"]);
    expect(await answer({ rules: true, scopes: ["read"] })).toEqual([400, "rules"]);
  });
});

describe("a template's messages in a conversation", () => {
  const [system] = TEMPLATE.input;
  const open = async (platform: Platform, body: object) => {
    const { token: key } = await mint(platform, { template: { model: "sim", input: [system] } });
    return { key, conversation: await openConversation(platform, { end_user: "ann", ...body }) };
  };
  const askedOf = async (platform: Platform, generation: GenerationId) =>
    effectiveRequest(await requestedOf(platform, generation)).input;

  test("begin its first turn, after which no turn has them again", async () => {
    await using platform = await openPlatform();
    const { key, conversation } = await open(platform, {});
    const asked = { key, headers: { "idempotency-key": "one" } };
    const first = await said(platform, { conversation, input: "a" }, "b", asked);
    expect(await askedOf(platform, first)).toEqual([system, user("a")]);
    const second = await said(platform, { conversation, input: "c" }, "d", { key });
    const third = await turn(platform, { conversation, input: "e" }, { key });
    const history = [system, user("a"), assistant("b"), user("c")];
    expect(await askedOf(platform, second)).toEqual(history);
    expect(await askedOf(platform, third)).toEqual([...history, assistant("d"), user("e")]);
    const again = await ask(platform, { conversation, input: "a" }, asked);
    expect(again).toMatchObject({ status: 200, json: { id: first } });
  });

  test("come before the items that it was created with", async () => {
    await using platform = await openPlatform();
    const items = [{ role: "system", content: "Imported." }, user("a"), assistant("b")];
    const { key, conversation } = await open(platform, { items });
    const first = await said(platform, { conversation, input: "c" }, "d", { key });
    expect(await askedOf(platform, first)).toEqual([system, ...items, user("c")]);
    const second = await turn(platform, { conversation, input: "e" }, { key });
    expect(await askedOf(platform, second)).toEqual([system, ...items, user("c"), assistant("d"), user("e")]);
  });

  test("are in no turn of one that began without them", async () => {
    await using platform = await openPlatform();
    const { key, conversation } = await open(platform, {});
    await said(platform, { conversation, input: "a" }, "b");
    const second = await turn(platform, { conversation, input: "c" }, { key });
    expect(await askedOf(platform, second)).toEqual([user("a"), assistant("b"), user("c")]);
  });
});

describe("a token that creates without a template", () => {
  test("is minted with a warning, and brings no rules of its own unless it was minted so", async () => {
    await using platform = await openPlatform();
    const unbound = await mint(platform, {});
    expect(unbound.warning).toContain("template");
    const withRules = await mint(platform, { rules: true });
    expect(withRules).toMatchObject({ rules: true, warning: expect.any(String) });
    expect((await mint(platform, { scopes: ["read"] })).warning).toBeUndefined();
    const create = async (key: string, policy: object) => {
      const body = { ...REQUEST, policy };
      const { status, json } = await call(`${platform.node.url}/v1/generations`, { key, body });
      return [status, (json as { error?: { param: string } }).error?.param];
    };
    expect(await create(unbound.token, RULES)).toEqual([403, "policy.moderation.rules"]);
    expect(await create(unbound.token, { max_attempts: 1 })).toEqual([201, undefined]);
    expect(await create(withRules.token, RULES)).toEqual([201, undefined]);
    expect(await create(KEYS.acme, RULES)).toEqual([201, undefined]);
  });
});

test("a tenant mints templates with a key of its own; one that is no template makes no token", async () => {
  const pair = await generateSigningKey();
  const tenants = createTestTenants({ signingKeys: [{ kid: "own", public_jwk: toPublicKey(pair) }] });
  await using platform = await openPlatform({ tenants });
  const options = {
    key: { keyId: "own", privateKey: await importPrivateKey(pair) },
    audience: "reprise",
    tenant: parseTenantId("acme"),
    endUser: "ann",
    ttlSeconds: 60,
    tokenId: "t1",
    nowMs: unixNow(),
  };
  const { token: key } = await mintStreamToken({
    ...options,
    scopes: ["create"],
    template: { model: "sim", max_output_tokens: 5 },
  });
  const create = (body: object) => call(`${platform.node.url}/v1/generations`, { key, body });
  const created = await create({ input: "Hi" });
  expect(await requestOf(platform, created.json)).toMatchObject({ model: "sim", max_output_tokens: 5 });
  expect((await create({ input: "Hi", max_output_tokens: 6 })).status).toBe(403);
  const wrong = { ...options, scopes: ["create"] as const, template: { model: 5 } as never };
  await expect(mintStreamToken(wrong)).rejects.toMatchObject({ code: "invalid_request" });
});
