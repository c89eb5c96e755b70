import {
  asSeq,
  decodeInput,
  type InputEntry,
  type InputRecord,
  inputStreamOf,
  inputSubject,
  plus,
  STREAM_START,
} from "@reprise/protocol";
import { readAllMessages } from "@reprise/broker";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newRef, openWorldBehindProxy } from "../testing/world.ts";
import { followInput } from "./follow-input.ts";
import { InputWriter } from "./input-writer.ts";

type World = Awaited<ReturnType<typeof openWorldBehindProxy>>;
let world: World;
beforeAll(async () => {
  world = await openWorldBehindProxy();
});
afterAll(async () => {
  expect(world.errors).toEqual([]);
  await world[Symbol.asyncDispose]();
});

const typed = (text: string): InputEntry => ({ type: "input.delta", text });
const sound = (...bytes: number[]): InputEntry => ({ type: "input.audio", audio: Uint8Array.from(bytes) });
const END: InputEntry = { type: "input.end" };

function openWriter(ref = newRef(), publish = world.log.publish) {
  const { reads } = world.broker;
  return { ref, writer: new InputWriter({ publish, reads, ref, budgetMs: world.log.budgetMs }) };
}

async function readRecords(ref: ReturnType<typeof newRef>): Promise<InputRecord[]> {
  const records: InputRecord[] = [];
  const request = {
    afterStreamSeq: STREAM_START,
    subject: inputSubject(ref),
    maxMessages: 256,
    maxBytes: 1_000_000,
  };
  for await (const { payload } of readAllMessages(world.broker.reads, inputStreamOf(ref.generation), request))
    records.push(decodeInput(Uint8Array.from(payload)));
  return records;
}

/** Everything that a reader of the records gets. */
function contentOf(records: readonly InputRecord[]): string {
  return records
    .map(({ entry }) =>
      entry.type === "input.delta"
        ? entry.text
        : entry.type === "input.audio"
          ? `<${entry.audio.join()}>`
          : entry.type,
    )
    .join("")
    .replaceAll("><", ",");
}

/** Records follow one another: each begins with the entry after the last one, and knows the bytes before it. */
function expectDense(records: readonly InputRecord[], after = 0) {
  expect(records.map(({ first }) => first)).toEqual([
    ...(records.length > 0 ? [plus(asSeq(after), 1)] : []),
    ...records.slice(0, -1).map(({ seq }) => plus(seq, 1)),
  ]);
}

