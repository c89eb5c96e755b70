import {
  channelOf,
  decodeEvent,
  DEFAULT_POLICY,
  encodeEvent,
  type EventDraft,
  type KnownEvent,
  parseWorkerId,
  textOf,
  Withdrawals,
  asSeq,
} from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RunTranscript } from "./run-transcript.ts";
import { restoreLostEvents } from "./restore-lost-events.ts";

const worker = parseWorkerId("worker-survivor");
const nonce = "0a1b2c";
const requested: EventDraft = {
  type: "generation.requested",
  tenant: "acme",
  generation: "gen_0_x",
  created_at: "2026-11-21T00:00:00Z",
  request: { model: "llama", input: "Hi" },
  policy: DEFAULT_POLICY,
};
const started = (attempt: number, more: object = {}): EventDraft => ({
  type: "generation.started",
  attempt,
  worker: "worker-before",
  model: "llama",
  ...more,
});
const delta = (text: string, tokens = 1): EventDraft => ({ type: "output.delta", text, tokens });
const call = (id: string): EventDraft => ({ type: "tool.call", call_id: id, name: "f", arguments: "{}" });
const result = (id: string): EventDraft => ({ type: "tool.result", call_id: id, output: { of: id } });

const toLog = (drafts: readonly EventDraft[]): KnownEvent[] =>
  drafts.map((draft, seq) => ({ ...draft, seq }) as KnownEvent);

function fold(events: readonly KnownEvent[]): RunTranscript {
  const transcript = new RunTranscript();
  for (const event of events) transcript.apply(event);
  return transcript;
}

/** Plans the recovery of a log of which the first `kept` events are left. */
function restore(log: readonly EventDraft[], kept: number) {
  const drafts = restoreLostEvents({
    held: log.map((draft, seq) => encodeEvent(asSeq(seq), draft)),
    kept,
    worker,
    nonce,
  });
  return { held: toLog(log), drafts, restored: toLog([...log.slice(0, kept), ...drafts]) };
}

const found = { rule: "cards", category: "cards" };

/** Withdraws some of the text that there is. */
function redactionOf(log: readonly EventDraft[], choice: number): EventDraft[] {
  const deltas = toLog(log).flatMap(({ type, seq }) => (type === "output.delta" ? [seq] : []));
  if (deltas.length === 0) return [];
  const at = choice % deltas.length;
  const [from_seq, to_seq] = [deltas[at]!, deltas[Math.min(at + (choice % 4), deltas.length - 1)]!];
  return [{ type: "moderation.redacted", from_seq, to_seq, replacement: `[${choice}]`, ...found }];
}

/** Every text of a log as a reader gets it from the beginning. */
function shownTexts(log: readonly KnownEvent[]): string[] {
  const withdrawals = new Withdrawals();
  for (const event of log) withdrawals.apply(event);
  return log
    .map((event) => decodeEvent(withdrawals.project(event.seq, encodeEvent(event.seq, event))))
    .flatMap((event) => (channelOf(event) === undefined ? [] : [textOf(event)]));
}

/** Appends one of the events that a worker may append to the log, chosen by a number. Every log built this way is valid. */
function grow(log: EventDraft[], choice: number): void {
  const transcript = fold(toLog(log));
  const [pending] = transcript.pendingCalls;
  const { length } = log;
  switch (choice % 9) {
    case 0:
    case 1:
      if (!pending) log.push(delta(`t${length} `, 1 + (choice % 3)));
      return;
    case 2:
      if (!pending) log.push({ type: "reasoning.delta", text: "Hm. " });
      return;
    case 3:
      log.push(started(transcript.attempt + 1, { model: choice % 4 === 0 ? "small" : "llama" }));
      return;
    case 4:
      log.push(pending ? result(pending.call_id) : call(`c${length}`));
      return;
    case 5:
      if (pending || !transcript.turnShown) return;
      log.push(started(transcript.attempt + 1));
      log.push({ type: "output.rewind", to_seq: transcript.turnSeq, reason: "worker_lost" });
      return;
    case 7:
      if (!pending) log.push({ type: "refusal.delta", text: `r${length} `, tokens: 1 + (choice % 3) });
      return;
    case 8:
      if (!pending) log.push({ type: "reasoning.summary.delta", text: "Sums up. " });
      return;
    case 6:
      log.push(...redactionOf(log, choice));
  }
}

