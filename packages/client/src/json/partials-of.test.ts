import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { numbered } from "../testing/example-log.ts";
import { type FakeDelivery, type Fault, startFakeDelivery } from "../testing/fake-delivery.ts";
import { FAKE_ID } from "../testing/fake-log.ts";
import { createTestClient } from "../testing/test-runtime.ts";
import { NoObjectError, objectOf, partialsOf } from "./index.ts";

type Draft = Parameters<typeof numbered>[0][number];

interface City {
  city: string;
  people: number;
  parts: { name: string }[];
}

const started = { type: "generation.started", attempt: 1, worker: "w1", model: "m" };
const delta = (text: string) => ({ type: "output.delta", text });
const completed = (finish_reason = "stop") => ({
  type: "generation.completed",
  finish_reason,
  usage: { input_tokens: 3, output_tokens: 4 },
});
const withdrawn = { type: "moderation.redacted", rule: "cards", category: "cards" };

const streamOf = ({ url }: FakeDelivery) => createTestClient(url).generations.stream(FAKE_ID);

/** Returns each value that a reader of these events sees, and if it was complete. */
async function read(events: readonly Draft[], faults: readonly Fault[] = []) {
  await using delivery = await startFakeDelivery({ log: numbered([started, ...events]), faults });
  const seen: [value: unknown, isComplete: boolean][] = [];
  for await (const { value, isComplete } of partialsOf<City>(streamOf(delivery)))
    seen.push([structuredClone(value), isComplete]);
  return seen;
}

describe("partialsOf", () => {
  it("hands out the value as it grows, and at last the whole one", async () => {
    expect(
      await read([
        delta(' {"city": "Bo'),
        delta('nn", "people": 34'),
        delta("0000"),
        delta("}"),
        completed(),
      ]),
    ).toEqual([
      [{ city: "Bo" }, false],
      [{ city: "Bonn" }, false],
      [{ city: "Bonn" }, false],
      [{ city: "Bonn", people: 340_000 }, true],
    ]);
  });

  it("is typed", async () => {
    await using delivery = await startFakeDelivery({
      log: numbered([started, delta('{"parts":[{}]}'), completed()]),
    });
    const names: (string | undefined)[] = [];
    for await (const { value } of partialsOf<City>(streamOf(delivery))) names.push(value.parts?.[0]?.name);
    expect(names).toEqual([undefined]);
  });

  it("has a number that nothing encloses once the text is whole", async () => {
    expect(await read([delta("1"), delta("2"), completed()])).toEqual([[12, true]]);
  });

  it("is silent about a text that is no JSON", async () => {
    expect(await read([delta("Sorry, "), delta("no."), completed("schema_mismatch")])).toEqual([]);
  });

  it("begins again at a rewind", async () => {
    const rewind = { type: "output.rewind", to_seq: 1, reason: "worker_lost" };
    const again = { ...started, attempt: 2 };
    expect(await read([delta('{"city": "Bo'), again, rewind, delta('{"city": "Ulm"}'), completed()])).toEqual(
      [
        [{ city: "Bo" }, false],
        [{ city: "Ulm" }, true],
      ],
    );
  });

  it("is of the text after the last tool call", async () => {
    const call = { type: "tool.call", call_id: "a", name: "look_up", arguments: "{}" };
    const result = { type: "tool.result", call_id: "a", output: 7 };
    expect(await read([delta("Let me see. "), call, result, delta('{"people": 7}'), completed()])).toEqual([
      [{ people: 7 }, true],
    ]);
  });

  it.each([
    ["within a string", { from_seq: 3, to_seq: 3, replacement: "***" }, [{ city: "***", people: 1 }, true]],
    [
      "together with its quote",
      { from_seq: 3, to_seq: 4, replacement: "***" },
      [{ city: "***people" }, false],
    ],
  ])("has the replacement of a text that was withdrawn %s", async (_, range, last) => {
    const said = [delta('{"city": "'), delta("4111"), delta('", "'), delta('people": 1}')];
    const seen = await read([...said, { ...withdrawn, ...range }, completed()]);
    expect(seen.at(-1)).toEqual(last);
    expect(seen.at(-2)).toEqual([{ city: "4111", people: 1 }, true]);
  });

  it("is the same over any broken connections", async () => {
    const text = JSON.stringify({
      city: "Köln 🙂 \\ \n",
      people: 1_000_000,
      parts: [{ name: "Deutz" }, { name: "Kalk" }],
    });
    const anyFault: fc.Arbitrary<Fault> = fc.oneof(
      fc.record({ kind: fc.constant("cut" as const), afterBytes: fc.nat(1_500) }),
      fc.record({ kind: fc.constant("repeat" as const), events: fc.nat(3) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyFault, { maxLength: 4 }),
        fc.integer({ min: 1, max: 9 }),
        async (faults, size) => {
          const pieces = text.match(new RegExp(`.{1,${size}}`, "gsu"))!.map(delta);
          const seen = await read([...pieces, completed()], faults);
          expect(seen.at(-1)).toEqual([JSON.parse(text), true]);
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("objectOf", () => {
  const objectIn = async (events: readonly Draft[]) => {
    await using delivery = await startFakeDelivery({ log: numbered([started, ...events]) });
    return await objectOf<City>(streamOf(delivery));
  };

  it("is the whole value", async () => {
    expect(await objectIn([delta('{"city": '), delta('"Bonn"}'), completed()])).toEqual({ city: "Bonn" });
  });

  it.each([
    ["was cut", [delta('{"city": '), completed("length")], "length"],
    ["does not fit", [delta('{"city": 1}'), completed("schema_mismatch")], "schema_mismatch"],
    [
      "failed",
      [
        delta("{}"),
        {
          ...completed(),
          type: "generation.failed",
          error: { code: "engine_failed", message: "m", retryable: true },
        },
      ],
      "failed",
    ],
  ])("throws where the value %s, with the outcome", async (_, events, why) => {
    const error = await objectIn(events).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NoObjectError);
    expect((error as NoObjectError).message).toContain(why);
    expect((error as NoObjectError).outcome.text).not.toBe("");
  });
});
