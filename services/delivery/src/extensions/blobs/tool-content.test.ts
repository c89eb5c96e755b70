import { SIM_CAPABILITIES } from "@reprise/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PNG, upload } from "../../testing/uploads.ts";
import {
  append,
  call,
  createGeneration,
  KEYS,
  openPlatform,
  type Platform,
  REQUEST,
  started,
  toolCall,
} from "../../testing/platform.ts";

const NO_BLOB = `blob_${"0".repeat(26)}`;

let platform: Platform;
let n = 0;

beforeAll(async () => {
  platform = await openPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

async function stored({ type = "image/png", query = "" } = {}): Promise<string> {
  const begin = type === "image/png" ? PNG : Buffer.from("some text ");
  const content = Buffer.concat([begin, Buffer.from(`${n++}`)]);
  return ((await upload(platform.node.url, { content, type, query })).json as { id: string }).id;
}

async function ask(on = platform, body: object = REQUEST) {
  const { path, ref, worker } = await createGeneration(on, { body });
  await append(worker, started(), toolCall("a"));
  const url = `${on.node.url}${path}/tool-results`;
  const answer = (content: object[], key: string = KEYS.acme) =>
    call(url, { body: { call_id: "a", content }, key });
  return { answer, ref };
}

test("parts are in the log as they were sent, and readers are shown them", async () => {
  const { answer, ref } = await ask();
  const content = [
    { type: "text", text: "The map:" },
    { type: "image", blob: await stored() },
  ];
  expect((await answer(content)).status).toBe(200);
  const { events } = await platform.log.reader.readLog(ref);
  expect(JSON.parse(Buffer.from(events.at(-1)!).toString())).toEqual({
    seq: 3,
    type: "tool.result",
    call_id: "a",
    content,
  });
});

test("a blob that is not there, another end user's, and one of another kind are refused by the part, and nothing is appended", async () => {
  const { answer, ref } = await ask(platform, { ...REQUEST, end_user: "ann" });
  const others = await stored({ query: "?end_user=bob" });
  const words = await stored({ type: "text/plain" });
  const said = { type: "text", text: "x" };
  for (const [blob, status, code] of [
    [NO_BLOB, 404, "blob_not_found"],
    [others, 404, "blob_not_found"],
    [words, 400, "invalid_request"],
  ] as const) {
    const { json, status: got } = await answer([said, { type: "image", blob }]);
    expect([got, json]).toMatchObject([status, { error: { code, param: "content.1.blob" } }]);
  }
  expect((await platform.log.reader.readLog(ref)).events).toHaveLength(3);
  expect((await answer([{ type: "image", blob: await stored({ query: "?end_user=ann" }) }])).status).toBe(
    200,
  );
});

test("what the model can't be given is refused by the part", async () => {
  const capabilities = new Set([...SIM_CAPABILITIES].filter((name) => name !== "images"));
  await using blind = await openPlatform({ served: new Map([["sim", { engine: "sim", capabilities }]]) });
  const { answer } = await ask(blind);
  const url = `data:image/png;base64,${PNG.toString("base64")}`;
  expect((await answer([{ type: "image", url }])).json).toMatchObject({
    error: { code: "capability_unsupported", param: "content.0", message: expect.stringContaining("images") },
  });
  expect((await answer([{ type: "text", text: "It is red." }])).status).toBe(200);
});
