import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { KnownEvent } from "./event.ts";
import {
  anyModeratedLog,
  halted,
  projected,
  redacted,
  review,
  reviewed,
  toLog,
  unavailable,
} from "./moderation.fixture.ts";
import { called, completed, delta, fold, started } from "./transcript.fixture.ts";
import { MediaTranscript } from "./media-transcript.ts";
import { Transcript, type TranscriptOptions } from "./transcript.ts";

const said = [started(), delta("Call "), delta("555-"), delta("0199"), delta(" now.")];

describe("a transcript of a log that is moderated", () => {
  it("is the same for readers that saw the text before it was withdrawn and for later ones, at any place", () => {
    fc.assert(
      fc.property(anyModeratedLog, fc.nat(), (log, at) => {
        const cut = at % (log.length + 1);
        const joined = [...log.slice(0, cut), ...projected(log).slice(cut)];
        expect(shown(joined)).toEqual(shown(log));
      }),
      { numRuns: 500 },
    );
  });

  it("is the same where a range of one text runs over the place where a halt of all texts began in another", () => {
    const call = { ...called("call_1"), arguments: "4111" };
    const log = toLog([started(), delta("a"), call, halted(3, "[halted]"), delta("b"), redacted(2, 5, "…")]);
    expect(shown(projected(log))).toEqual(shown(log));
  });

  it("is the same however much was known of withdrawals when each event was sent", () => {
    fc.assert(
      fc.property(anyModeratedLog, fc.array(fc.nat(), { minLength: 1 }), (log, knowns) => {
        const sent = log.map((_, i) => projected(log, knowns[i % knowns.length]! % (log.length + 1))[i]!);
        expect(shown(sent)).toEqual(shown(log));
      }),
      { numRuns: 500 },
    );
  });

  it("needs no withdrawal where the events came without what was withdrawn", () => {
    fc.assert(
      fc.property(anyModeratedLog, (log) => {
        const silent = projected(log).map((event) =>
          event.type.startsWith("moderation.") ? { seq: event.seq, type: "later.thing" } : event,
        );
        expect(shown(silent as KnownEvent[])).toEqual(shown(log));
      }),
      { numRuns: 500 },
    );
  });

  it("is what was produced, with the option original", () => {
    fc.assert(
      fc.property(anyModeratedLog, (log) => {
        const unmoderated = log.filter(({ type }) => !type.startsWith("moderation."));
        expect(shown(log, { original: true })).toEqual(shown(unmoderated));
      }),
    );
  });

  it("may be read at every step: what was withdrawn leaves the text with the event that says so", () => {
    const log = [...said, redacted(3, 4), delta(" Bye."), redacted(2, 4, "…")];
    expect(log.map((_, i) => fold(...log.slice(0, i + 1)).text).slice(4)).toEqual([
      "Call 555-0199 now.",
      "Call [redacted] now.",
      "Call [redacted] now. Bye.",
      "… now. Bye.",
    ]);
  });

  it("drops a replacement with its event when that is rewound", () => {
    const log = [...said, redacted(3, 4), { type: "output.rewind", to_seq: 2, reason: "worker_lost" }];
    expect(fold(...log, delta("us.")).text).toBe("Call us.");
  });

  it("has the arguments of a call without what was withdrawn, waiting or answered", () => {
    const transcript = fold(started(), called("a"), redacted(2, 2, "{}…", "tool"));
    expect([transcript.pendingCalls, transcript.output]).toMatchObject([
      [{ call_id: "a", arguments: "{}…" }],
      [{ call_id: "a", arguments: "{}…" }],
    ]);
  });

  it("counts what was produced, withdrawn or not", () => {
    expect(fold(...said, redacted(3, 4)).usage.output_tokens).toBe(4);
  });
});

const blobsOf = (...drafts: readonly object[]) => {
  const transcript = new MediaTranscript();
  for (const [i, draft] of drafts.entries()) transcript.apply({ ...draft, seq: i + 1 } as never);
  return transcript.blobs;
};

