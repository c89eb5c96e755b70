import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { runDemo } from "./run-demo.ts";

/** The address of a server that takes requests and never answers one. */
async function startSilentServer(stack: AsyncDisposableStack): Promise<string> {
  const server = createServer((request) => request.resume());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

async function demoOf(baseUrl: string, firstTokenMs: number): Promise<{ ok: boolean; told: string }> {
  let told = "";
  const out = { write: (text: string) => void (told += text) };
  const env = { ...process.env, OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: undefined };
  const ok = await runDemo(env, out, { silenceMs: 1, firstTokenMs });
  return { ok, told };
}

test("a model server that does not answer is named while the demo waits for it, and when it gives up", async () => {
  await using stack = new AsyncDisposableStack();
  const url = await startSilentServer(stack);
  const { ok, told } = await demoOf(url, 1_500);
  expect(ok).toBe(false);
  expect(told).toContain(`Waiting for the first token of ${url}, 1.5 s at most`);
  expect(told).toMatch(/ended as failed \(first_token_timeout: .*within 1500 ms/);
  expect(told).toContain(`The model server is ${url} (OPENAI_BASE_URL).`);
});

test("a model server that can't be reached is named with what has failed", async () => {
  const { ok, told } = await demoOf("http://127.0.0.1:1/v1", 10_000);
  expect(ok).toBe(false);
  expect(told).toContain("The model server is http://127.0.0.1:1/v1 (OPENAI_BASE_URL).");
  expect(told).toMatch(/ECONNREFUSED|could not be reached/);
});
