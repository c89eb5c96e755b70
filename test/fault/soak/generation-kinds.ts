import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ApiCaller, ReadStream } from "./api-caller.ts";

/** One generation from its create to where its client leaves it. */
export type GenerationKind = (api: ApiCaller) => Promise<void>;

/** Few and long, so that the hub soon holds as many generations as it may, and they cost little else. */
const CHUNKS = Array.from({ length: 4 }, (_, i) => `${i} says the same as ever, over and over. `.repeat(80));
const TERMINAL = '"type":"generation.completed"';
/** The error frame that a client resumes after (PROTOCOL.md §8.1.7). */
const RETRYABLE = /\nevent: error\ndata: .*"retryable":true/;
const MOST_RESUMES = 10;
const RESUME_AFTER_MS = 1_000;
const CARD = "My card is 4111 1111 1111 1111, thank you.";

const body = (options: object = {}, more: object = {}) => ({
  model: "sim",
  input: "soak",
  options: { chunks: CHUNKS, tokens_per_second: 0, ...options },
  ...more,
});

async function readToEnd(api: ApiCaller, stream: ReadStream): Promise<void> {
  const { id } = stream;
  let headers = {};
  for (let resumes = 0; ; resumes++) {
    const text = await stream.until(TERMINAL);
    if (text.includes(TERMINAL)) return;
    if (resumes === MOST_RESUMES || !RETRYABLE.test(text))
      throw new Error(`The stream of ${id} ended before its generation: … ${text.slice(-300)}`);
    await delay(RESUME_AFTER_MS);
    const lastId = text.match(/(?<=^id: )\S+(?=\ndata: .*\n\n)/gm)?.at(-1);
    if (lastId !== undefined) headers = { "last-event-id": lastId };
    stream = await api.stream({ method: "GET", path: `/${id}/events`, headers });
  }
}

async function cut(api: ApiCaller): Promise<{ id: string; lastId: string }> {
  const stream = await api.stream({ path: "", body: body() });
  const text = await stream.until('"type":"output.delta"');
  stream.cut();
  return {
    id: stream.id,
    lastId: /id: (\S+)\ndata: \{"seq":\d+,"type":"generation.started"/.exec(text)?.[1] ?? "",
  };
}

/** Generations of each kind that can leave memory in a process: each has a different end. */
export const GENERATION_KINDS: Readonly<Record<string, GenerationKind>> = {
  async read(api) {
    await readToEnd(api, await api.stream({ path: "", body: body() }));
  },
  async cut(api) {
    await cut(api);
  },
  async resumed(api) {
    const { id, lastId } = await cut(api);
    const headers = { "last-event-id": lastId };
    await readToEnd(api, await api.stream({ method: "GET", path: `/${id}/events`, headers }));
  },
  async cancelled(api) {
    const { id } = await api.call({
      path: "",
      body: body({ chunks: undefined, tokens: 2_000, tokens_per_second: 20 }),
    });
    await api.call({ path: `/${id}/cancel`, body: {} });
  },
  async "never read"(api) {
    await api.call({ path: "", body: body() });
  },
  async moderated(api) {
    const policy = { moderation: { mode: "gate", rules: ["cards"] } };
    await readToEnd(
      api,
      await api.stream({ path: "", body: body({ chunks: [...CHUNKS, CARD] }, { policy }) }),
    );
  },
  async tools(api) {
    const tools = [{ name: "look_up" }];
    const stream = await api.stream({ path: "", body: body({ tool_call_after_tokens: 2 }, { tools }) });
    const text = await stream.until('"type":"tool.call"');
    const [, callId] = /"call_id":"([^"]+)"/.exec(text) ?? [];
    await api.call({ path: `/${stream.id}/tool-results`, body: { call_id: callId, output: "42" } });
    await readToEnd(api, stream);
  },
  async joined(api) {
    const headers = { "idempotency-key": randomUUID() };
    const { id } = await api.call({ path: "", body: body(), headers });
    await readToEnd(api, await api.stream({ path: "", body: body(), headers }));
    await api.call({ method: "GET", path: `/${id}` });
  },
};
