import { LIMITS } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import {
  authorization,
  call,
  callOnce,
  createGeneration,
  JSON_TYPE,
  KEYS,
  openPlatform,
  REQUEST,
} from "../testing/platform.ts";
import { openRawConnection } from "../testing/raw-connection.ts";

const long = (length: number) => "x".repeat(length);
const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));

/** A body that is refused, and the field that the answer must name. */
const BODIES: readonly [body: unknown, param: string, said?: RegExp][] = [
  [{ input: "x" }, "model"],
  [{ model: "sim" }, "input"],
  [{ model: "sim", input: "" }, "input"],
  [{ model: "sim", input: [] }, "input"],
  [{ model: "sim", input: [{ role: "robot", content: "x" }] }, "input.0.role", /system, developer/],
  [
    {
      model: "sim",
      input: Array.from({ length: LIMITS.messages + 1 }, () => ({ role: "user", content: "x" })),
    },
    "input",
    /1024/,
  ],
  [{ ...REQUEST, max_output_tokens: 0 }, "max_output_tokens"],
  [{ ...REQUEST, max_output_tokens: 1_000_001 }, "max_output_tokens", /1000000/],
  [{ ...REQUEST, temperature: 2.1 }, "temperature", /2/],
  [{ ...REQUEST, stop: [] }, "stop"],
  [{ ...REQUEST, stop: ["a", "b", "c", "d", "e"] }, "stop", /4/],
  [{ ...REQUEST, stop: [long(257)] }, "stop.0", /256/],
  [{ ...REQUEST, seed: -1 }, "seed"],
  [{ ...REQUEST, seed: 2_147_483_648 }, "seed", /2147483647/],
  [{ ...REQUEST, options: [] }, "options"],
  [{ ...REQUEST, options: JSON.parse(`${'{"a":'.repeat(33)}1${"}".repeat(33)}`) }, "options", /32/],
  [{ ...REQUEST, metadata: pairs(17) }, "metadata", /16/],
  [{ ...REQUEST, metadata: { [long(65)]: "v" } }, "metadata", /64/],
  [{ ...REQUEST, metadata: { k: long(513) } }, "metadata.k", /512/],
  [{ ...REQUEST, metadata: { k: 1 } }, "metadata.k"],
  [{ ...REQUEST, policy: { max_attempts: 11 } }, "policy.max_attempts", /10/],
  [{ ...REQUEST, policy: { loosen: true } }, "policy.loosen", /not a known field/],
  [{ ...REQUEST, colour: "red" }, "colour", /not a known field/],
  [{ model: long(65), input: "x" }, "model"],
  [[], "body"],
  ["null", "body"],
];

test("a body over a limit is refused with the field's name, and nothing is created", async () => {
  await using platform = await openPlatform();
  for (const [body, param, said = /./] of BODIES) {
    const { status, json, text } = await call(`${platform.node.url}/v1/generations`, { body });
    const error = { code: "invalid_request", param, message: expect.stringMatching(said), retryable: false };
    expect([status, json], text).toEqual([400, { error }]);
  }
});

test("a body at its limits is taken", async () => {
  await using platform = await openPlatform();
  const body = {
    model: "sim",
    input: Array.from({ length: LIMITS.messages }, () => ({ role: "user", content: "x" })),
    max_output_tokens: LIMITS.outputTokens,
    temperature: LIMITS.temperature,
    stop: Array.from({ length: LIMITS.stopSequences }, () => long(LIMITS.stopLength)),
    seed: LIMITS.seed,
    metadata: { ...pairs(15), [long(64)]: long(512) },
  };
  expect((await call(`${platform.node.url}/v1/generations`, { body })).status).toBe(201);
  const biggest = JSON.stringify({ ...REQUEST, input: "" });
  const input = long(LIMITS.bodyBytes - biggest.length);
  expect((await call(`${platform.node.url}/v1/generations`, { body: { ...REQUEST, input } })).status).toBe(
    201,
  );
});