it("has what the model has made beside words until that is withdrawn, by itself or with all that follows, or rewound", () => {
  const made = (blob: string) => ({
    type: "output.blob",
    kind: "image",
    blob,
    media_type: "image/png",
    bytes: 9,
  });
  const log = [started(), delta("So."), made("a"), made("b")] as const;
  const names = (...more: readonly object[]) => blobsOf(...log, ...more).map(({ blob }) => blob);
  expect(blobsOf(...log)[0]).toEqual({
    seq: 3,
    kind: "image",
    blob: "a",
    media_type: "image/png",
    bytes: 9,
  });
  expect(names()).toEqual(["a", "b"]);
  expect(names(redacted(3, 3, "", "blob"))).toEqual(["b"]);
  expect(names(halted(4, ""))).toEqual(["a"]);
  expect(names({ type: "output.rewind", to_seq: 3, reason: "worker_lost" })).toEqual(["a"]);
  expect(fold(...log, redacted(3, 3, "", "blob")).text).toBe("So.");
});

it("has a refusal and annotations beside the text, as moderation has them", () => {
  const source = { type: "output.annotation", kind: "url", url: "https://a/", title: "A" };
  const refused = { type: "refusal.delta", text: "I can't call 555." };
  const log = [started(), delta("So."), refused, source, source];
  const withdrawn = [redacted(3, 3, "I can't.", "refusal"), redacted(5, 5, "[a source]", "annotation")];
  const { text, refusal, annotations, usage } = fold(...log, ...withdrawn);
  expect({ text, refusal, annotations }).toEqual({
    text: "So.",
    refusal: "I can't.",
    annotations: [
      { kind: "url", url: "https://a/", title: "A" },
      { kind: "url", title: "[a source]", redacted: true },
    ],
  });
  expect(usage.output_tokens).toBe(2);
  const rewound = fold(...log, { type: "output.rewind", to_seq: 2, reason: "worker_lost" });
  expect([rewound.text, rewound.refusal, rewound.annotations]).toEqual(["So.", "", []]);
});

it("has shown something of its turn with each of them, so no other model says it instead", () => {
  const beside = [
    { type: "refusal.delta", text: "No." },
    { type: "reasoning.summary.delta", text: "Thinks." },
    { type: "reasoning.sealed", encrypted: "x" },
    { type: "output.annotation", kind: "url", url: "https://a/" },
  ];
  expect([started(), ...beside].map((event) => fold(started(), event).turnShown)).toEqual([
    false,
    true,
    true,
    true,
    true,
  ]);
});

describe("a halt", () => {
  it("is told with its rule, ends nothing by itself, and lets nothing be said after it", () => {
    const transcript = fold(...said, halted(3), delta("more"));
    expect([transcript.halted, transcript.status, transcript.text]).toMatchObject([
      { rule: "cards", category: "cards" },
      "in_progress",
      "Call [halted]",
    ]);
  });

  it("leaves the reason of the end that follows it", () => {
    const { ended, finishReason } = fold(...said, halted(3), completed("content_filter"));
    expect([ended, finishReason]).toEqual([true, "content_filter"]);
  });
});

describe("what moderation says after the end", () => {
  it("is folded like any other decision, and leaves the end as it was", () => {
    const transcript = fold(...said, completed(), redacted(3, 4), review("rev_8"), halted(5));
    expect([transcript.status, transcript.finishReason, transcript.text]).toEqual([
      "completed",
      "stop",
      "Call [redacted][halted]",
    ]);
    expect([...transcript.reviews.keys()]).toEqual(["rev_8"]);
    expect(transcript.cursor.seq).toBe(9);
  });
});

it("has the reviews that wait for an answer, each as it was asked for", () => {
  const transcript = fold(...said, review("rev_6"), review("rev_7"), reviewed("rev_6"), reviewed("rev_5"));
  expect([...transcript.reviews.values()]).toEqual([{ ...review("rev_7"), seq: 7 }]);
});

it("knows when moderation was away last, and since when", () => {
  const log = [...said, unavailable(2), unavailable(4)];
  expect([fold(...said).lastUnavailable, fold(...log).lastUnavailable]).toMatchObject([
    undefined,
    { judged_seq: 4, answer: "fail_open" },
  ]);
});

function shown(log: readonly KnownEvent[], options?: TranscriptOptions): object {
  const transcript = new Transcript(options);
  for (const event of log) transcript.apply(event);
  const { text, refusal, annotations, output, turns, pendingCalls, usage, status } = transcript;
  return { text, refusal, annotations, output, turns, pendingCalls, usage, status };
}
