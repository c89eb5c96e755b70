import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { WholePlatform } from "../../targets/reprise/whole-platform.ts";

type Address = Pick<WholePlatform, "url" | "apiKey">;

const AT_ONCE = 16;
const TRIES = 20;
const RETRY_MS = 500;

/** @throws Error when one is refused */
export async function createGenerations(
  address: Address,
  count: number,
  options: Readonly<Record<string, unknown>>,
): Promise<string[]> {
  const body = JSON.stringify({ model: "sim", input: "Tell me about capacity.", options });
  return inTurns(Array.from({ length: count }), async () => {
    const answer = await post(address, "/v1/generations", body);
    return ((await answer.json()) as { id: string }).id;
  });
}

export async function cancelGenerations(address: Address, ids: readonly string[]): Promise<void> {
  await inTurns(ids, async (id) => {
    await (await post(address, `/v1/generations/${id}/cancel`, "{}")).arrayBuffer();
  });
}

async function post({ url, apiKey }: Address, path: string, body: string): Promise<Response> {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    "content-type": "application/json",
    "idempotency-key": randomUUID(),
  };
  // On a machine that others use a platform under load may say that it is not ready, as to any client.
  for (let tried = 1; ; tried++) {
    const answer = await fetch(`${url}${path}`, { method: "POST", headers, body });
    if (answer.ok) return answer;
    const text = await answer.text();
    if (answer.status !== 503 || tried === TRIES) throw new Error(`${path}: ${answer.status} ${text}`);
    await delay(RETRY_MS);
  }
}

async function inTurns<T, R>(items: readonly T[], call: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(call))));
  return results;
}