describe("a request's form", () => {
  test("is checked: its size, its type, its JSON", async () => {
    await using platform = await openPlatform();
    const url = `${platform.node.url}/v1/generations`;
    const over = JSON.stringify({ ...REQUEST, input: long(LIMITS.bodyBytes) });
    const json = JSON.stringify(REQUEST);
    const answers = await Promise.all([
      call(url, { body: over }),
      call(url, { body: json, headers: { "content-type": "text/plain" } }),
      call(url, { body: json, headers: { "content-type": "application/x-www-form-urlencoded" } }),
      call(url, { body: json, headers: { "content-type": "nonsense" } }),
      call(url, { body: "{" }),
      call(url, { method: "POST", headers: JSON_TYPE }),
      call(url, { body: '{"model":"sim","input":"x","__proto__":{"a":1}}' }),
      call(url, { body: '{"model":"sim","input":"x","options":{"constructor":{"prototype":{}}}}' }),
      call(url, { body: '{"model":"sim","input":"x","metadata":{"__proto__":"y"}}' }),
      call(url, { body: "\u0000" }),
      call(url, { body: "[".repeat(500_000) }),
      call(url, {
        body: `{"model":"sim","input":"x","options":${'{"a":'.repeat(100_000)}1${"}".repeat(100_001)}`,
      }),
      call(url, { method: "POST" }),
    ]);
    expect(answers.map(({ status, json: body }) => [status, codeAndParam(body)])).toEqual([
      [413, "body_too_large body"],
      [415, "unsupported_media_type Content-Type"],
      [415, "unsupported_media_type Content-Type"],
      [415, "unsupported_media_type Content-Type"],
      [400, "invalid_json body"],
      [400, "invalid_request body"],
      [400, "invalid_request __proto__"],
      [400, "invalid_request options.constructor.prototype"],
      [400, "invalid_request metadata.__proto__"],
      [400, "invalid_json body"],
      [400, "invalid_json body"],
      [400, "invalid_request options.a.a.a.a.a"],
      [400, "invalid_request body"],
    ]);
    const { text } = await call(`${platform.node.url}/v1/tokens`, {
      body: "{}",
      headers: { "content-type": "text/plain" },
    });
    expect(text).toContain("must be application/json");
    expect(text).not.toContain("blob");
    expect(platform.node.logged).not.toContain('"level":"error"');
  });

  test("is checked: its headers and query", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const create = `${platform.node.url}/v1/generations`;
    const events = `${platform.node.url}${path}/events`;
    const asJson = { accept: "application/json" };
    const answers = await Promise.all([
      call(create, { body: REQUEST, headers: { "idempotency-key": long(256) } }),
      call(create, { body: REQUEST, headers: { "idempotency-key": "two words" } }),
      call(create, { body: REQUEST, headers: { "idempotency-key": "" } }),
      call(create, { body: REQUEST, headers: { accept: "image/png" } }),
      call(create, { body: { ...REQUEST, model: "gpt" } }),
      call(events, { headers: { accept: "text/html" } }),
      call(`${events}?wait=30001`, { headers: asJson }),
      call(`${events}?wait=1.5`, { headers: asJson }),
      call(`${events}?limit=0`, { headers: asJson }),
      call(`${events}?limit=1001`, { headers: asJson }),
      call(`${events}?limit=1&limit=2`, { headers: asJson }),
      call(`${events}?until=5`, { headers: asJson }),
      call(`${events}?after=1-1&after=1-2`),
      call(`${platform.node.url}${path}/cancel`, { body: { reason: long(257) } }),
      call(`${platform.node.url}${path}/cancel`, { body: { because: "x" } }),
      call(`${platform.node.url}${path}/tool-results`, { method: "POST" }),
      call(`${platform.node.url}${path}/tool-results`, { body: { call_id: "c" } }),
      call(`${platform.node.url}${path}/tool-results`, { body: { call_id: "", output: 1 } }),
      call(`${platform.node.url}${path}/tool-results?x=1`, { body: { call_id: "c", output: 1 } }),
    ]);
    expect(answers.map(({ status, json }) => [status, codeAndParam(json)])).toEqual([
      [400, "invalid_request Idempotency-Key"],
      [400, "invalid_request Idempotency-Key"],
      [400, "invalid_request Idempotency-Key"],
      [406, "not_acceptable Accept"],
      [404, "model_not_found model"],
      [406, "not_acceptable Accept"],
      [400, "invalid_request wait"],
      [400, "invalid_request wait"],
      [400, "invalid_request limit"],
      [400, "invalid_request limit"],
      [400, "invalid_request limit"],
      [400, "invalid_request until"],
      [400, "invalid_request after"],
      [400, "invalid_request reason"],
      [400, "invalid_request because"],
      [400, "invalid_request body"],
      [400, "invalid_request output"],
      [400, "invalid_request call_id"],
      [400, "invalid_request x"],
    ]);
  });

  test("that is no HTTP, or too much of it, gets an error in our form and the end of the connection", async () => {
    await using platform = await openPlatform();
    const ask = async (bytes: string) => {
      await using connection = await openRawConnection(platform.node.url);
      connection.send(bytes);
      await connection.ended;
      return connection.text;
    };
    expect(await ask("HELLO\r\n\r\n")).toMatch(
      /^HTTP\/1.1 400 [^]*\r\n\r\n\{"error":\{"code":"invalid_request",/,
    );
    const header = `GET / HTTP/1.1\r\nhost: x\r\nbig: ${long(70_000)}\r\n\r\n`;
    expect(await ask(header)).toMatch(/^HTTP\/1.1 431 [^]*\r\n\r\n\{"error":\{"code":"invalid_request",/);
  });
});

describe("a path", () => {
  test("that does not exist is not found, in the form of OpenAI's API", async () => {
    await using platform = await openPlatform();
    for (const path of ["/v1/nothing", "/", "/v1/generations/gen_0_x/what", "/v2/generations"]) {
      const { status, json } = await call(`${platform.node.url}${path}`);
      expect([status, codeAndParam(json)], path).toEqual([404, "not_found null"]);
    }
    expect(codeAndParam((await call(`${platform.node.url}/v1/generations/%zz`)).json)).toBe(
      "invalid_request null",
    );
  });

  test("is refused with the methods that it has", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const allowed = {
      "/v1/generations": "POST",
      [path]: "GET",
      [`${path}/events`]: "GET",
      [`${path}/cancel`]: "POST",
      [`${path}/tool-results`]: "POST",
      [`${path}/moderation`]: "GET",
      "/v1/reviews": "GET",
      "/v1/reviews/x.rev_1": "POST",
    };
    for (const [at, allow] of Object.entries(allowed)) {
      const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "QUERY", "PROPFIND", "SEARCH", "M-SEARCH"];
      const others = methods.filter((method) => method !== allow);
      for (const method of others) {
        const { status, headers, json } = await call(`${platform.node.url}${at}`, { method });
        expect([status, headers.get("allow"), codeAndParam(json)]).toEqual([
          405,
          allow,
          "method_not_allowed",
        ]);
      }
      const head = await call(`${platform.node.url}${at}`, { method: "HEAD" });
      expect([at, head.status, head.headers.get("allow")]).toEqual([at, 405, allow]);
    }
    expect(codeAndParam((await call(`${platform.node.url}/v1/nothing`, { method: "QUERY" })).json)).toBe(
      "not_found null",
    );
    await using connection = await openRawConnection(platform.node.url);
    connection.send("CONNECT example.org:443 HTTP/1.1\r\nhost: example.org\r\n\r\n");
    await connection.ended;
    expect(connection.text).toMatch(/^HTTP\/1.1 405 [^]*"method_not_allowed"/);
    expect(platform.node.logged).not.toContain('"level":"error"');
  });
});

describe("a caller", () => {
  test("without a known key is told to authenticate", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const values = [
      "",
      "Bearer",
      "Bearer ",
      `Basic ${KEYS.acme}`,
      "Bearer rk_acme_wrong",
      `Bearer ${KEYS.acme}x`,
      KEYS.acme,
    ];
    for (const value of values) {
      for (const at of ["", "/events", "/cancel", "/tool-results", "/moderation"]) {
        const method = at === "/cancel" || at === "/tool-results" ? "POST" : "GET";
        const answer = await call(`${platform.node.url}${path}${at}`, {
          method,
          headers: { authorization: value },
        });
        expect([answer.status, codeAndParam(answer.json)], value).toEqual([
          401,
          "unauthenticated Authorization",
        ]);
        expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      }
    }
  });

  test("without the role is forbidden", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const { url } = platform.node;
    const answers = await Promise.all([
      call(`${url}/v1/generations`, { body: REQUEST, key: KEYS.acmeReader }),
      call(`${url}${path}/cancel`, { method: "POST", key: KEYS.acmeReader }),
      call(`${url}${path}/tool-results`, { method: "POST", key: KEYS.acmeReader }),
      call(`${url}${path}`, { key: KEYS.acmeCreator }),
      call(`${url}${path}/events`, { key: KEYS.acmeCreator }),
      call(`${url}${path}`, { key: KEYS.acmeReader }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 200]);
    expect(answers[0]?.json).toMatchObject({ error: { code: "forbidden", param: "Authorization" } });
  });
});

