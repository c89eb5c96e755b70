import { randomUUID } from "node:crypto";
import { Agent, type OutgoingHttpHeaders, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { createSseDecoder } from "@reprise/protocol";
import { serveParent } from "../children/serve-parent.ts";
import { nowMicros, untilMicros as sleepUntil } from "../measure/clock.ts";
import { Histogram, type Percentiles } from "../measure/histogram.ts";
import { type Samples, summarize } from "../measure/samples.ts";

/* A process that sends creates, each client in its own way. */

interface Tenant {
  url: string;
  apiKey: string;
}

interface Answer {
  /** 0 for a connection that was cut. */
  readonly status: number;
  readonly isWhole: boolean;
  readonly retryAfterMs: number;
}

interface Sent {
  readonly headers?: OutgoingHttpHeaders;
  readonly onData?: (chunk: Buffer) => void;
}

const agent = new Agent({ keepAlive: true });
const never = new AbortController().signal;
const STREAMED = { accept: "text/event-stream" };

/** Resolves, never rejects, once the answer is closed. */
function create(
  { url, apiKey }: Tenant,
  body: string | Buffer,
  { headers, onData }: Sent = {},
): Promise<Answer> {
  return new Promise((resolve) => {
    const options = {
      method: "POST",
      agent,
      headers: {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        ...headers,
      },
    };
    const sent = request(`${url}/v1/generations`, options, (response) => {
      if (onData) response.on("data", onData);
      else response.resume();
      // "close" follows.
      response.on("error", () => {});
      const retryAfterMs = Number(response.headers["retry-after"] ?? 0) * 1e3;
      response.on("close", () =>
        resolve({ status: response.statusCode!, isWhole: response.complete, retryAfterMs }),
      );
    });
    sent.on("error", () => resolve({ status: 0, isWhole: false, retryAfterMs: 1_000 }));
    sent.end(body);
  });
}

const encode = (options: object, input = "bench") => JSON.stringify({ model: "sim", input, options });

async function atOnce(count: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, work));
}

export interface ReplayOrder extends Tenant {
  /** When the first request is due. */
  startMicros: number;
  everyMicros: number;
  requests: number;
  tokens: number;
}

export interface ReplayMeasured {
  /** From the moment a request was due to its first token. */
  readonly firstTokenMicros: Percentiles;
  /** Between two tokens of one answer; those that came together count as one. */
  readonly betweenTokensMicros: Percentiles;
  /** Requests by the type of their last event, or `status <n>`, or `broken`. */
  readonly ends: Readonly<Record<string, number>>;
}

/** Open loop: each request is sent when it is due, however many are still being answered. */
async function replay(order: ReplayOrder): Promise<ReplayMeasured> {
  const firstToken = new Histogram();
  const betweenTokens = new Histogram();
  const ends: Record<string, number> = {};
  const body = encode({ tokens: order.tokens }, "data ".repeat(20));
  const run = async (index: number) => {
    const dueMicros = order.startMicros + index * order.everyMicros;
    await sleepUntil(dueMicros, never);
    const decoder = createSseDecoder();
    let lastMicros = 0;
    let last = "";
    const onData = (chunk: Buffer) => {
      const now = nowMicros();
      const frames = decoder.push(chunk).filter(({ data }) => data !== "");
      const types = frames.map(({ data }) => (JSON.parse(data) as { type: string }).type);
      last = types.at(-1) ?? last;
      if (!types.includes("output.delta")) return;
      if (lastMicros === 0) firstToken.record(now - dueMicros);
      else betweenTokens.record(now - lastMicros);
      lastMicros = now;
    };
    const { status, isWhole } = await create(order, body, { headers: STREAMED, onData });
    const isBroken = status === 0 || !isWhole;
    const end = isBroken ? "broken" : status === 201 ? last : `status ${status}`;
    ends[end] = (ends[end] ?? 0) + 1;
  };
  await Promise.all(Array.from({ length: order.requests }, (_, index) => run(index)));
  return {
    firstTokenMicros: firstToken.percentiles(),
    betweenTokensMicros: betweenTokens.percentiles(),
    ends,
  };
}

export interface ChurnOrder extends Tenant {
  /** Generations that are under way at a time; each is followed by the next one at once. */
  atOnce: number;
  /** Tokens of each generation. */
  tokens: number;
  untilMicros: number;
}

export interface ChurnMeasured {
  /** From a create to the end of its stream. */
  readonly wholeMs: Samples;
  /** Generations that were refused, broken, or had another number of tokens. */
  readonly wrong: number;
}

async function churn(order: ChurnOrder): Promise<ChurnMeasured> {
  const body = encode({ tokens: order.tokens, tokens_per_second: 0 });
  const end = `"output_tokens":${order.tokens}}`;
  const wholes: number[] = [];
  let wrong = 0;
  await atOnce(order.atOnce, async () => {
    while (nowMicros() < order.untilMicros) {
      const startMicros = nowMicros();
      let text = "";
      const headers = { ...STREAMED, "idempotency-key": randomUUID() };
      await create(order, body, { headers, onData: (chunk) => (text += chunk.toString("latin1")) });
      if (text.includes('"type":"generation.completed"') && text.includes(end))
        wholes.push((nowMicros() - startMicros) / 1e3);
      else wrong++;
    }
  });
  return { wholeMs: summarize(wholes), wrong };
}

export interface FloodOrder extends Tenant {
  /** Creates that are under way at a time; each sender sends the next one as soon as `Retry-After` permits. */
  senders: number;
  bodyBytes: number;
  untilMicros: number;
}

/** Creates by the status of their answers; 0 for a connection that was cut. */
export type FloodMeasured = Readonly<Record<number, number>>;

async function flood(order: FloodOrder): Promise<FloodMeasured> {
  const body = Buffer.from(encode({ tokens: 1, tokens_per_second: 0 }, "x".repeat(order.bodyBytes - 80)));
  const ends: Record<number, number> = {};
  await atOnce(order.senders, async () => {
    while (nowMicros() < order.untilMicros) {
      const { status, retryAfterMs } = await create(order, body);
      ends[status] = (ends[status] ?? 0) + 1;
      if (retryAfterMs > 0) await delay(retryAfterMs);
    }
  });
  return ends;
}

export interface QueueOrder extends Tenant {
  creates: number;
  /** Options of the simulator. */
  options: object;
}

const QUEUE_AT_ONCE = 8;

/** Queues generations without following them. Returns how many were created. */
async function queue(order: QueueOrder): Promise<number> {
  const body = encode(order.options);
  let [left, created] = [order.creates, 0];
  await atOnce(QUEUE_AT_ONCE, async () => {
    while (left-- > 0) if ((await create(order, body)).status === 201) created++;
  });
  return created;
}

serveParent({ replay, churn, flood, queue });
