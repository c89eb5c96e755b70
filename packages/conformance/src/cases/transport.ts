import { setTimeout as pause } from "node:timers/promises";
import { type Case, NotTested } from "../case.ts";
import { check, checkEqual, checkError, checkStatus } from "../check.ts";
import { create, createCalling, mintToken, newKey, SHORT, toRequest } from "../generation.ts";
import { type Answer, call } from "../http/call.ts";
import { openEventStream } from "../http/event-stream.ts";
import type { Target } from "../target.ts";

const MIB = 1_048_576;
const CREATE = "POST /v1/generations";

/** Capabilities and a field that needs each (§4.13). */
const FIELDS: Readonly<Record<string, readonly [field: string, value: unknown]>> = {
  verbosity: ["verbosity", "low"],
  top_k: ["top_k", 5],
  min_p: ["min_p", 0.1],
  top_p: ["top_p", 0.5],
  logprobs: ["logprobs", 1],
  logit_bias: ["logit_bias", { 1: 1 }],
  tools: ["tools", [{ name: "look_up" }]],
};

/** Statuses and `retryable` of the codes that a client can bring about (docs/protocol/errors.md). */
const CODES: Readonly<Record<string, readonly [status: number, retryable: boolean]>> = {
  invalid_request: [400, false],
  invalid_json: [400, false],
  unsupported_media_type: [415, false],
  not_acceptable: [406, false],
  unauthenticated: [401, false],
  not_found: [404, false],
  model_not_found: [404, false],
  generation_not_found: [404, false],
  tool_call_not_found: [404, false],
  method_not_allowed: [405, false],
  idempotency_conflict: [409, false],
  cursor_invalid: [400, false],
};

/** Errors of many kinds, by their codes. */
async function provoke(target: Target): Promise<[code: string, answer: Answer][]> {
  const body = toRequest(target, SHORT);
  const key = newKey();
  const { id } = await create(target, SHORT, { headers: { "idempotency-key": key } });
  const path = `/v1/generations/${id}`;
  const asJson = { accept: "application/json" };
  const calls: readonly (readonly [string, Promise<Answer>])[] = [
    ["invalid_request", call(target, CREATE, { body: { ...body, temperature: 3 } })],
    ["invalid_json", call(target, CREATE, { bytes: "{" })],
    [
      "unsupported_media_type",
      call(target, CREATE, { bytes: "x", headers: { "content-type": "text/plain" } }),
    ],
    ["not_acceptable", call(target, `GET ${path}/events`, { headers: { accept: "image/png" } })],
    ["unauthenticated", call(target, CREATE, { key: null, body })],
    ["not_found", call(target, "GET /v1/nothing")],
    ["model_not_found", call(target, CREATE, { body: { ...body, model: "no-such-model" } })],
    ["generation_not_found", call(target, "GET /v1/generations/gen_0_none")],
    [
      "tool_call_not_found",
      call(target, `POST ${path}/tool-results`, { body: { call_id: "none", output: 1 } }),
    ],
    ["method_not_allowed", call(target, "DELETE /v1/generations")],
    [
      "idempotency_conflict",
      call(target, CREATE, { body: { ...body, input: "Other." }, headers: { "idempotency-key": key } }),
    ],
    ["cursor_invalid", call(target, `GET ${path}/events?after=none`, { headers: asJson })],
  ];
  return Promise.all(calls.map(async ([code, answer]) => [code, await answer] as [string, Answer]));
}

