import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { createClient } from "@reprise/client";
import { durableRun } from "@reprise/client/tanstack";
import { createSeededRandom, startTcpProxy } from "@reprise/testkit";
import { resumeServerSentEventsResponse, type StreamChunk, toServerSentEventsResponse } from "@tanstack/ai";
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";
import { afterAll, expect, test } from "vitest";
import { startPlatform, type Tenant } from "./testing/platform.ts";
import { FAILING, type Script, STORY } from "./testing/sim.ts";

/* TanStack AI in front of a route handler of the app's own, whose durability adapter is `durableRun`. */

const platform = await startPlatform();
afterAll(() => platform[Symbol.asyncDispose]());

const runOf = (request: Request, tenant?: Tenant) =>
  durableRun<StreamChunk>(createClient({ url: platform.url, apiKey: platform.key(tenant) }), request);

async function handle(request: Request): Promise<Response> {
  const adapter = runOf(request);
  if (request.method === "GET") return resumeServerSentEventsResponse({ adapter });
  const chunks = adapter.start((await request.json()) as { runId: string }, { model: "sim" });
  return toServerSentEventsResponse(chunks, { durability: { adapter, batch: 1 } });
}

async function answerTo(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
  const headers = new Headers();
  for (const name of ["x-run-id", "last-event-id"]) {
    const value = incoming.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  const { method = "GET", url } = incoming;
  const body = method === "POST" ? Buffer.concat(await incoming.toArray()) : null;
  const response = await handle(new Request(`http://app${url}`, { method, headers, body }));
  answer.writeHead(response.status, Object.fromEntries(response.headers));
  const sent = Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
  answer.on("close", () => sent.destroy());
  sent.on("error", () => answer.destroy()).pipe(answer);
}

/** The app's server, which may be one of many. */
async function startHandler() {
  const server = createServer((incoming, answer) => {
    answerTo(incoming, answer).catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function createChat(port: number, { options }: Script) {
  const connection = fetchServerSentEvents(`http://127.0.0.1:${port}/chat`);
  return new ChatClient({ connection, forwardedProps: { options } });
}

const textOf = (chat: ChatClient) =>
  chat
    .getMessages()
    .flatMap(({ role, parts }) => (role === "assistant" ? parts : []))
    .map((part) => (part.type === "text" ? part.content : ""))
    .join("");

test("a client reads the text of an undisturbed run through cuts, from two processes", async () => {
  using one = await startHandler();
  using other = await startHandler();
  await using proxy = await startTcpProxy({ target: (index) => ({ port: [one, other][index % 2]!.port }) });
  const random = createSeededRandom(5);
  let cuts = 0;
  proxy.setFaults(() => ({
    toClient: { cutAfterBytes: cuts++ < 4 ? random.integer(1_500, 3_000) : Infinity },
  }));
  using _ = platform.cutNext(random, { count: 3 });
  const chat = createChat(proxy.port, STORY);
  await chat.sendMessage("Say it.");
  expect([textOf(chat), chat.getStatus()]).toEqual([STORY.text, "ready"]);
  expect(platform.cuts).toBeGreaterThan(0);
  expect(cuts).toBeGreaterThan(1);
  expect(await platform.runs()).toBe(1);
});

test("the client gets a failure with its code", async () => {
  using app = await startHandler();
  const chat = createChat(app.port, FAILING);
  await chat.sendMessage("Say it.");
  expect([textOf(chat), chat.getStatus()]).toEqual([FAILING.text, "error"]);
  expect(chat.getError()).toMatchObject({ code: "engine_failed" });
});