describe("an input log", () => {
  test("stores each entry once, in order, whichever node gets it and however often", async () => {
    const entry = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).map(typed);
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { minLength: 1, maxLength: 24 }),
        fc.infiniteStream(fc.tuple(fc.integer({ min: 0, max: 1 }), fc.nat(4), fc.nat(3))),
        async (entries, sends) => {
          const { ref, writer } = openWriter();
          const writers = [writer, openWriter(ref).writer];
          // Each send begins at the next entry, or a few before, as after a lost acknowledgement.
          for (let next = 1; next <= entries.length;) {
            const [node, again, more] = sends.next().value;
            const first = Math.max(1, next - again);
            const sent = entries.slice(first - 1, next + more);
            const stored = await writers[node]!.append(asSeq(first), sent);
            expect(stored).toBe(first - 1 + sent.length);
            next = stored + 1;
          }
          const records = await readRecords(ref);
          expectDense(records);
          expect(contentOf(records)).toBe(
            contentOf([
              { entry: typed(entries.map((one) => ("text" in one ? one.text : "")).join("")) } as InputRecord,
            ]),
          );
        },
      ),
      { numRuns: 20 },
    );
  });

  test("stores what two nodes are sent at once as one sequence", async () => {
    const { ref, writer } = openWriter();
    const other = openWriter(ref).writer;
    const entries = Array.from({ length: 40 }, (_, i) => typed(`${i} `));
    const send = async (to: InputWriter) => {
      for (let i = 0; i < entries.length; i++) await to.append(asSeq(i + 1), [entries[i]!]);
    };
    await Promise.all([send(writer), send(other)]);
    const records = await readRecords(ref);
    expectDense(records);
    expect(contentOf(records)).toBe(entries.map((_, i) => `${i} `).join(""));
  });

  test("merges what arrives while a record is on its way, and never two kinds", async () => {
    const { ref, writer } = openWriter();
    const entries = [
      typed("a"),
      typed("b"),
      sound(1),
      sound(2),
      { type: "input.commit" } as const,
      typed("c"),
      END,
    ];
    await Promise.all(entries.map((one, i) => writer.append(asSeq(i + 1), [one])));
    const records = await readRecords(ref);
    expect(records.map(({ entry: { type } }) => type).filter((type, i, all) => type !== all[i - 1])).toEqual([
      "input.delta",
      "input.audio",
      "input.commit",
      "input.delta",
      "input.end",
    ]);
    expect(contentOf(records)).toBe("ab<1,2>input.commitcinput.end");
    expect(records.at(-1)?.at).toBe(5);
  });

  test("says which entry is the next, and takes nothing after its end", async () => {
    const { writer } = openWriter();
    await writer.append(asSeq(1), [typed("a")]);
    await expect(writer.append(asSeq(3), [typed("c")])).rejects.toMatchObject({
      code: "input_gap",
      message: "Entry 3 is not the next one; send entry 2.",
    });
    await writer.append(asSeq(2), [END]);
    await expect(writer.append(asSeq(3), [typed("c")])).rejects.toMatchObject({ code: "input_ended" });
    expect(await writer.append(asSeq(1), [typed("a"), END])).toBe(2);
    expect(await writer.readHead()).toMatchObject({ seq: 2, bytes: 1, hasEnded: true });
  });

  test("takes what is sent while its end is read, in any order of the three", async () => {
    for (let round = 0; round < 20; round++) {
      const { ref, writer } = openWriter();
      const sends = [
        writer.append(asSeq(1), [typed("a")]),
        writer.readHead(),
        writer.append(asSeq(2), [typed("b")]),
      ];
      await Promise.all([...sends, writer.append(asSeq(3), [typed("c")]), writer.readHead()]);
      await Promise.all([writer.readHead(), writer.append(asSeq(4), [typed("d")])]);
      expect(contentOf(await readRecords(ref))).toBe("abcd");
      expect(await writer.append(asSeq(1), ["a", "b", "c", "d", "e"].map(typed))).toBe(5);
    }
  });

  test("takes nothing after an end that another node has stored", async () => {
    const { ref, writer } = openWriter();
    await writer.append(asSeq(1), [typed("a")]);
    await openWriter(ref).writer.append(asSeq(2), [END]);
    await expect(writer.append(asSeq(2), [END, typed("late")])).rejects.toMatchObject({
      code: "input_ended",
    });
    expect(contentOf(await readRecords(ref))).toBe("ainput.end");
  });

  test("is complete after lost acknowledgements", async () => {
    let published = 0;
    const { ref, writer } = openWriter(newRef(), async (...call) => {
      const outcome = await world.log.publish(...call);
      return ++published % 2 === 0 ? outcome : { kind: "unavailable", reason: "timeout" };
    });
    for (let i = 1; i <= 12; i++) await writer.append(asSeq(i), [typed(`${i} `)]);
    const records = await readRecords(ref);
    expectDense(records);
    expect(contentOf(records)).toBe("1 2 3 4 5 6 7 8 9 10 11 12 ");
  });

  test("tells how many bytes its worker has not consumed", async () => {
    const { writer } = openWriter();
    for (let i = 1; i <= 4; i++) await writer.append(asSeq(i), [typed("four")]);
    const ahead = [0, 1, 3, 4].map((consumed) => writer.bytesAfter(asSeq(consumed)));
    const [all = 0] = ahead;
    expect(ahead.map((bytes) => (4 * bytes) / all)).toEqual(
      [4, 3, 1, 0].map((records) => expect.closeTo(records, 0) as number),
    );
  });

  test("keeps each commit by itself", async () => {
    const { ref, writer } = openWriter();
    const commit = { type: "input.commit" } as const;
    await writer.append(asSeq(1), [commit, commit, typed("a"), commit]);
    expect((await readRecords(ref)).map(({ first, seq }) => [first, seq])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 4],
    ]);
  });
});

describe("a follower", () => {
  async function follow(ref: ReturnType<typeof newRef>, after = 0, signal = new AbortController().signal) {
    const records: InputRecord[] = [];
    for await (const record of followInput({
      broker: world.broker,
      ref,
      after: asSeq(after),
      signal,
      onError: (error) => world.errors.push(error),
    }))
      records.push(record);
    return records;
  }

  test("gets what is stored and what comes, after any entry", async () => {
    const { ref, writer } = openWriter();
    for (let i = 1; i <= 5; i++) await writer.append(asSeq(i), [typed(`${i} `)]);
    const early = follow(ref);
    const late = follow(ref, 3);
    for (let i = 6; i <= 400; i++) await writer.append(asSeq(i), [typed(`${i} `)]);
    await writer.append(asSeq(401), [END]);
    const all = Array.from({ length: 400 }, (_, i) => `${i + 1} `);
    expect(contentOf(await early)).toBe(`${all.join("")}input.end`);
    expect(contentOf(await late)).toBe(`${all.slice(3).join("")}input.end`);
  });

  test("misses nothing that the live feed loses", async () => {
    const { ref, writer } = openWriter();
    const following = follow(ref);
    for (let i = 1; i <= 30; i++) {
      if (i % 10 === 0) world.proxy.cutNow();
      await writer.append(asSeq(i), [typed(`${i} `)]);
    }
    await writer.append(asSeq(31), [END]);
    const records = await following;
    expectDense(records);
    expect(contentOf(records)).toBe(`${Array.from({ length: 30 }, (_, i) => `${i + 1} `).join("")}input.end`);
  });

  test("ends when it is told to", async () => {
    const { ref } = openWriter();
    const stop = new AbortController();
    const following = follow(ref, 0, stop.signal);
    stop.abort(new Error("enough"));
    await expect(following).rejects.toThrow("enough");
  });
});