test("a field's name is quoted, and cut where it is no name any more", async () => {
  await using platform = await openPlatform();
  const url = `${platform.node.url}/v1/generations`;
  const bodies = [
    { ...REQUEST, [long(900_000)]: 1 },
    { ...REQUEST, policy: { [long(900_000)]: 1 } },
    { ...REQUEST, metadata: { [long(900_000)]: 1 } },
    { ...REQUEST, tools: [{ name: "f", [long(900_000)]: 1 }] },
    { ...REQUEST, policy: { moderation: { mode: "gate", rules: [long(900_000)] } } },
  ];
  for (const body of bodies) {
    const { status, text } = await call(url, { body });
    expect(status).toBe(400);
    expect(text.length).toBeLessThan(2_000);
  }
  expect((await call(`${url}?${long(10_000)}=1`, { body: REQUEST })).text.length).toBeLessThan(2_000);
  expect((await call(`${platform.node.url}/v1/${long(10_000)}`)).text.length).toBeLessThan(2_000);
});

test("a body that is not UTF-8 is refused, and not stored as something else", async () => {
  await using platform = await openPlatform();
  const { url } = platform.node;
  const said = (bytes: Buffer) =>
    Buffer.concat([Buffer.from('{"model":"sim","input":"'), bytes, Buffer.from('"}')]);
  for (const bytes of [
    Buffer.from([0xff]),
    Buffer.from("é", "latin1"),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.concat([Buffer.from("x".repeat(100_000)), Buffer.from([0xc3])]),
  ]) {
    const response = await fetch(`${url}/v1/generations`, {
      method: "POST",
      headers: { ...authorization(), "content-type": "application/json" },
      body: said(bytes),
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: "invalid_json", param: "body", message: expect.stringContaining("UTF-8") } },
    ]);
  }
  const input = "é \u{1f600}".repeat(20_000);
  expect((await call(`${url}/v1/generations`, { body: { model: "sim", input } })).status).toBe(201);
});