const anyLog = fc.array(fc.nat(), { maxLength: 30 }).map((choices) => {
  const log = [requested, started(1)];
  for (const choice of choices) grow(log, choice);
  return log;
});

test("after any loss the recovered log folds to the same texts as before, and is handed over", () => {
  fc.assert(
    fc.property(anyLog, fc.nat(), (log, at) => {
      const { held, drafts, restored } = restore(log, at % log.length);
      const [before, after] = [fold(held), fold(restored)];
      expect(after.text).toBe(before.text);
      expect(after.output).toEqual(before.output);
      expect([after.refusal, after.refusalTokens]).toEqual([before.refusal, before.refusalTokens]);
      expect(after.pendingCalls).toEqual(before.pendingCalls);
      expect(after.turnReasoned).toBe(before.turnReasoned);
      expect(after.reasoningTokens).toBe(before.reasoningTokens);
      expect(after.servedModel).toBe(before.servedModel);
      expect(after.attemptEnd).toBe("handover");
      expect(after.worker).toBe(worker);
      // A cursor of a lost event names an attempt that is not the one at its place any more.
      expect(after.attempt).toBeGreaterThan(before.attempt);
      expect(after.countedAttempts).toBeLessThanOrEqual(before.countedAttempts);
      expect(drafts.filter(({ type }) => type === "generation.started")).toHaveLength(1);
    }),
    { seed: 5, numRuns: 500 },
  );
});

/** Texts with a name each, some of them withdrawn; optionally a halt, with events that slipped in after it. */
const anyModeratedLog = fc
  .record({ before: fc.array(fc.nat(), { maxLength: 20 }), halt: fc.option(fc.nat()), slipped: fc.nat(3) })
  .map(({ before, halt, slipped }) => {
    const log = [requested, started(1)];
    const say = () => log.push(delta(`<${log.length}>`));
    for (const choice of before) {
      if (choice % 3 === 0) log.push(...redactionOf(log, choice));
      else say();
    }
    if (halt === null) return log;
    const from_seq = 1 + (halt % log.length);
    log.push({ type: "moderation.halted", from_seq: asSeq(from_seq), replacement: "[halted]", ...found });
    for (let i = 0; i < slipped; i++) say();
    return log;
  });

test("what moderation has withdrawn stays so, in what is left and in what is put back, and a halt is kept", () => {
  fc.assert(
    fc.property(anyModeratedLog, fc.nat(), (log, at) => {
      const { held, restored } = restore(log, at % log.length);
      expect(fold(restored).text).toBe(fold(held).text);
      expect(shownTexts(restored).join("")).toBe(shownTexts(held).join(""));
      expect(fold(restored).halted?.rule).toBe(fold(held).halted?.rule);
    }),
    { seed: 7, numRuns: 1_000 },
  );
});

test("a lost review is not asked again with numbers that mean something else now", () => {
  const review: EventDraft = {
    type: "moderation.review",
    review_id: "rev_3",
    from_seq: asSeq(2),
    to_seq: asSeq(2),
    expires_at: "2026-11-21T01:00:00Z",
    ...found,
  };
  const { restored } = restore([requested, started(1), delta("Once"), review], 2);
  expect(restored.map(({ type }) => type)).toEqual([
    "generation.requested",
    "generation.started",
    "generation.started",
    "output.delta",
    "attempt.ended",
  ]);
});

