import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { content, delta, DONE, finish, frame, ROLE, usage } from "../testing/chat-frames.ts";
import { anyText } from "../testing/any-text.ts";
import { collect } from "../testing/collect.ts";
import { readChatStream } from "./chat-stream.ts";

const SECRETS = { key: undefined, texts: ["Tell me a story about a lighthouse keeper."] };
const BROKEN = new Error("the connection broke");

/** Runs a stream that comes in these pieces, and then ends or throws. */
function read(
  pieces: readonly (string | Uint8Array)[],
  { thrown, producedTokens = 0 }: { thrown?: Error; producedTokens?: number } = {},
) {
  async function* body() {
    const utf8 = new TextEncoder();
    for (const piece of pieces) yield typeof piece === "string" ? utf8.encode(piece) : piece;
    if (thrown) throw thrown;
  }
  return collect(
    readChatStream(body(), { signal: new AbortController().signal, producedTokens, secrets: SECRETS }),
  );
}

const text = (piece: string) => ({ type: "text", text: piece });
const reasoning = (piece: string) => ({ type: "reasoning", text: piece });
const end = (reason: string, inputTokens: number | null, outputTokens: number) => ({
  type: "finish",
  reason,
  usage: { input_tokens: inputTokens, output_tokens: outputTokens },
});

describe("a chat completion's stream", () => {
  test("becomes its texts and one finish with the usage that the upstream counted", async () => {
    const { events, error } = await read([ROLE, content("Hel"), content("lo"), finish(), usage(12, 7), DONE]);
    expect(error).toBeUndefined();
    expect(events).toEqual([text("Hel"), text("lo"), end("stop", 12, 7)]);
  });

  test("without usage counts its chunks and leaves the input open", async () => {
    const { events } = await read([
      ROLE,
      content("a"),
      delta({ reasoning: "b" }),
      content(""),
      content("c"),
      finish(),
      DONE,
    ]);
    expect(events.at(-1)).toEqual(end("stop", null, 3));
  });

  test("with nulls and absent fields where there is nothing to say is read as if they were not there", async () => {
    const chunks = [
      frame({ choices: [], prompt_filter_results: [] }),
      frame({
        choices: [{ index: 0, delta: { role: "assistant", content: null, reasoning_content: null } }],
        usage: null,
      }),
      frame({ choices: [{ delta: { content: "a" } }] }),
      frame({ choices: [{ index: 0, finish_reason: "" }] }),
      frame({ choices: [{ index: 0, delta: null, finish_reason: "stop" }], usage: {} }),
      frame({ usage: { prompt_tokens: null, completion_tokens: 3 } }),
    ];
    expect((await read([...chunks, DONE])).events).toEqual([text("a"), end("stop", null, 3)]);
  });

  test("gives reasoning by either of its names, and once when both are there", async () => {
    const chunks = [
      delta({ reasoning: "a" }),
      delta({ reasoning_content: "b" }),
      delta({ reasoning: "c", reasoning_content: "c" }),
      delta({ reasoning: "", reasoning_content: "d" }),
      delta({ reasoning: "e", content: "f" }),
    ];
    const { events } = await read([...chunks, finish(), DONE]);
    expect(events.slice(0, -1)).toEqual([...["a", "b", "c", "d", "e"].map(reasoning), text("f")]);
  });

  test("says nothing of choices that were not asked for", async () => {
    const chunk = frame({
      choices: [
        { index: 1, delta: { content: "no" } },
        { index: 0, delta: { content: "yes" } },
      ],
    });
    expect((await read([chunk, finish(), DONE])).text).toBe("yes");
  });

  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content_filter"],
    ["tool_calls", "other"],
    ["function_call", "other"],
    ["eos_token", "other"],
    ["abort", "other"],
  ])("with the finish reason %s finishes with %s", async (said, reason) => {
    expect((await read([content("a"), finish(said), DONE])).events.at(-1)).toEqual(end(reason, null, 1));
  });

  test("keeps text that comes with the finish reason", async () => {
    expect((await read([delta({ content: "a" }, "length"), DONE])).events).toEqual([
      text("a"),
      end("length", null, 1),
    ]);
  });

  test("reads nothing behind [DONE]", async () => {
    expect((await read([content("a"), finish(), DONE, content("b"), "garbage"])).text).toBe("a");
  });

  test("is the same for comments, CRLF, named events and missing blanks", async () => {
    const plain = [ROLE, content("a"), finish(), usage(1, 2), DONE];
    const odd = [
      ": ping\n\n",
      ": ping\r\n",
      ...plain.map((part) => `event: message\nid: 7\n${part.replace("data: ", "data:")}`),
      ":\n\n",
    ];
    const expected = (await read(plain)).events;
    expect((await read(odd)).events).toEqual(expected);
    expect((await read(odd.map((part) => part.replaceAll("\n", "\r\n")))).events).toEqual(expected);
  });

  test("cut at every byte, within characters too, is the same stream", async () => {
    const bytes = new TextEncoder().encode(
      [ROLE, content("né日本🙂\r\n"), ": ping\r\n\r\n", finish(), usage(1, 4), DONE].join(""),
    );
    const whole = await read([bytes]);
    expect(whole.text).toBe("né日本🙂\r\n");
    for (let at = 0; at <= bytes.length; at++) {
      expect((await read([bytes.subarray(0, at), bytes.subarray(at)])).events).toEqual(whole.events);
    }
    expect((await read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).events).toEqual(whole.events);
  });

  test("gives every text that was sent, however the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyText({ minLength: 1 }), { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        async (texts, cuts) => {
          const bytes = new TextEncoder().encode([ROLE, ...texts.map(content), finish(), DONE].join(""));
          const at = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((a, b) => a - b), bytes.length];
          const { events } = await read(at.slice(1).map((stop, i) => bytes.subarray(at[i], stop)));
          expect(events).toEqual([...texts.map(text), end("stop", null, texts.length)]);
        },
      ),
    );
  });

  test("of a continued run does not count the prefix as input", async () => {
    const { events } = await read([content("a"), finish(), usage(50, 1), DONE], { producedTokens: 30 });
    expect(events.at(-1)).toEqual(end("stop", 20, 1));
  });
});