test("a body that is compressed for its transfer is refused", async () => {
  await using platform = await openPlatform();
  await using connection = await openRawConnection(platform.node.url);
  connection.send(
    [
      "POST /v1/generations HTTP/1.1",
      "host: x",
      `authorization: Bearer ${KEYS.acme}`,
      "content-type: application/json",
      "transfer-encoding: gzip, chunked",
      "",
      "2",
      "{}",
      "0",
      "",
      "",
    ].join("\r\n"),
  );
  await connection.until('"param":"Transfer-Encoding"');
  expect(connection.text).toMatch(/^HTTP\/1\.1 415 [^]*"code":"unsupported_media_type"/);
});

test("a client that leaves in the middle of its body is no error of ours", async () => {
  await using platform = await openPlatform();
  const { url } = platform.node;
  const head = `POST /v1/generations HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEYS.acme}`;
  for (const framing of ["content-length: 1000", "transfer-encoding: chunked"]) {
    await using connection = await openRawConnection(url);
    connection.send(`${head}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`);
    await connection[Symbol.asyncDispose]();
  }
  await expect.poll(() => platform.node.logged.match(/a client left before/g)).toHaveLength(2);
  expect(platform.node.logged).not.toContain('"level":"error"');
});

test("neither answers nor log lines hold secrets, prompts or stack traces", async () => {
  await using platform = await openPlatform({ brokerBudgetMs: 500 });
  const { url } = platform.node;
  const prompt = "the quick brown secret";
  const headers = { "idempotency-key": "k" };
  const answers = await Promise.all([
    call(`${url}/v1/generations`, { body: { ...REQUEST, input: prompt } }),
    call(`${url}/v1/generations`, { body: { ...REQUEST, input: prompt, oops: prompt } }),
    call(`${url}/v1/generations`, { body: `{"model":"sim","input":"${prompt}"` }),
    call(`${url}/v1/generations`, { body: { ...REQUEST, input: prompt }, headers }),
    call(`${url}/v1/generations`, { body: { ...REQUEST, input: `${prompt}!` }, headers }),
    call(`${url}/v1/generations`, { body: { ...REQUEST, input: prompt }, key: "rk_acme_unknown" }),
    call(`${url}/v1/generations`, { body: { ...REQUEST, input: { prompt } } }),
  ]);
  await platform.server.stop();
  answers.push(await callOnce(`${url}/v1/generations`, { body: { ...REQUEST, input: prompt } }));
  const said = answers.map(({ text }) => text).join("\n") + platform.node.logged;
  expect(answers.at(-1)!.json).toMatchObject({ error: { code: "broker_unavailable", retryable: true } });
  expect(said).not.toContain("quick brown");
  expect(said).not.toMatch(/rk_(acme|beta)_/);
  expect(answers.map(({ text }) => text).join("\n")).not.toMatch(/node_modules|\.ts:|\bat [A-Z]/);
});

function codeAndParam(json: unknown): string {
  const { code, param = "" } = (json as { error: { code: string; param?: string } }).error;
  return `${code} ${param}`.trimEnd();
}
