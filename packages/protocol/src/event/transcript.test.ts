import { asSeq } from "../seq.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EVENT_EXAMPLES } from "./event.fixture.ts";
import type { KnownEvent, UnknownEvent } from "./event.ts";
import { Transcript } from "./transcript.ts";

type LogEvent = KnownEvent | UnknownEvent;

const finalUsage = { input_tokens: 3, output_tokens: 9 };

/** A log as a worker and its successors could write it: starts, deltas of two outputs, rewinds, unknown events. */
const anyLog: fc.Arbitrary<LogEvent[]> = fc
  .array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          type: fc.constant("output.delta"),
          text: fc.string(),
          output: fc.constantFrom(undefined, 0, 1),
        }),
      },
      { weight: 1, arbitrary: fc.record({ type: fc.constant("reasoning.delta"), text: fc.string() }) },
      {
        weight: 1,
        arbitrary: fc.record({
          type: fc.constant("output.rewind"),
          back: fc.nat(6),
          reason: fc.constant("test"),
        }),
      },
      { weight: 1, arbitrary: fc.record({ type: fc.constant("later.thing"), text: fc.string() }) },
    ),
    { maxLength: 30 },
  )
  .map((drafts) => [started(1, 1), ...drafts.map((draft, i) => place(draft, i + 2))]);

describe("a transcript", () => {
  it("is the same however its events are delivered, and however often it is read on the way", () => {
    fc.assert(
      fc.property(anyLog, fc.array(fc.boolean()), (log, reads) => {
        const atOnce = fold(log);
        const read = new Transcript();
        const seen = log.map((event, i) => {
          read.apply(event);
          return reads[i] ? read.text : "";
        });
        expect(seen).toHaveLength(log.length);
        expect(snapshot(read)).toEqual(snapshot(atOnce));
        expect(atOnce.text).toBe(naiveText(log));
      }),
    );
  });

  it("ignores what it has folded already, so a replay from any earlier cursor changes nothing", () => {
    fc.assert(
      fc.property(anyLog, fc.nat(), fc.nat(), (log, a, b) => {
        const cut = a % (log.length + 1);
        const overlap = b % (cut + 1);
        const resumed = [...log.slice(0, cut), ...log.slice(cut - overlap)];
        expect(snapshot(fold(resumed))).toEqual(snapshot(fold(log)));
      }),
    );
  });

  it("ignores the request, wherever it turns up", () => {
    const requested = EVENT_EXAMPLES[0]!;
    const log = [requested, started(1, 1), delta(2, "a"), requested, delta(2, "a")];
    expect(fold(log).text).toBe("a");
    expect(fold(log).cursor).toEqual({ attempt: 1, seq: 2 });
  });

  it("forgets what was rewound and continues from there", () => {
    const log = [
      started(1, 1),
      delta(2, "Hel"),
      delta(3, "lo"),
      started(4, 2),
      place({ type: "output.rewind", to_seq: 2, reason: "r" }, 5),
      delta(6, "p"),
    ];
    expect(fold(log).text).toBe("Help");
    expect(fold(log).usage.output_tokens).toBe(3);
    expect(fold(log).cursor).toEqual({ attempt: 2, seq: 6 });
  });

  it("starts queued at the start of the log, with nothing counted", () => {
    expect(snapshot(new Transcript())).toEqual({
      status: "queued",
      ended: false,
      text: "",
      cursor: { attempt: 0, seq: 0 },
      usage: { input_tokens: null, output_tokens: 0 },
      finishReason: undefined,
      failure: undefined,
    });
  });

  it("counts merged tokens, reasoning included, until the end says the usage", () => {
    const log = [
      { ...started(1, 1), input_tokens: 4 },
      place({ type: "output.delta", text: "ab", tokens: 2 }, 2),
      place({ type: "reasoning.delta", text: "c", tokens: 3 }, 3),
    ];
    expect(fold(log).usage).toEqual({ input_tokens: 4, output_tokens: 5, reasoning_tokens: 3 });
    expect(fold([...log, completed(4)]).usage).toEqual(finalUsage);
  });

  it.each([
    [completed(2), { status: "completed", finishReason: "stop", failure: undefined }],
    [
      EVENT_EXAMPLES.at(-2)!,
      { status: "failed", failure: { code: "worker_lost", message: "No worker left.", retryable: true } },
    ],
    [EVENT_EXAMPLES.at(-1)!, { status: "cancelled", usage: { input_tokens: null, output_tokens: 0 } }],
  ])("ends with $type", (event, expected) => {
    expect(snapshot(fold([started(1, 1), event]))).toMatchObject({ ...expected, ended: true });
  });

  it("folds 20,000 events, read after each, without reading them all again", () => {
    const transcript = new Transcript();
    const lengths = Array.from({ length: 20_000 }, (_, i) => {
      transcript.apply(delta(i + 1, "x"));
      return transcript.text.length;
    });
    expect(lengths.at(-1)).toBe(20_000);
  });
});

function fold(log: readonly LogEvent[]): Transcript {
  const transcript = new Transcript();
  for (const event of log) transcript.apply(event);
  return transcript;
}

function snapshot(transcript: Transcript): object {
  const { status, ended, text, cursor, usage, finishReason, failure } = transcript;
  return { status, ended, text, cursor, usage, finishReason, failure };
}

/** The same rule, said once more the slow way. */
function naiveText(log: readonly LogEvent[]): string {
  let kept: LogEvent[] = [];
  for (const event of log as KnownEvent[]) {
    if (event.type === "output.rewind") kept = kept.filter(({ seq }) => seq <= event.to_seq);
    else if (event.type === "output.delta" && event.output !== 1) kept.push(event);
  }
  return (kept as { text: string }[]).map(({ text }) => text).join("");
}

function place(draft: { type: string; back?: number; [field: string]: unknown }, seq: number): LogEvent {
  const { back, ...fields } = draft;
  const rewound = back !== undefined && { to_seq: Math.max(1, seq - 1 - back) };
  return { ...fields, seq, ...rewound } as unknown as LogEvent;
}

function started(seq: number, attempt: number): LogEvent {
  return { seq: asSeq(seq), type: "generation.started", attempt, worker: "w", model: "sim" };
}

function delta(seq: number, text: string): LogEvent {
  return { seq: asSeq(seq), type: "output.delta", text };
}

function completed(seq: number): LogEvent {
  return { seq: asSeq(seq), type: "generation.completed", finish_reason: "stop", usage: finalUsage };
}
