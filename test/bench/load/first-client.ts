import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { serveParent } from "../children/serve-parent.ts";
import { type Samples, summarize } from "../measure/samples.ts";

export interface FirstOrder {
  url: string;
  apiKey: string;
  /** Calls that count, of each kind. */
  calls: number;
  /** Between two calls. */
  gapMs: number;
}

export interface FirstMeasured {
  /** A create that is answered with the generation. */
  readonly createMs: Samples;
  /** A create that is answered with its stream, to the first `output.delta`. */
  readonly firstDeltaMs: Samples;
}

const BODY = JSON.stringify({ model: "sim", input: "bench", options: { tokens: 4, tokens_per_second: 0 } });
const DELTA = '"type":"output.delta"';
const WARM_UP_CALLS = 20;

async function measure(order: FirstOrder): Promise<FirstMeasured> {
  const agent = new Agent({ keepAlive: true });
  const [creates, firsts]: [number[], number[]] = [[], []];
  for (let call = -WARM_UP_CALLS; call < order.calls; call++) {
    const create = await send(order, agent, "application/json");
    await delay(order.gapMs);
    const first = await send(order, agent, "text/event-stream");
    await delay(order.gapMs);
    if (call < 0) continue;
    creates.push(create);
    firsts.push(first);
  }
  agent.destroy();
  return { createMs: summarize(creates), firstDeltaMs: summarize(firsts) };
}

/** Resolves with the milliseconds to the first delta, or to the end of an answer that has none. */
function send({ url, apiKey }: FirstOrder, agent: Agent, accept: string): Promise<number> {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    accept,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(BODY),
    "idempotency-key": randomUUID(),
  };
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const startedAt = performance.now();
  const sent = request(`${url}/v1/generations`, { method: "POST", agent, headers }, (response) => {
    let text = "";
    let first: number | undefined;
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      text += chunk;
      if (first === undefined && text.includes(DELTA)) first = performance.now() - startedAt;
    });
    // Reads to the end, so that the next call meets an idle platform.
    response.on("end", () => resolve(first ?? performance.now() - startedAt));
    response.on("error", reject);
  });
  sent.on("error", reject);
  sent.end(BODY);
  return promise;
}

serveParent({ measure });
