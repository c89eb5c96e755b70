import { Agent, request } from "node:http";
import { serveParent } from "../children/serve-parent.ts";

export interface BacklogOrder {
  url: string;
  apiKey: string;
  /** How many generations to create, and how long each of them is. */
  creates: number;
  tokens: number;
  tokensPerSecond: number;
}

const AT_ONCE = 8;

/** Queues generations without following them. Returns how many were created. */
async function queue({ url, apiKey, creates, tokens, tokensPerSecond }: BacklogOrder): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const options = { tokens, tokens_per_second: tokensPerSecond };
  const body = JSON.stringify({ model: "sim", input: "Go on and on.", options });
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const send = () =>
    new Promise<boolean>((resolve) => {
      const sent = request(`${url}/v1/generations`, { method: "POST", agent, headers }, (response) => {
        response.resume();
        response.on("close", () => resolve(response.statusCode === 201));
      });
      sent.on("error", () => resolve(false));
      sent.end(body);
    });
  let [left, created] = [creates, 0];
  const sendOn = async () => {
    while (left-- > 0) if (await send()) created++;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendOn));
  agent.destroy();
  return created;
}

serveParent({ queue });