test("what was produced counts once after any loss", () => {
  fc.assert(
    fc.property(anyLog, fc.nat(), (log, at) => {
      const kept = at % log.length;
      // What was withdrawn to a place that is lost itself is told again without it.
      fc.pre(
        !log.some((event, seq) => seq >= kept && event.type === "output.rewind" && event.to_seq >= kept),
      );
      const { held, restored } = restore(log, kept);
      expect(fold(restored).usage).toEqual(fold(held).usage);
    }),
    { seed: 6, numRuns: 500 },
  );
});

test("a log that is lost as a whole begins with its request again", () => {
  const { drafts } = restore([requested, started(1), delta("Once")], 0);
  expect(drafts).toEqual([
    requested,
    { type: "generation.started", attempt: 2, worker, model: "llama", nonce, reason: "log_lost" },
    delta("Once"),
    { type: "attempt.ended", attempt: 2, reason: "handover" },
  ]);
});

test("where only the start of an attempt was lost, no text is appended again", () => {
  const { drafts } = restore([requested, started(1), delta("Once"), started(2)], 3);
  expect(drafts.map(({ type }) => type)).toEqual(["generation.started", "attempt.ended"]);
  expect(drafts[0]).toMatchObject({ attempt: 3 });
});

test("the fallback that has spoken continues speaking", () => {
  const { drafts } = restore([requested, started(1), started(2, { model: "small" }), delta("a")], 2);
  expect(drafts[0]).toMatchObject({ type: "generation.started", attempt: 3, model: "small" });
});

test("a redaction is put back for what is left of its range, and never for none of it", () => {
  const log = [requested, started(1), delta("a "), delta("b "), delta("c ")];
  log.push({
    type: "moderation.redacted",
    from_seq: asSeq(3),
    to_seq: asSeq(4),
    replacement: "***",
    ...found,
  });
  const rangesOf = (kept: number) =>
    restore(log, kept).drafts.flatMap((draft) =>
      draft.type === "moderation.redacted" ? [[draft.from_seq, draft.to_seq]] : [],
    );
  expect([5, 4, 3, 2].map(rangesOf)).toEqual([[[3, 4]], [[3, 3]], [], []]);
});

test("after any loss no recovered event names an empty range, or one that is not left", () => {
  fc.assert(
    fc.property(anyLog, fc.nat(), (log, at) => {
      const kept = at % log.length;
      for (const draft of restore(log, kept).drafts) {
        if (draft.type !== "moderation.redacted") continue;
        expect(draft.from_seq).toBeLessThanOrEqual(draft.to_seq);
        expect(draft.to_seq).toBeLessThan(kept);
      }
    }),
  );
});

test("what a model says beside its text is put back too; an annotation of a place that was lost is of the text as a whole", () => {
  const source = { type: "output.annotation", kind: "url", url: "https://a/" } as const;
  const place = (seq: number) => ({ from_seq: asSeq(seq), to_seq: asSeq(seq), from_offset: 0, to_offset: 1 });
  const beside: EventDraft[] = [
    { type: "reasoning.summary.delta", text: "Thinks." },
    { type: "reasoning.sealed", encrypted: "x" },
    { type: "refusal.delta", text: "No." },
  ];
  const log = [
    requested,
    started(1),
    delta("a"),
    ...beside,
    delta("b"),
    { ...source, ...place(2) },
    { ...source, ...place(6) },
  ];
  const { drafts } = restore(log, 3);
  expect(drafts.slice(1, -1)).toEqual([...beside, delta("b"), { ...source, ...place(2) }, source]);
});

test("an interrupt is restored with what was heard and how far the input is consumed", () => {
  const history: EventDraft[] = [
    requested,
    started(1),
    delta("heard"),
    delta(" unheard"),
    { type: "output.rewind", to_seq: asSeq(2), reason: "interrupted", consumed: asSeq(4) },
  ];
  const held = toLog(history).map((event) => encodeEvent(event.seq, event));
  const drafts = restoreLostEvents({ held, kept: 2, worker, nonce });
  const { text, consumed, interrupt } = fold(toLog([...history.slice(0, 2), ...drafts]));
  expect([text, consumed, interrupt?.reason]).toEqual(["heard", 4, "interrupted"]);
});
