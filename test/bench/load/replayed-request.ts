import { type Agent, type IncomingMessage, request } from "node:http";
import { createSseDecoder } from "@reprise/protocol";
import { nowMicros } from "../measure/clock.ts";

export interface ReplayedRequest {
  url: string;
  apiKey: string;
  agent: Agent;
  inputTokens: number;
  outputTokens: number;
  /** Tokens have come, so many of them, at this time. */
  onTokens: (tokens: number, atMicros: number) => void;
}

const WORD = "data ";

/**
 * Creates a generation and follows it in the same request. Resolves, never rejects, with how it ended: the type of the
 * terminal event, `status <n>`, or `broken` for a connection that ended before the stream did.
 */
export function sendReplayed({
  url,
  apiKey,
  agent,
  inputTokens,
  outputTokens,
  onTokens,
}: ReplayedRequest): Promise<string> {
  const body = {
    model: "sim",
    input: WORD.repeat(Math.max(1, inputTokens)),
    options: { tokens: outputTokens },
  };
  const headers = {
    authorization: `Bearer ${apiKey}`,
    accept: "text/event-stream",
    "content-type": "application/json",
  };
  return new Promise((resolve) => {
    const sent = request(`${url}/v1/generations`, { method: "POST", agent, headers }, (response) => {
      if (response.statusCode === 201) {
        resolve(follow(response, onTokens));
      } else {
        response.resume();
        resolve(`status ${response.statusCode}`);
      }
    });
    sent.on("error", () => resolve("broken"));
    sent.end(JSON.stringify(body));
  });
}

function follow(response: IncomingMessage, onTokens: ReplayedRequest["onTokens"]): Promise<string> {
  const decoder = createSseDecoder();
  let last = "";
  response.on("data", (chunk: Buffer) => {
    const atMicros = nowMicros();
    let tokens = 0;
    for (const { data } of decoder.push(chunk)) {
      const event = JSON.parse(data) as { type: string; tokens?: number };
      last = event.type;
      if (last === "output.delta") tokens += event.tokens ?? 1;
    }
    if (tokens > 0) onTokens(tokens, atMicros);
  });
  // "close" follows and tells more.
  response.on("error", () => {});
  return new Promise((resolve) => response.on("close", () => resolve(response.complete ? last : "broken")));
}
