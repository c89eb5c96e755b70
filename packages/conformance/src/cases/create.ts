import { type Case, NotTested } from "../case.ts";
import { check, checkEqual, checkError, checkStatus } from "../check.ts";
import {
  answerTool,
  CALLING,
  cancel,
  create,
  createCalling,
  createEnded,
  eventsPath,
  hasEnded,
  LONG,
  newKey,
  read,
  readFrames,
  readLog,
  readUntil,
  SHORT,
  toRequest,
} from "../generation.ts";
import { call } from "../http/call.ts";
import { openEventStream, readEventStream } from "../http/event-stream.ts";
import type { Target } from "../target.ts";

const CREATE = "POST /v1/generations";
const AS_STREAM = { accept: "text/event-stream" };

/** A credential that may create and cancel, and not read. */
async function withoutRead(target: Target): Promise<string> {
  if (target.noReadKey !== undefined) return target.noReadKey;
  const body = { scopes: ["create", "cancel", "tool"], end_user: newKey(), ttl_seconds: 60 };
  const { status, json } = await call(target, "POST /v1/tokens", { body });
  if (status !== 201) throw new NotTested("needs --no-read-key");
  return String(json["token"]);
}

export const createCases: readonly Case[] = [
  {
    requirement: "M-13",
    name: "ids of answers",
    async run(target) {
      const { id } = await create(target, SHORT);
      check(/^gen_[\w-]+$/.test(id) && id.length <= 34, "gen_… of at most 34 characters", id);
    },
  },
  {
    requirement: "M-14",
    name: "ids of other forms",
    async run(target) {
      for (const id of ["gen_", "x", "gen_%21", "gen_0_%C3%A9", `gen_0_${"a".repeat(60)}`])
        for (const rest of ["", "/events"])
          checkError(await call(target, `GET /v1/generations/${id}${rest}`), 404, "generation_not_found");
    },
  },
  {
    requirement: "M-15",
    name: "a create, and a read at its Location",
    async run(target) {
      const answer = await call(target, CREATE, { body: toRequest(target, SHORT) });
      checkStatus(answer, 201);
      checkEqual("object", answer.json["object"], "generation");
      const { location } = answer.headers;
      checkEqual("Location", location, `/v1/generations/${String(answer.json["id"])}`);
      checkStatus(await call(target, `GET ${location}`), 200);
    },
  },
  {
    requirement: "M-16",
    name: "a generation without readers",
    async run(target) {
      const { status, usage } = await createEnded(target, SHORT);
      checkEqual("status", status, "completed");
      checkEqual("output tokens", (usage as { output_tokens: number }).output_tokens, SHORT.tokens);
    },
  },
  {
    requirement: "M-20",
    name: "a create that is repeated with its fields in another order, and after the end",
    async run(target) {
      const headers = { "idempotency-key": newKey() };
      const body = toRequest(target, SHORT);
      const first = await create(target, SHORT, { headers });
      const reordered = Object.fromEntries(Object.entries(body).toReversed());
      const repeat = async () => {
        const answer = await call(target, CREATE, { body: reordered, headers });
        checkStatus(answer, 200);
        checkEqual("id", answer.json["id"], first.id);
        return answer.json;
      };
      await repeat();
      const ended = await readUntil(target, first.id, hasEnded);
      const { status, text } = await repeat();
      checkEqual("the answer after the end", [status, text], ["completed", ended.text]);
      const events = await readLog(target, first.id);
      checkEqual("runs", events.filter(({ type }) => type === "generation.started").length, 1);
    },
  },
  {
    requirement: "M-21",
    name: "a used key with another input",
    async run(target) {
      const headers = { "idempotency-key": newKey() };
      await create(target, SHORT, { headers });
      const body = toRequest(target, SHORT, { input: "Something else." });
      checkError(await call(target, CREATE, { body, headers }), 409, "idempotency_conflict");
    },
  },
  {
    requirement: "M-23",
    name: "a create without a key",
    async run(target) {
      const { headers } = await create(target, SHORT);
      checkEqual("X-Should-Retry", headers["x-should-retry"], "false");
    },
  },
  {
    requirement: "M-24",
    name: "a create and its repetition, both with the stream",
    async run(target) {
      const headers = { ...AS_STREAM, "idempotency-key": newKey() };
      const body = toRequest(target, SHORT);
      const one = await readEventStream(target, CREATE, { body, headers });
      checkEqual("status of the create", one.status, 201);
      check(/^text\/event-stream\b/.test(one.headers["content-type"] ?? ""), "an event stream", one.headers);
      const id = String(one.headers["reprise-generation-id"]);
      check(id.startsWith("gen_"), "the id in Reprise-Generation-Id", one.headers["reprise-generation-id"]);
      checkEqual("status of the generation", (await read(target, id)).status, "completed");
      const two = await readEventStream(target, CREATE, { body, headers });
      checkEqual("status of the repetition", two.status, 200);
      checkEqual("id of the repetition", two.headers["reprise-generation-id"], id);
      checkEqual("events", ids(two), ids(one));
    },
  },
  {
    requirement: "M-25",
    name: "Last-Event-ID with a used and with a new key",
    async run(target) {
      const key = newKey();
      const body = toRequest(target, SHORT);
      const { id } = await create(target, SHORT, { headers: { "idempotency-key": key } });
      await readUntil(target, id, hasEnded);
      const all = ids(await readFrames(target, id));
      const resume = { ...AS_STREAM, "last-event-id": all[2]! };
      const resumed = await readEventStream(target, CREATE, {
        body,
        headers: { ...resume, "idempotency-key": key },
      });
      checkEqual("status", resumed.status, 200);
      checkEqual("events after the third", ids(resumed), all.slice(3));
      const unused = { "idempotency-key": newKey() };
      const refused = await call(target, CREATE, { body, headers: { ...resume, ...unused } });
      checkError(refused, 400, "cursor_invalid");
      checkStatus(await call(target, CREATE, { body, headers: unused }), 201);
    },
  },
  {
    requirement: "M-26",
    name: "Last-Event-ID without a key",
    async run(target) {
      const { id } = await createEnded(target, SHORT);
      const [cursor] = ids(await readFrames(target, id));
      const headers = { ...AS_STREAM, "last-event-id": cursor! };
      const answer = await call(target, CREATE, { body: toRequest(target, SHORT), headers });
      checkError(answer, 400, "invalid_request");
      checkEqual("Reprise-Generation-Id", answer.headers["reprise-generation-id"], undefined);
    },
  },
  {
    requirement: "M-34",
    name: "a create's and a reader's connection that break",
    async run(target) {
      const options = { ...SHORT, tokens: 60, tokens_per_second: 60 };
      const body = toRequest(target, options);
      const created = await openEventStream(target, CREATE, { body, headers: AS_STREAM });
      const id = String(created.headers["reprise-generation-id"]);
      const reader = await openEventStream(target, eventsPath(id));
      await Promise.all([created.take(3), reader.take(3)]);
      created.cut();
      reader.cut();
      const { status, usage } = await readUntil(target, id, hasEnded);
      checkEqual("status", status, "completed");
      checkEqual("output tokens", (usage as { output_tokens: number }).output_tokens, options.tokens);
    },
  },
  {
    requirement: "M-35",
    name: "cancel_after of a second, after its only reader has left",
    async run(target) {
      const policy = { on_disconnect: { cancel_after: 1_000 } };
      const { id } = await create(target, LONG, { fields: { policy } });
      const reader = await openEventStream(target, eventsPath(id));
      await reader.take(3);
      reader.cut();
      const { status } = await readUntil(target, id, hasEnded);
      const end = (await readLog(target, id)).find(({ type }) => type === "generation.cancelled");
      checkEqual("status and reason", [status, end?.["reason"]], ["cancelled", "abandoned"]);
    },
  },
  {
    requirement: "M-41",
    name: "a create, its repetition, a tool's answer and a cancel without the role read",
    async run(target) {
      const key = await withoutRead(target);
      const headers = { "idempotency-key": newKey() };
      const { id, ...created } = await create(target, CALLING, { key, headers });
      const { tool_calls: calls } = await readUntil(target, id, ({ status }) => status === "awaiting_tool");
      const repeated = await create(target, CALLING, { key, headers });
      const answered = await answerTool(target, id, calls[0]!.call_id, key);
      const cancelled = await cancel(target, id, key);
      const hidden = ["text", "partial", "refusal", "annotations", "blobs", "tool_calls"];
      for (const answer of [created, repeated, answered, cancelled]) {
        checkStatus(answer, 200, 201);
        checkEqual(
          `hidden fields of ${answer.name}`,
          hidden.filter((field) => field in answer.json),
          [],
        );
      }
    },
  },
  {
    requirement: "M-42",
    name: "a create with the stream, without the role read",
    async run(target) {
      const key = await withoutRead(target);
      const answer = await call(target, CREATE, { body: toRequest(target, SHORT), key, headers: AS_STREAM });
      checkError(answer, 403, "forbidden");
    },
  },
  {
    requirement: "M-27",
    name: "a generation with tool_calls: end",
    async run(target) {
      const { id } = await createCalling(target, { tool_calls: "end" });
      const { status, finish_reason: reason } = await readUntil(target, id, hasEnded);
      checkEqual("status and finish_reason", [status, reason], ["completed", "tool_calls"]);
      const end = (await readLog(target, id)).at(-1);
      checkEqual("last event", [end?.type, end?.["finish_reason"]], ["generation.completed", "tool_calls"]);
    },
  },
];

function ids({ frames }: { readonly frames: readonly { readonly id: string }[] }): string[] {
  return frames.map(({ id }) => id);
}
