import { decodeEvent, type EventDraft, type DeliveryMark, asSeq } from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asShownTo } from "./as-shown.ts";
import { LogOutline } from "./log-outline.ts";
import { anyModeratedLog, anyVisit, simulateReader, toLogEvents } from "./moderated-log.fixture.ts";

async function outlineOf(log: ReturnType<typeof toLogEvents>): Promise<LogOutline> {
  return LogOutline.of(
    (async function* () {
      yield* log;
    })(),
  );
}

const said: readonly EventDraft[] = [
  { type: "generation.started", attempt: 1, worker: "w", model: "sim" },
  { type: "output.delta", text: "Call " },
  { type: "output.delta", text: "555-0199" },
  { type: "output.delta", text: " now." },
  {
    type: "moderation.redacted",
    from_seq: asSeq(2),
    to_seq: asSeq(3),
    replacement: "[number]",
    rule: "phones",
    category: "personal-data",
  },
  { type: "generation.completed", finish_reason: "stop", usage: { input_tokens: 1, output_tokens: 3 } },
];
const mark = (fields: Partial<DeliveryMark>): DeliveryMark => ({
  reader: "rdr_1",
  protocol: "sse",
  address: "public",
  by: "key",
  from_seq: asSeq(1),
  seq: asSeq(5),
  started_at: "1970-01-01T00:00:02.500Z",
  ...fields,
});
const textsShownTo = async (one: DeliveryMark) => {
  const log = toLogEvents(said);
  const shown = await Array.fromAsync(asShownTo(log, await outlineOf(log), one));
  return shown.flatMap(({ payload }) => (decodeEvent(payload) as { text?: string }).text ?? []);
};

describe("what a connection was shown", () => {
  it("is text as it was, up to where the connection had come when that was withdrawn", async () => {
    expect(await textsShownTo(mark({ withdrawn: [[asSeq(4), asSeq(2)]] }))).toEqual([
      "Call ",
      "555-0199",
      "",
    ]);
  });

  it("replaces text that was withdrawn before the connection came", async () => {
    expect(await textsShownTo(mark({ started_at: "1970-01-01T00:00:04.500Z" }))).toEqual([
      "Call ",
      "[number]",
      "",
    ]);
  });

  it("is text that was withdrawn only after the connection had ended", async () => {
    expect(await textsShownTo(mark({ seq: asSeq(2) }))).toEqual(["Call ", "555-0199"]);
  });

  it("is what the node knew when the connection came, for any difference of clocks", async () => {
    const late = { seq: asSeq(2), started_at: "1970-01-01T00:00:09.000Z" };
    expect(await textsShownTo(mark({ ...late, known_seq: asSeq(3) }))).toEqual(["Call ", "555-0199"]);
    const early = { seq: asSeq(2), started_at: "1970-01-01T00:00:00.000Z" };
    expect(await textsShownTo(mark({ ...early, known_seq: asSeq(4) }))).toEqual(["Call ", "[number]"]);
  });

  it("is nothing where the connection ended before its first event", async () => {
    expect(await textsShownTo(mark({ seq: asSeq(0) }))).toEqual([]);
  });

  it("is, byte for byte, what a reader was handed while the log grew", async () => {
    await fc.assert(
      fc.asyncProperty(anyModeratedLog, anyVisit, async (log, visit) => {
        const { handed, mark: left } = simulateReader(log, visit);
        const outline = await outlineOf(log);
        // Clocks alone tell it too, where they agree.
        const { known_seq: _, ...timed } = left;
        for (const one of [left, timed]) {
          const shown = await Array.fromAsync(asShownTo(log, outline, one));
          expect(shown.map(({ seq, payload }) => ({ seq, payload }))).toEqual(handed);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
