import * as fc from "fast-check";
import { expect, test } from "vitest";
import { sseEvents } from "./sse-answer.ts";

/** Encodes one event with this content. */
async function encode(content: readonly Uint8Array[], type = "text/plain"): Promise<readonly Buffer[]> {
  const state = { next: "0", isUpToDate: true, isOver: true };
  const next = async () => ({ content, state });
  const { signal } = new AbortController();
  return Array.fromAsync(sseEvents({ type, next, cursor: undefined, signal, onReplay: () => {} }));
}

/** Decodes the first event as an `EventSource` does. */
function dataOf(chunks: readonly Buffer[]): string {
  const [event = ""] = Buffer.concat(chunks).toString("latin1").split("\n\n");
  const lines = event.split(/\r\n|\r|\n/).filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice("data:".length).replace(/^ /, "")).join("\n");
}

const pieceOfText = fc.constantFrom("\r", "\n", "\r\n", " ", "a", ":", "data: x", "a".repeat(12_287));

test("text is the same for a reader, but for the kind of its line breaks, however long and in whichever parts", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(pieceOfText).map((texts) => texts.join(""))), async (parts) => {
      const data = dataOf(await encode(parts.map((part) => Buffer.from(part))));
      expect(data).toBe(parts.join("").replaceAll(/\r\n|\r/g, "\n"));
    }),
  );
});

test("binary content is one line of base64, however long", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 100_000 }), async (length) => {
      const bytes = Buffer.alloc(length, "abcdefg");
      expect(dataOf(await encode([bytes], "image/png"))).toBe(bytes.toString("base64"));
    }),
  );
});

test("others have their turn between the slices of a long content", async () => {
  let turns = 0;
  const count = () => void (turns++, (next = setImmediate(count)));
  let next = setImmediate(count);
  const chunks = await encode([Buffer.alloc(1_048_576, "x")]);
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(chunks.length - 1);
});

test.each(["\n", "x", "\r\n "])(
  "of a long content of %j no more than a slice is encoded at a time",
  async (text) => {
    const chunks = await encode([Buffer.alloc(1_048_576, text)]);
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(128 * 1_024);
  },
);
