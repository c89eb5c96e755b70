import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { serveParent } from "../children/serve-parent.ts";
import { nowMicros } from "../measure/clock.ts";

export interface FloodOrder {
  url: string;
  apiKey: string;
  /** How many creates are under way at a time; each sender sends the next one as soon as it may. */
  senders: number;
  bodyBytes: number;
  untilMicros: number;
}

/** How many creates were answered with which status; 0 for a connection that was cut. */
export type FloodMeasured = Readonly<Record<number, number>>;

interface Answer {
  readonly status: number;
  readonly retryAfterMs: number;
}

async function flood({ url, apiKey, senders, bodyBytes, untilMicros }: FloodOrder): Promise<FloodMeasured> {
  const agent = new Agent({ keepAlive: true });
  const start = '{"model":"sim","options":{"tokens":1,"tokens_per_second":0},"input":"';
  const body = Buffer.from(`${start}${"x".repeat(bodyBytes - start.length - 2)}"}`);
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const ends: Record<number, number> = {};
  const send = () =>
    new Promise<Answer>((resolve) => {
      const options = { method: "POST", agent, headers: { ...headers, "content-length": body.length } };
      const sent = request(`${url}/v1/generations`, options, (response) => {
        response.resume().on("error", () => {});
        const retryAfterMs = Number(response.headers["retry-after"] ?? 0) * 1e3;
        response.on("close", () => resolve({ status: response.statusCode!, retryAfterMs }));
      });
      sent.on("error", () => resolve({ status: 0, retryAfterMs: 1_000 }));
      sent.end(body);
    });
  const one = async () => {
    while (nowMicros() < untilMicros) {
      const { status, retryAfterMs } = await send();
      ends[status] = (ends[status] ?? 0) + 1;
      if (retryAfterMs > 0) await delay(retryAfterMs);
    }
  };
  await Promise.all(Array.from({ length: senders }, one));
  agent.destroy();
  return ends;
}

serveParent({ flood });
