import { asSeq, type InputEntry, type InputRecord, plus, REQUEST_SEQ, type Seq } from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { EngineEvent } from "../engine.ts";
import { createSimEngine } from "./sim-engine.ts";

const engine = createSimEngine();

/** Answers records after an entry, with what was said before as the prefix. */
async function answer(
  format: string,
  records: readonly InputRecord[],
  {
    text = "",
    tokens = 0,
    options = {},
  }: { text?: string; tokens?: number; options?: Record<string, string | true> } = {},
): Promise<EngineEvent[]> {
  const events: EngineEvent[] = [];
  const request = { model: "sim", input: [], input_stream: { format: format as "text" }, options };
  const input = (async function* () {
    yield* records;
  })();
  const generated = engine.generate(request, {
    turns: [],
    prefix: { text, tokens },
    signal: new AbortController().signal,
    input,
  });
  for await (const event of generated) events.push(event);
  return events;
}

const textOf = (events: readonly EngineEvent[]) =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

/** Records of sound, each with this many bytes, and the end. */
function soundOf(sizes: readonly number[]): InputRecord[] {
  let at = 0;
  let seq: Seq = REQUEST_SEQ;
  const record = (entry: InputEntry, bytes: number): InputRecord => {
    const made = { first: plus(seq, 1), seq: plus(seq, 1), at, committed: REQUEST_SEQ, entry };
    at += bytes;
    seq = made.seq;
    return made;
  };
  return [
    ...sizes.map((size) => {
      const audio = Uint8Array.from({ length: size }, (_, i) => ((at + i) * 31) & 0xff);
      return record({ type: "input.audio", audio }, size);
    }),
    record({ type: "input.end" }, 0),
  ];
}

test("captions are the same however the sound is cut, and after a continuation at any event", async () => {
  const format = "audio/pcm;rate=8000;channels=1";
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 4_000 }), { maxLength: 20 }),
      fc.nat(),
      async (sizes, at) => {
        const records = soundOf(sizes);
        const whole = await answer(format, records);
        const total = sizes.reduce((sum, size) => sum + size, 0);
        expect(whole).toHaveLength(Math.ceil(total / 1_600) + 1);
        expect(textOf(await answer(format, soundOf(total > 0 ? [total] : [])))).toBe(textOf(whole));
        const said = whole.slice(0, at % whole.length);
        const consumed = said.reduce(
          (last, event) => (event.type === "text" ? (event.consumed ?? last) : last),
          asSeq(0),
        );
        const rest = await answer(
          format,
          records.filter(({ seq }) => seq > consumed),
          { text: textOf(said), tokens: said.length },
        );
        expect(textOf(said) + textOf(rest)).toBe(textOf(whole));
      },
    ),
  );
});

test.each([
  [{}, "Straße"],
  [{ answer: "upper" }, "STRASSE"],
])("text is answered as it comes: %j", async (options, expected) => {
  const texts = ["Stra", "ße"];
  const records = texts.map((text, i) => ({
    first: asSeq(i + 1),
    seq: asSeq(i + 1),
    at: 0,
    committed: REQUEST_SEQ,
    entry: { type: "input.delta", text } as const,
  }));
  const events = await answer("text", records, { options });
  expect(textOf(events)).toBe(expected);
  expect(events.map((event) => (event.type === "text" ? event.consumed : event.type))).toEqual([
    1,
    2,
    "finish",
  ]);
});

test("revised captions end as plain ones do, and begin again at any item that is final", async () => {
  const format = "audio/pcm;rate=8000;channels=1";
  const records = soundOf(Array.from({ length: 12 }, () => 1_600));
  const plain = textOf(await answer(format, records));
  const events = await answer(format, records, { options: { revise: true } });
  const finals = events.filter((event) => event.type === "text" && event.final);
  expect(textOf(finals)).toBe(plain);
  expect(finals).toMatchObject([
    { item: 1, tokens: 5, revises: true, consumed: 5 },
    { item: 2, tokens: 5, revises: true, consumed: 10 },
    { item: 3, tokens: 2, revises: true, consumed: 12 },
  ]);
  const [first] = finals;
  const after = { text: textOf([first!]), tokens: 5, options: { revise: true } as const };
  const rest = await answer(format, records.slice(5), after);
  expect(rest).toEqual(events.slice(events.indexOf(first!) + 1));
  await expect(answer("text", [], { options: { revise: true } })).rejects.toMatchObject({
    code: "invalid_request",
  });
});
