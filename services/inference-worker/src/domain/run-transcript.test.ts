import { type EventDraft, type KnownEvent, asSeq } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { answered, called, delta, started } from "../testing/drafts.ts";
import { RunTranscript } from "./run-transcript.ts";

const counted = (text: string, tokens: number, inputTokens: number): EventDraft => ({
  type: "output.delta",
  text,
  tokens,
  input_tokens: inputTokens,
});
const reasoning = (tokens: number): EventDraft => ({ type: "reasoning.delta", text: "Hm.", tokens });
const rewind = (toSeq: number): EventDraft => ({
  type: "output.rewind",
  to_seq: asSeq(toSeq),
  reason: "worker_lost",
});

function fold(...drafts: EventDraft[]): RunTranscript {
  const transcript = new RunTranscript();
  for (const [i, draft] of drafts.entries()) transcript.apply({ seq: i + 1, ...draft } as KnownEvent);
  return transcript;
}

describe("the engine's own count", () => {
  test("holds until the next tool's answer, or until it is rewound", () => {
    expect(fold(started(1), delta("a")).turnCounted).toBe(false);
    expect(fold(started(1), counted("a", 2, 7), delta("b")).turnCounted).toBe(true);
    expect(fold(started(1), counted("a", 2, 7), called("c"), answered("c"), delta("b")).turnCounted).toBe(
      false,
    );
    expect(fold(started(1), counted("a", 2, 7), rewind(0), delta("b")).turnCounted).toBe(false);
  });
});

describe("reasoning", () => {
  test("counts until it is rewound", () => {
    expect(fold(started(1), reasoning(2), delta("a"), reasoning(3)).reasoningTokens).toBe(5);
    expect(fold(started(1), reasoning(2), delta("a"), reasoning(3), rewind(3)).reasoningTokens).toBe(2);
  });

  test("is of the run in which it was said", () => {
    expect(fold(started(1), reasoning(2), delta("a")).turnReasoned).toBe(true);
    expect(fold(started(1), reasoning(2), called("c"), answered("c"), delta("a")).turnReasoned).toBe(false);
    expect(fold(started(1), reasoning(2), rewind(1), delta("a")).turnReasoned).toBe(false);
  });

  test("is counted with its summaries", () => {
    const summary: EventDraft = { type: "reasoning.summary.delta", text: "Thinks.", tokens: 3 };
    const transcript = fold(started(1), summary, { ...summary, tokens: 0 }, reasoning(2));
    expect([transcript.reasoningTokens, transcript.usage.reasoning_tokens]).toEqual([5, 5]);
    expect(fold(started(1), summary, rewind(1)).reasoningTokens).toBe(0);
  });

  test("is counted once, however often its event comes", () => {
    const transcript = fold(started(1), reasoning(2));
    transcript.apply({ seq: asSeq(2), type: "reasoning.delta", text: "Hm.", tokens: 2 });
    expect(transcript.reasoningTokens).toBe(2);
  });
});

describe("what no engine can be given back", () => {
  test.each([
    [{ type: "refusal.delta", text: "No." }],
    [{ type: "reasoning.summary.delta", text: "Thinks." }],
    [{ type: "reasoning.sealed", encrypted: "x" }],
    [reasoning(1)],
  ] satisfies [EventDraft][])("%s: is of its turn, until it is rewound", (draft) => {
    expect(fold(started(1), draft, delta("a")).turnUnfit).toBe(true);
    expect(fold(started(1), draft, called("c"), answered("c"), delta("a")).turnUnfit).toBe(false);
    expect(fold(started(1), draft, rewind(1), delta("a")).turnUnfit).toBe(false);
  });

  test("is no annotation: the text continues, and it comes again", () => {
    const annotation: EventDraft = { type: "output.annotation", kind: "url", url: "https://a/" };
    expect(fold(started(1), delta("a"), annotation).turnUnfit).toBe(false);
  });
});