export const transportCases: readonly Case[] = [
  {
    requirement: "M-1",
    name: "bodies of the types text/plain and application/x-www-form-urlencoded",
    async run(target) {
      const bytes = JSON.stringify(toRequest(target, SHORT));
      const { id } = await create(target, SHORT);
      for (const path of ["", `/${id}/cancel`, `/${id}/tool-results`])
        for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
          const answer = await call(target, CREATE + path, { bytes, headers: { "content-type": type } });
          checkError(answer, 415, "unsupported_media_type");
        }
    },
  },
  {
    requirement: "M-2",
    name: "broken JSON, and bytes that are not UTF-8",
    async run(target) {
      const [before, after] = JSON.stringify(toRequest(target, SHORT, { input: "|" })).split("|");
      const latin1 = Buffer.concat([Buffer.from(before!), Buffer.of(0xe9), Buffer.from(after!)]);
      for (const bytes of ["{", "{'model': 1}", latin1])
        checkError(await call(target, CREATE, { bytes }), 400, "invalid_json");
    },
  },
  {
    requirement: "M-3",
    name: "a byte above 1 MiB, after 1 MiB itself",
    async run(target) {
      const overhead = JSON.stringify(toRequest(target, SHORT, { input: "" })).length;
      const input = "x".repeat(MIB - overhead);
      checkStatus(await call(target, CREATE, { body: toRequest(target, SHORT, { input }) }), 201);
      const answer = await call(target, CREATE, { body: toRequest(target, SHORT, { input: `${input}x` }) });
      checkError(answer, 413, "body_too_large");
    },
  },
  {
    requirement: "M-4",
    name: "no key and wrong keys, for paths that exist and not",
    async run(target) {
      const { id } = await create(target, SHORT);
      const names = [
        CREATE,
        `GET /v1/generations/${id}`,
        `GET /v1/generations/${id}/events`,
        "GET /v1/nothing",
      ];
      for (const key of [null, "", "rk_none_0123456789abcdef0123", "x y"])
        for (const name of names) {
          const body = name === CREATE ? { bytes: "{" } : {};
          checkError(await call(target, name, { key, ...body }), 401, "unauthenticated");
        }
    },
  },
  {
    requirement: "M-5",
    name: "a cancel and a tool's answer by a token that only reads, with any body",
    async run(target) {
      const { id } = await create(target, SHORT);
      const key = await mintToken(target, id, ["read"]);
      if (key === undefined) throw new NotTested("the server mints no stream tokens");
      for (const route of ["cancel", "tool-results"])
        for (const bytes of ["{}", "{", '{"unknown":1}']) {
          const answer = await call(target, `POST /v1/generations/${id}/${route}`, { key, bytes });
          checkError(answer, 403, "forbidden");
        }
    },
  },
  {
    requirement: "M-6",
    name: "another tenant reads, streams, cancels and answers",
    async run(target) {
      const { otherKey: key } = target;
      if (key === undefined) throw new NotTested("needs --other-key");
      const { id } = await createCalling(target);
      const missing = id.slice(0, -4) + (id.endsWith("0000") ? "1111" : "0000");
      const ask = async (of: string) => {
        const path = `/v1/generations/${of}`;
        const tool = { call_id: "call_1", output: 1 };
        const answers = await Promise.all([
          call(target, `GET ${path}`, { key }),
          call(target, `GET ${path}/events`, { key }),
          call(target, `GET ${path}/events`, { key, headers: { accept: "application/json" } }),
          call(target, `POST ${path}/cancel`, { key, body: {} }),
          call(target, `POST ${path}/tool-results`, { key, body: tool }),
        ]);
        for (const answer of answers) checkError(answer, 404, "generation_not_found");
        return answers.map(({ text }) => text.replaceAll(of, "ID"));
      };
      checkEqual(
        "bodies for another tenant's generation and a missing one",
        await ask(id),
        await ask(missing),
      );
    },
  },
  {
    requirement: "M-7",
    name: "errors of twelve kinds",
    async run(target) {
      for (const [, { name, json, text }] of await provoke(target)) {
        const { error } = json as { error?: Readonly<Record<string, unknown>> };
        const types = ["code", "message", "retryable"].map((field) => typeof error?.[field]);
        check(
          types.join() === "string,string,boolean",
          `an error with code, message and retryable at ${name}`,
          text,
        );
      }
      const body = toRequest(target, SHORT, { stop: ["x".repeat(257)] });
      checkError(await call(target, CREATE, { body }), 400, "invalid_request", "stop.0");
    },
  },
  {
    requirement: "M-8",
    name: "calls until the limit",
    async run(target) {
      const { limitedKey: key } = target;
      if (key === undefined) throw new NotTested("needs --limited-key");
      for (let calls = 0; calls < 100; calls++) {
        const answer = await call(target, "GET /v1/generations/gen_0_none", { key });
        if (answer.status === 404) continue;
        checkError(answer, 429, "limit_exceeded");
        const { param } = (answer.json as { error: { param?: unknown } }).error;
        check(typeof param === "string" && param !== "", "the limit's name in param", answer.text);
        const after = answer.headers["retry-after"];
        check(/^\d+$/.test(after ?? ""), "Retry-After in whole seconds", after);
        return;
      }
      throw new NotTested("100 calls reached no limit");
    },
  },
  {
    requirement: "M-9",
    name: "unknown fields and query parameters",
    async run(target) {
      const { id } = await create(target, SHORT);
      const path = `/v1/generations/${id}`;
      const answers = [
        call(target, CREATE, { body: toRequest(target, SHORT, { colour: "red" }) }),
        call(target, `POST ${path}/cancel`, { body: { because: "x" } }),
        call(target, `POST ${path}/tool-results`, { body: { call_id: "c", output: 1, also: 1 } }),
        call(target, `GET ${path}?colour=red`),
        call(target, `GET ${path}/events?colour=red`, { headers: { accept: "application/json" } }),
      ];
      for (const answer of await Promise.all(answers)) checkError(answer, 400, "invalid_request");
    },
  },
  {
    requirement: "M-10",
    name: "answers, errors and streams",
    async run(target) {
      const { id, ...created } = await create(target, SHORT);
      using stream = await openEventStream(target, `GET /v1/generations/${id}/events`);
      const answers = [created, ...(await provoke(target)).map(([, answer]) => answer)];
      for (const { name, headers } of [...answers, { name: "the stream", headers: stream.headers }]) {
        const requestId = String(headers["x-request-id"] ?? "");
        check(/^[\w.-]{8,64}$/.test(requestId), `an X-Request-Id at ${name}`, headers["x-request-id"]);
      }
    },
  },
  {
    requirement: "M-11",
    name: "answers, errors and streams",
    async run(target) {
      const { id, ...created } = await create(target, SHORT);
      using stream = await openEventStream(target, `GET /v1/generations/${id}/events`);
      const answers = [created, ...(await provoke(target)).map(([, answer]) => answer)];
      for (const { name, headers } of answers)
        check(
          /\bno-store\b/.test(headers["cache-control"] ?? ""),
          `no-store at ${name}`,
          headers["cache-control"],
        );
      for (const { name, headers } of [...answers, { name: "the stream", headers: stream.headers }])
        check(/\borigin\b/i.test(headers.vary ?? ""), `Vary: Origin at ${name}`, headers.vary);
    },
  },
  {
    requirement: "M-12",
    name: "unknown paths, and DELETE",
    async run(target) {
      checkError(await call(target, "GET /v1/nothing"), 404, "not_found");
      for (const name of ["DELETE /v1/generations", "PUT /v1/generations/gen_0_none/events"]) {
        const answer = await call(target, name);
        checkError(answer, 405, "method_not_allowed");
        check(/POST|GET/.test(answer.headers.allow ?? ""), `Allow at ${name}`, answer.headers.allow);
      }
    },
  },
  {
    requirement: "M-17",
    name: "a model that does not exist",
    async run(target) {
      const body = toRequest(target, SHORT, { model: "no-such-model" });
      checkError(await call(target, CREATE, { body }), 404, "model_not_found");
    },
  },
  {
    requirement: "M-18",
    name: "a field that a listed model lacks",
    async run(target) {
      const { json } = await call(target, "GET /v1/models");
      const models = (json["data"] ?? []) as { id: string; capabilities?: unknown }[];
      for (const { id: model, capabilities } of models)
        for (const [capability, [field, value]] of Object.entries(FIELDS)) {
          if (!Array.isArray(capabilities) || capabilities.includes(capability)) continue;
          const body = { model, input: "x", [field]: value };
          checkError(await call(target, CREATE, { body }), 400, "capability_unsupported", field);
          return;
        }
      throw new NotTested("no listed model lacks a capability");
    },
  },
  {
    requirement: "M-19",
    name: "eight fields over their limits",
    async run(target) {
      const long = "x".repeat(513);
      const over: readonly (readonly [param: string, fields: Readonly<Record<string, unknown>>])[] = [
        ["temperature", { temperature: 2.1 }],
        ["max_output_tokens", { max_output_tokens: 1_000_001 }],
        ["stop", { stop: ["a", "b", "c", "d", "e"] }],
        ["stop.0", { stop: [long] }],
        ["seed", { seed: 2_147_483_648 }],
        ["metadata.k", { metadata: { k: long } }],
        ["policy.max_attempts", { policy: { max_attempts: 11 } }],
        ["input", { input: Array.from({ length: 1_025 }, () => ({ role: "user", content: "x" })) }],
      ];
      for (const [param, fields] of over) {
        const answer = await call(target, CREATE, { body: toRequest(target, {}, fields) });
        checkError(answer, 400, "invalid_request", param);
      }
      const headers = { "idempotency-key": "x".repeat(256) };
      checkError(
        await call(target, CREATE, { body: toRequest(target, SHORT), headers }),
        400,
        "invalid_request",
      );
    },
  },
  {
    requirement: "M-62",
    name: "a stream token that ends while the stream is open",
    seconds: 12,
    async run(target) {
      const { id } = await create(target, { tokens: 4, first_token_ms: 40_000 });
      const key = await mintToken(target, id, ["read"], 1);
      if (key === undefined) throw new NotTested("the server mints no stream tokens");
      using stream = await openEventStream(target, `GET /v1/generations/${id}/events`, { key });
      checkEqual("status", stream.status, 200);
      const end = await Promise.race([stream.ended, pause(25_000, undefined, { ref: false })]);
      check(end !== undefined, "the stream's end after its token's");
      const error = stream.frames.at(-1);
      check(error?.event === "error", "an error frame at the end", stream.text.slice(-300));
      check(error.id === "", "no id in the error frame", error.raw);
      const { error: body } = JSON.parse(error.data) as { error: Readonly<Record<string, unknown>> };
      checkEqual("code and retryable", [body["code"], body["retryable"]], ["unauthenticated", false]);
      checkEqual("end of the connection", end, "broken");
    },
  },
  {
    requirement: "M-68",
    name: "errors of twelve kinds",
    async run(target) {
      for (const [code, answer] of await provoke(target)) {
        const { error } = answer.json as { error?: Readonly<Record<string, unknown>> };
        const came = [error?.["code"], answer.status, error?.["retryable"]];
        checkEqual(answer.name, came, [code, ...(CODES[code] ?? [])]);
      }
    },
  },
];