describe("a chat completion's stream that ends", () => {
  test("cleanly with a finish reason but without [DONE] is whole", async () => {
    expect((await read([content("a"), finish()])).events).toEqual([text("a"), end("stop", null, 1)]);
  });

  test("by breaking after its finish reason is whole", async () => {
    expect((await read([content("a"), finish()], { thrown: BROKEN })).events).toEqual([
      text("a"),
      end("stop", null, 1),
    ]);
  });

  test("by breaking before its finish reason has failed after what had come", async () => {
    expect(await read([content("a")], { thrown: BROKEN })).toEqual({
      events: [text("a")],
      text: "a",
      error: BROKEN,
    });
  });

  test.each([
    ["cleanly without a finish reason", [content("a")], "a"],
    ["with [DONE] but without a finish reason", [content("a"), DONE], "a"],
    ["before it has said anything", [], ""],
    ["within a message", [content("a"), content("b").slice(0, -2)], "a"],
    ["with a chunk that is not JSON", [content("a"), "data: {oops\n\n"], "a"],
    ["with JSON that is no chunk", [content("a"), frame({ choices: "none" })], "a"],
    ["with a number", [content("a"), frame(7)], "a"],
    ["with content that is no text", [content("a"), delta({ content: 7 })], "a"],
    ["with an error object", [content("a"), frame({ error: { message: "worker lost", code: 500 } })], "a"],
    ["with an error that is a text", [content("a"), frame({ error: "worker lost" })], "a"],
    ["with an error event", [content("a"), `event: error\n${frame({ message: "worker lost" })}`], "a"],
    ["with an error event that is not JSON", [content("a"), "event: error\ndata: worker lost\n\n"], "a"],
    ["with a message that never ends", [content("a"), `data: ${"x".repeat(1_048_577)}`], "a"],
  ])("%s has failed after what had come", async (_, pieces, soFar) => {
    const { text: said, error, events } = await read(pieces);
    expect(said).toBe(soFar);
    expect(error).toMatchObject({ code: "engine_failed", retryable: true });
    expect(events.every(({ type }) => type !== "finish")).toBe(true);
  });

  test("with an error tells what the upstream said about it", async () => {
    const { error } = await read([frame({ error: { message: "CUDA out of memory" } })]);
    expect(error).toMatchObject({ message: "The engine failed in mid-stream: CUDA out of memory" });
  });

  test.each([
    frame({ error: { message: `can't go on with "${SECRETS.texts[0]}"` } }),
    `data: ${SECRETS.texts[0]}\n\n`,
    frame({ choices: SECRETS.texts[0] }),
  ])("with an error does not repeat the request: %s", async (piece) => {
    const { error } = await read([piece]);
    expect(error).toMatchObject({ code: "engine_failed" });
    expect(String(error) + String((error as Error).cause)).not.toContain("lighthouse");
  });
});
