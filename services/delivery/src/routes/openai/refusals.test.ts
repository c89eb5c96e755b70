import { toHttpStatus, type ErrorCode } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { call, KEYS, openPlatform } from "../../testing/platform.ts";
import { openRawConnection } from "../../testing/raw-connection.ts";
import { askChat, CHAT, openChat } from "./chat.fixture.ts";

/** An error as the package `openai` reads it, and what native clients read beside. */
const errorLike = (code: ErrorCode, type: string, param: string | null = null) => ({
  error: { code, type, message: expect.any(String), param, retryable: expect.any(Boolean) },
});

const INVALID = "invalid_request_error";

describe("a body that is refused", () => {
  test.each<[body: unknown, param: string, said: RegExp]>([
    [{ ...CHAT, n: 2 }, "n", /must be 1/],
    [{ ...CHAT, colour: "red" }, "colour", /not a known field/],
    [{ ...CHAT, functions: [] }, "functions", /tools/],
    [{ ...CHAT, temperature: 3 }, "temperature", /2/],
    [{ ...CHAT, max_completion_tokens: 0 }, "max_completion_tokens", /1/],
    [{ model: "sim" }, "messages", /./],
    [{ ...CHAT, messages: [] }, "messages", /./],
    [{ ...CHAT, messages: [{ role: "robot", content: "x" }] }, "messages.0.role", /role/],
    [{ ...CHAT, stream_options: { include_usage: true } }, "stream_options", /stream/],
    [[], "body", /./],
  ])("%j names the field", async (body, param, said) => {
    await using platform = await openPlatform();
    const { status, json } = await askChat(platform.node, { body });
    expect([status, json]).toEqual([400, errorLike("invalid_request", INVALID, param)]);
    expect((json as { error: { message: string } }).error.message).toMatch(said);
  });

  test("for a field with a name of a megabyte does not repeat it", async () => {
    await using platform = await openPlatform();
    const body = { ...CHAT, ["x".repeat(1_000_000)]: 1 };
    const { status, text } = await askChat(platform.node, { body });
    expect([status, text.length < 2_000]).toEqual([400, true]);
    expect(platform.node.logged.length).toBeLessThan(100_000);
  });

  test("is refused before anything is made: there is nothing that forbids to try again", async () => {
    await using platform = await openPlatform();
    const { headers } = await askChat(platform.node, { body: { ...CHAT, n: 2 } });
    expect([headers.get("x-should-retry"), headers.get("reprise-generation-id")]).toEqual([null, null]);
    expect(headers.get("x-request-id")).toMatch(/^req_/);
  });
});

describe("a call that is refused has an error of OpenAI's form", async () => {
  const platform = await openPlatform({
    moreTenants: [
      {
        id: "slow",
        keys: [{ secret: "rk_slow_0123456789abcdef", roles: ["create", "read"] }],
        limits: { tenant: { requests_per_minute: 1 } },
      },
    ],
  });
  const { node } = platform;
  const at = (path: string, options = {}) => call(`${node.url}${path}`, { body: CHAT, ...options });

  test.each<[path: string, options: object, code: ErrorCode, type: string, param: string | null]>([
    [
      "/v1/chat/completions",
      { headers: { authorization: "" } },
      "unauthenticated",
      "authentication_error",
      "Authorization",
    ],
    [
      "/v1/chat/completions",
      { key: "sk-unknown" },
      "unauthenticated",
      "authentication_error",
      "Authorization",
    ],
    ["/v1/chat/nothing", { key: "sk-unknown" }, "unauthenticated", "authentication_error", "Authorization"],
    ["/v1/chat/completions", { key: KEYS.acmeReader }, "forbidden", "permission_error", "Authorization"],
    ["/v1/chat/completions", { key: KEYS.acmeCreator }, "forbidden", "permission_error", "Authorization"],
    ["/v1/chat/completions", { method: "PUT" }, "method_not_allowed", INVALID, null],
    ["/v1/chat/completions/x", {}, "not_found", INVALID, null],
    ["/v1/chat", {}, "not_found", INVALID, null],
    ["/v1/embeddings", {}, "not_found", INVALID, null],
    ["/chat/completions", {}, "not_found", INVALID, null],
    ["/v1/responses/compact", {}, "not_found", INVALID, null],
    ["/v1/responses/input_tokens", {}, "not_found", INVALID, null],
    ["/v1/responses/resp_1", {}, "method_not_allowed", INVALID, null],
    ["/v1/chat/completions?a=1", {}, "invalid_request", INVALID, "a"],
    ["/v1/chat/completions", { body: "{" }, "invalid_json", INVALID, "body"],
    ["/v1/chat/completions", { body: `"${"x".repeat(1_048_576)}"` }, "body_too_large", INVALID, "body"],
    [
      "/v1/chat/completions",
      { headers: { "content-type": "text/plain" } },
      "unsupported_media_type",
      INVALID,
      "Content-Type",
    ],
    ["/v1/chat/completions", { body: { ...CHAT, model: "gpt" } }, "model_not_found", INVALID, "model"],
  ])("%s %j: %s", async (path, options, code, type, param) => {
    const { status, json } = await at(path, options);
    expect([status, json]).toEqual([toHttpStatus(code), errorLike(code, type, param)]);
  });

  test("a path that is malformed", async () => {
    await using connection = await openRawConnection(node.url);
    connection.send("GET /v1/chat/%zz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    await connection.ended;
    expect(connection.text).toContain('"type":"invalid_request_error"');
  });

  test("beyond a limit, with when to come back, and nothing that forbids it", async () => {
    const key = "rk_slow_0123456789abcdef";
    await at("/v1/models", { key, body: undefined, method: "GET" });
    const { status, headers, json } = await at("/v1/chat/completions", { key });
    expect([status, json]).toEqual([
      429,
      errorLike("limit_exceeded", "rate_limit_error", "tenant.requests_per_minute"),
    ]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(headers.get("x-should-retry")).toBeNull();
  });
});

describe("an answer forbids to send the request again once there may be a generation", () => {
  test("that has no key: each time would make another one", async () => {
    await using platform = await openPlatform();
    await using keyless = await openChat(platform.node);
    expect(keyless.headers["x-should-retry"]).toBe("false");
    await using keyed = await openChat(platform.node, { idempotencyKey: "k" });
    expect(keyed.headers["x-should-retry"]).toBeUndefined();
  });

  test("that waits for its end on a node that drains; with a key it joins elsewhere", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    const waiting = [askChat(other), askChat(other, { headers: { "idempotency-key": "k" } })];
    await expect
      .poll(async () => (await call(`${other.opsUrl}/metrics`)).text)
      .toContain("\nreprise_hub_generations 2\n");
    other.delivery.drain();
    const answers = await Promise.all(waiting);
    expect(answers.map(({ status, headers }) => [status, headers.get("x-should-retry")])).toEqual([
      [503, "false"],
      [503, null],
    ]);
    expect(answers[0]!.json).toEqual(errorLike("draining", "server_error"));
  });
});
