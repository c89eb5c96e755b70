import { setImmediate } from "node:timers/promises";
import { asSeq, type InputEntry, type InputRecord } from "@reprise/protocol";
import { expect, test } from "vitest";
import { NO_PROGRESS } from "../engine.ts";
import { collect } from "../testing/collect.ts";
import { type RealtimeMessage, startRealtimeServer } from "../testing/realtime-server.ts";
import { createRealtimeEngine } from "./realtime-engine.ts";

const FORMAT = "audio/pcm;rate=16000;channels=1" as const;
const END: InputEntry = { type: "input.end" };
const sound = (bytes: number): InputEntry => ({ type: "input.audio", audio: new Uint8Array(bytes).fill(7) });
const delta = (text: string): RealtimeMessage => ({ type: "transcription.delta", delta: text });

async function* recordsOf(entries: Iterable<InputEntry> | AsyncIterable<InputEntry>) {
  let number = 0;
  for await (const entry of entries) {
    const seq = asSeq(++number);
    yield { first: seq, seq, at: 0, committed: asSeq(0), entry } satisfies InputRecord;
  }
}

function generate(
  baseUrl: string,
  entries: Iterable<InputEntry> | AsyncIterable<InputEntry>,
  {
    signal = new AbortController().signal,
    ...request
  }: { signal?: AbortSignal; max_output_tokens?: number } = {},
) {
  const options = {
    baseUrl,
    upstreamModel: "voxtral",
    apiKey: "sk-1",
    capabilities: new Set(["input_stream"] as const),
  };
  return createRealtimeEngine(options).generate(
    { model: "captions", input: [], input_stream: { format: FORMAT }, ...request },
    { ...NO_PROGRESS, signal, input: recordsOf(entries) },
  );
}

test("sound is sent as it comes, and its transcription is the output", async () => {
  const got: RealtimeMessage[] = [];
  await using server = await startRealtimeServer((message, { send }) => {
    got.push(message);
    if (message.type === "input_audio_buffer.append") send(delta(`word-${got.length} `));
    if (message["final"] === true)
      send({ type: "transcription.done", text: "all", usage: { prompt_tokens: 12, completion_tokens: 3 } });
  });
  const entries: InputEntry[] = [sound(3), { type: "input.commit" }, sound(6), { type: "input.clear" }, END];
  const { text, events, error } = await collect(generate(server.baseUrl, entries));
  expect([error, text]).toEqual([undefined, "word-2 word-4 "]);
  expect(events.at(-1)).toEqual({
    type: "finish",
    reason: "stop",
    usage: { input_tokens: 12, output_tokens: 3 },
  });
  expect(got).toEqual([
    { type: "session.update", model: "voxtral" },
    { type: "input_audio_buffer.append", audio: "BwcH" },
    { type: "input_audio_buffer.commit", final: false },
    { type: "input_audio_buffer.append", audio: "BwcHBwcH" },
    { type: "input_audio_buffer.commit", final: true },
  ]);
  expect(server.connections).toMatchObject([
    { url: "/v1/realtime", headers: { authorization: "Bearer sk-1" } },
  ]);
  await server.connections[0]!.closed;
});

test("a server that is silent is said to have consumed what it was sent", async () => {
  const heard = Promise.withResolvers<void>();
  await using server = await startRealtimeServer(({ final }, { send }) => {
    if (final === true) send({ type: "transcription.done", text: "" });
  });
  async function* entries() {
    for (let i = 0; i < 40; i++) yield sound(16_384);
    await heard.promise;
    yield END;
  }
  const consumed: number[] = [];
  for await (const event of generate(server.baseUrl, entries())) {
    if (event.type !== "text") continue;
    expect(event.text).toBe("");
    consumed.push(event.consumed!);
    if (event.consumed! > 30) heard.resolve();
  }
  expect(consumed.at(-1)).toBeGreaterThan(30);
});

test.each([
  [{ type: "error", error: "secret", code: "model_not_validated" }, "engine_failed", "never"],
  ["cut", "engine_failed", "broken"],
] as const)("%j ends the generation without the server's words", async (message, code, retry) => {
  await using server = await startRealtimeServer((got, { send, cut }) => {
    if (got.type !== "input_audio_buffer.append") return;
    if (message === "cut") cut();
    else send(message);
  });
  const { error } = await collect(generate(server.baseUrl, [sound(3), END]));
  expect(error).toMatchObject({ code, retry });
  expect((error as Error).message).not.toContain("secret");
});

test("a server that is not there is unreachable", async () => {
  const { baseUrl, [Symbol.asyncDispose]: close } = await startRealtimeServer(() => {});
  await close();
  const { error } = await collect(generate(baseUrl, [END]));
  expect(error).toMatchObject({ code: "engine_unavailable", isUnreachable: true });
});

test("an abort, or the last token that is allowed, closes the connection", async () => {
  await using server = await startRealtimeServer(({ type }, { send }) => {
    if (type !== "input_audio_buffer.append") return;
    send("no JSON");
    send(delta("a "));
    send(delta("b "));
  });
  const cut = await collect(generate(server.baseUrl, [sound(3)], { max_output_tokens: 1 }));
  expect([cut.text, cut.events.at(-1)]).toEqual(["a ", { type: "finish", reason: "length" }]);
  await server.connections[0]!.closed;
  const controller = new AbortController();
  const reason = new Error("cancelled");
  const aborted = (async () => {
    for await (const { type } of generate(server.baseUrl, [sound(3)], { signal: controller.signal }))
      if (type === "text") controller.abort(reason);
  })();
  await expect(aborted).rejects.toBe(reason);
  await server.connections[1]!.closed;
});

test("an abort while the server reads nothing closes the connection", async () => {
  await using server = await startRealtimeServer();
  const controller = new AbortController();
  const reason = new Error("cancelled");
  const aborted = (async () => {
    // More than the system's buffers take, so that the second entry has to wait.
    for await (const { type } of generate(server.baseUrl, [sound(16_777_216), sound(3)], controller))
      if (type === "text") controller.abort(reason);
  })();
  await expect(aborted).rejects.toBe(reason);
  server.connections[0]!.discard();
  await server.connections[0]!.closed;
});

test("no more input is read after the transcription's end, and a usage that is no count is left out", async () => {
  await using server = await startRealtimeServer((_, { send }) =>
    send({ type: "transcription.done", usage: { prompt_tokens: 1.5, completion_tokens: -3 } }),
  );
  const left = Promise.withResolvers<void>();
  async function* entries() {
    try {
      for (;;) {
        yield sound(3);
        await setImmediate();
      }
    } finally {
      left.resolve();
    }
  }
  const { events } = await collect(generate(server.baseUrl, entries()));
  expect(events.at(-1)).toEqual({ type: "finish", reason: "stop" });
  await left.promise;
});
