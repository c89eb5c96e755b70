import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect, it } from "vitest";
import { blobsOf } from "./blobs/index.ts";
import { createClient } from "./client.ts";
import { conversationsOf } from "./conversations/index.ts";
import { inputOf } from "./input/index.ts";
import { overSocket } from "./socket/index.ts";
import { partialsOf } from "./json/index.ts";
import { completedLog, MIXED_TEXTS, numbered, toolLog } from "./testing/example-log.ts";
import { startFakeDelivery } from "./testing/fake-delivery.ts";
import { FAKE_ID } from "./testing/fake-log.ts";
import { startFakeUploads } from "./testing/fake-uploads.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const examples = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code!);
const text = MIXED_TEXTS.join("");

/** Runs an example against a server, and returns what it wrote. */
async function run(example: string, url: string): Promise<string> {
  const body = example
    .replaceAll(/^import .*$/gm, "")
    .replace("http://127.0.0.1:8080", url)
    .replace("rk_…", "rk_x");
  let output = "";
  const write = (part: unknown): void => void (output += String(part));
  const console = { log: (...parts: unknown[]) => write(`${parts.join(" ")}\n`) };
  const AsyncFunction = run.constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<void>;
  await new AsyncFunction(
    "createClient",
    "partialsOf",
    "conversationsOf",
    "blobsOf",
    "inputOf",
    "overSocket",
    "process",
    "console",
    body,
  )(createClient, partialsOf, conversationsOf, blobsOf, inputOf, overSocket, { stdout: { write } }, console);
  return output;
}

const plainLog = completedLog(MIXED_TEXTS);
const callingLog = toolLog({ name: "look_up", arguments: '{"word":"log"}' });
const withdrawal = { type: "moderation.redacted", from_seq: 2, to_seq: 2, replacement: "…" };
const moderatedLog = numbered([...completedLog(["Psst."]), withdrawal]);
const formedLog = completedLog(['{"city": "Bo', 'nn"}']);
const moderatedOutput = [
  "generation.started ",
  "output.delta Psst.",
  "generation.completed Psst.",
  "moderation.redacted …",
];

it.each([
  [0, plainLog, `${text}\n${FAKE_ID} completed, 0 reconnect(s)\n`],
  [1, plainLog, `${text} completed\n`],
  [2, callingLog, "Let me see. It is 7. completed\n"],
  [3, moderatedLog, `${moderatedOutput.join("\n")}\n`],
  [4, formedLog, `{"city":"Bo"} false\n{"city":"Bonn"} true\n`],
])("example %i of the README does what it says", async (index, log, expected) => {
  await using delivery = await startFakeDelivery({ log, awaitsTools: true });
  expect(await run(examples[index]!, delivery.url)).toBe(expected);
});

/** A platform with conversations and streamed input, which the first examples do not mention. */
async function startFakePlatform(log: typeof plainLog) {
  const delivery = await startFakeDelivery({ log });
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const [path] = request.url!.split("?");
    asked.push(`${request.method} ${path}`);
    const { method, headers, url } = request;
    if (path!.endsWith("/input"))
      return void json(request).then((body) => {
        const { first, entries } = body as { first: number; entries: object[] };
        response.end(JSON.stringify({ stored: first - 1 + entries.length, consumed: 0 }));
      });
    if (path!.startsWith("/v1/generations"))
      return void request.pipe(
        httpRequest(delivery.url + url, { method, headers }, (answer) => {
          response.writeHead(answer.statusCode!, answer.headers);
          answer.pipe(response);
        }),
      );
    request.resume();
    const roles = ["user", "assistant", "user", "assistant"];
    response.end(JSON.stringify({ id: "conv_1", data: roles.map((role) => ({ role })) }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await delivery[Symbol.asyncDispose]();
    },
  };
}

it("the example of a conversation asks for two turns, lists what was said and deletes it", async () => {
  await using platform = await startFakePlatform(plainLog);
  expect(await run(examples[5]!, platform.url)).toBe("user\nassistant\nuser\nassistant\n");
  expect(platform.asked).toEqual([
    "POST /v1/conversations",
    "POST /v1/generations",
    "POST /v1/generations",
    "GET /v1/conversations/conv_1/items",
    "DELETE /v1/conversations/conv_1",
  ]);
});

it("the example of streamed input sends it in order, and reads the answer", async () => {
  await using platform = await startFakePlatform(plainLog);
  expect(await run(examples[6]!, platform.url)).toBe(`${MIXED_TEXTS.join("\n")}\n`);
  const input = `POST /v1/generations/${FAKE_ID}/input`;
  const read = `GET /v1/generations/${FAKE_ID}/events`;
  expect(platform.asked).toEqual(["POST /v1/generations", input, input, input, read]);
});

it("the example of a blob uploads it and downloads it", async () => {
  await using uploads = await startFakeUploads();
  expect(await run(examples[7]!, uploads.url)).toBe("true 4 image/png\n");
});

it("the example of a WebSocket reads streams where none can be opened, too", async () => {
  await using delivery = await startFakeDelivery({ log: plainLog });
  expect(await run(examples[8]!, delivery.url)).toBe(`${text}\n${text}\n`);
});
