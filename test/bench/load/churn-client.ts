import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { serveParent } from "../children/serve-parent.ts";
import { nowMicros } from "../measure/clock.ts";
import { type Samples, summarize } from "../measure/samples.ts";

export interface ChurnOrder {
  url: string;
  apiKey: string;
  /** Generations that are under way at a time; each is followed by the next one at once. */
  atOnce: number;
  /** Of each generation. */
  tokens: number;
  untilMicros: number;
}

export interface ChurnMeasured {
  /** Milliseconds from a create to the end of its stream. */
  readonly whole: Samples;
  /** Generations whose stream did not end as it should: refused, broken, or with another number of tokens. */
  readonly wrong: number;
}

async function churn({ url, apiKey, atOnce, tokens, untilMicros }: ChurnOrder): Promise<ChurnMeasured> {
  const agent = new Agent({ keepAlive: true });
  const body = JSON.stringify({ model: "sim", input: "bench", options: { tokens, tokens_per_second: 0 } });
  const headers = {
    authorization: `Bearer ${apiKey}`,
    accept: "text/event-stream",
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  };
  const end = `"output_tokens":${tokens}}`;
  const wholes: number[] = [];
  let wrong = 0;
  /** Resolves with whether the stream was whole. */
  const send = () =>
    new Promise<boolean>((resolve) => {
      const options = { method: "POST", agent, headers: { ...headers, "idempotency-key": randomUUID() } };
      const sent = request(`${url}/v1/generations`, options, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        // "close" follows and tells more.
        response.on("error", () => {});
        response.on("close", () =>
          resolve(text.includes('"type":"generation.completed"') && text.includes(end)),
        );
      });
      sent.on("error", () => resolve(false));
      sent.end(body);
    });
  const keepOneUnderWay = async () => {
    while (nowMicros() < untilMicros) {
      const startMicros = nowMicros();
      if (await send()) wholes.push((nowMicros() - startMicros) / 1e3);
      else wrong++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, keepOneUnderWay));
  agent.destroy();
  return { whole: summarize(wholes), wrong };
}

serveParent({ churn });
