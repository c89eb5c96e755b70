import { expect, test } from "vitest";
import { createClient } from "../client.ts";
import type { FetchedResponse, FetchInit } from "../http/http.ts";
import { createTestRuntime } from "../testing/test-runtime.ts";
import { durableRun } from "./durable-run.ts";

interface Chunk {
  readonly type: string;
  readonly name?: string;
  readonly delta?: string;
}

const MISSING = { error: { code: "generation_not_found", message: "There is none.", retryable: false } };
const [START, TEXT, END]: [Chunk, Chunk, Chunk] = [
  { type: "RUN_STARTED" },
  { type: "TEXT_MESSAGE_CONTENT", delta: "Hi" },
  { type: "RUN_FINISHED" },
];
const framesOf = (chunks: readonly Chunk[], first = 0) =>
  chunks.map((chunk, i) => `id: ${first + i}\ndata: ${JSON.stringify(chunk)}\n\n`).join("");

/** A platform that gives these answers, one after the other. */
function openRun(answers: readonly Response[], { headers = {}, query = "" } = {}) {
  const asked: string[] = [];
  const left = [...answers];
  const fetch = (url: string, { method }: FetchInit): Promise<FetchedResponse> => {
    asked.push(`${method} ${new URL(url).search}`);
    return Promise.resolve(left.shift() ?? Response.error());
  };
  const client = createClient({ url: "http://reprise", apiKey: "rk_x", fetch, runtime: createTestRuntime() });
  const request = new Request(`http://app/chat${query}`, { headers });
  return { asked, run: durableRun<Chunk>(client, request) };
}

const stream = (body: string) => new Response(body, { headers: { "content-type": "text/event-stream" } });

test("a run that is begun continues after the last chunk when its answer ends early", async () => {
  const { run, asked } = openRun([stream(framesOf([START])), stream(framesOf([TEXT, END], 1))]);
  expect(run.resumeFrom()).toBeNull();
  const chunks: Chunk[] = [];
  const offsets: string[] = [];
  offsets.push(...(await run.append([{ type: "CUSTOM", name: "run.accepted" }])));
  for await (const chunk of run.start({ runId: "r 1" }, { model: "sim" })) {
    chunks.push(chunk);
    offsets.push(...(await run.append([chunk])));
  }
  expect(chunks).toEqual([START, TEXT, END]);
  expect(offsets).toEqual(["-1", "0", "1", "2"]);
  expect(asked).toEqual(["POST ?model=sim", "GET ?runId=r+1&offset=0"]);
});

test("what is not of the run can't be appended, but for how its handler has failed", async () => {
  const { run } = openRun([stream(framesOf([START, END]))]);
  await Array.fromAsync(run.start({ runId: "r1" }));
  await expect(run.append([{ type: "CUSTOM", name: "mine" }])).rejects.toMatchObject({
    code: "invalid_request",
  });
  expect(await run.append([{ type: "RUN_ERROR" }])).toEqual(["1+"]);
});

test("a reader of the beginning waits for a run that is not there yet, and any other does not", async () => {
  const missing = () => Response.json(MISSING, { status: 404 });
  const query = "?offset=-1&runId=r1";
  const { run, asked } = openRun([missing(), missing(), stream(framesOf([START, END]))], { query });
  expect(run.resumeFrom()).toBe("-1");
  const read = await Array.fromAsync(run.read("-1"));
  expect(read.map(({ offset }) => offset)).toEqual(["0", "1"]);
  expect(asked).toHaveLength(3);
  const never = openRun(Array.from({ length: 9 }, missing), { query });
  await expect(Array.fromAsync(never.run.read("-1"))).rejects.toMatchObject({ code: "generation_not_found" });
  expect(never.asked).toHaveLength(6);
  const later = openRun([missing()], { query });
  await expect(Array.fromAsync(later.run.read("3"))).rejects.toMatchObject({ code: "generation_not_found" });
});

test("an end that is sent again has an offset of its own, after which it is sent again", async () => {
  const again = () => stream(`data: ${JSON.stringify(END)}\n\n`);
  const headers = { "x-run-id": "r1", "last-event-id": "2" };
  const { run, asked } = openRun([again(), again()], { headers });
  expect(run.resumeFrom()).toBe("2");
  expect(await Array.fromAsync(run.read("2"))).toEqual([{ offset: "2+", chunk: END }]);
  expect(await Array.fromAsync(run.read("2+"))).toEqual([{ offset: "2+", chunk: END }]);
  expect(asked).toEqual(["GET ?runId=r1&offset=2", "GET ?runId=r1&offset=2"]);
});

test("what is stored is read page by page; of a run that is not there it is nothing", async () => {
  const page = (chunks: object[]) => Response.json({ chunks });
  const query = "?runId=r1";
  const { run, asked } = openRun(
    [page([{ id: "0", chunk: START }]), page([{ id: "1", chunk: TEXT }]), page([])],
    { query },
  );
  expect(await run.snapshot()).toEqual([
    { offset: "0", chunk: START },
    { offset: "1", chunk: TEXT },
  ]);
  expect(asked.map((call) => call.split("offset=")[1])).toEqual(["-1", "0", "1"]);
  expect(await openRun([Response.json(MISSING, { status: 404 })], { query }).run.snapshot()).toEqual([]);
});

test("a request that names no run can't be read", async () => {
  const { run } = openRun([]);
  await expect(run.snapshot()).rejects.toMatchObject({ code: "invalid_request" });
  await expect(Array.fromAsync(run.read("1"))).rejects.toMatchObject({ code: "invalid_request" });
});
