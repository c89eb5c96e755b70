import { RepriseError } from "@reprise/protocol/wire";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  nextResume,
  type ResumeEffect,
  type ResumeInput,
  type ResumeState,
  startResume,
} from "./resume-state.ts";
import { createRetryPolicy } from "../retry/retry-policy.ts";
import type { StreamEvent } from "../transcript/stream-event.ts";
import { completedLog } from "../testing/example-log.ts";
import { cursorOf, seqOfCursor } from "../testing/fake-log.ts";

const SEED = 20_261_121;
const lost = new RepriseError("connection_lost", "The connection broke.");
const context = { nowMs: 0, random: 0.5, policy: createRetryPolicy() };

/** Feeds inputs in turn; returns the last state and all effects. */
function feed(state: ResumeState, inputs: readonly ResumeInput[], overrides: Partial<typeof context> = {}) {
  const effects: ResumeEffect[] = [];
  for (const input of inputs) {
    const step = nextResume(state, input, { ...context, ...overrides });
    state = step.state;
    if (step.effect) effects.push(step.effect);
  }
  return { state, effects };
}

function event(seq: number, type = "output.delta"): ResumeInput {
  return { type: "event", cursor: cursorOf(seq), event: { seq, type, text: "x" } as StreamEvent };
}

const broken: ResumeInput = { type: "broken", error: lost };
const delivered = (effects: readonly ResumeEffect[]) =>
  effects.flatMap((effect) => (effect.type === "deliver" ? [effect.event.seq] : []));

/** Behaviour of a connection: starts too early or too late, lasts for some events, repeats some of them. */
const anyConnection = fc.record({
  offset: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: -4, max: 4 })),
  lasts: fc.nat(6),
  stutters: fc.boolean(),
});

describe("for any behaviour of the connections", () => {
  it("hands out a run of the log without a hole or a repetition, and its cursor is right after it", () => {
    const run = fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(anyConnection),
      (texts, connections) => {
        const log = completedLog(Array.from({ length: texts }, () => "x"));
        let state = startResume();
        const seqs: number[] = [];
        for (const { offset, lasts, stutters } of connections) {
          const from = Math.max(0, seqOfCursor(state.cursor ?? null) + offset);
          const inputs = log.slice(from, from + lasts).flatMap(({ seq, type }) => {
            return stutters ? [event(seq, type), event(seq, type)] : [event(seq, type)];
          });
          for (const input of [{ type: "opened" } as const, ...inputs, broken]) {
            const step = nextResume(state, input, context);
            state = step.state;
            if (step.effect === undefined) continue;
            seqs.push(...delivered([step.effect]));
            if (step.effect.type !== "deliver") break;
          }
          expect(seqs).toEqual(log.slice(0, seqs.length).map(({ seq }) => seq));
          expect(seqOfCursor(state.cursor ?? null)).toBe(seqs.length);
        }
      },
    );
    fc.assert(run, { seed: SEED, numRuns: 500 });
  });

  it("ends with the clean end after the terminal event, and hands out first what comes between them", () => {
    const { effects } = feed(startResume(), [
      event(1),
      event(2, "generation.cancelled"),
      event(3, "moderation.redacted"),
      { type: "closed" },
    ]);
    expect(effects.map(({ type }) => type)).toEqual(["deliver", "deliver", "deliver", "end"]);
  });
});

describe("a clean end", () => {
  it("before the terminal event is a break", () => {
    const { effects } = feed(startResume(), [event(1), { type: "closed" }]);
    expect(effects.at(-1)).toMatchObject({ type: "reconnect", delay: { serverMs: 0, backoffMs: 125 } });
  });
});

describe("a break after the terminal event", () => {
  const ended: ResumeInput[] = [event(1), event(2, "generation.completed")];
  const typesAfter = (inputs: readonly ResumeInput[], overrides: Partial<typeof context> = {}) =>
    feed(startResume(), [...ended, ...inputs], overrides).effects.map(({ type }) => type);

  it("is mended once, and is the end then", () => {
    expect(typesAfter([broken])).toEqual(["deliver", "deliver", "reconnect"]);
    expect(typesAfter([broken, broken])).toEqual(["deliver", "deliver", "reconnect", "end"]);
  });

  it("is mended again where that has brought something", () => {
    const types = typesAfter([broken, event(3, "moderation.redacted"), broken]);
    expect(types).toEqual(["deliver", "deliver", "reconnect", "deliver", "reconnect"]);
  });

  it("is the end at once where the app wants no retries, or none can mend it", () => {
    const policy = createRetryPolicy({ giveUpAfterMs: 0 });
    const gone: ResumeInput = { type: "broken", error: new RepriseError("cursor_expired", "Gone.") };
    expect(typesAfter([broken], { policy })).toEqual(["deliver", "deliver", "end"]);
    expect(typesAfter([gone])).toEqual(["deliver", "deliver", "end"]);
  });
});

describe("an event out of order", () => {
  it("that was handed out before, or is the request itself, is dropped", () => {
    const { effects } = feed(startResume(), [event(0), event(1), event(2), event(1), event(2), event(3)]);
    expect(delivered(effects)).toEqual([1, 2, 3]);
  });

  it("that leaves a hole makes for a new connection from the cursor before the hole", () => {
    const { state, effects } = feed(startResume(), [event(1), event(3)]);
    expect(effects.at(-1)).toMatchObject({ type: "reconnect", delay: { serverMs: 0, backoffMs: 125 } });
    expect(state.cursor).toBe(cursorOf(1));
  });

  it("that leaves a hole a second time in a row violates the protocol", () => {
    const { effects } = feed(startResume(), [event(1), event(3), { type: "opened" }, event(3)]);
    expect(effects.at(-1)).toMatchObject({ type: "fail", error: { code: "protocol_violation" } });
  });

  it("that leaves a hole again after progress is another first time", () => {
    const { effects } = feed(startResume(), [event(1), event(3), event(2), event(4)]);
    expect(effects.at(-1)).toMatchObject({ type: "reconnect" });
  });

  it("can't be told from any other when it is the first after a cursor of the app's own", () => {
    const { effects } = feed(startResume("~x!"), [event(57), event(58), event(58)]);
    expect(delivered(effects)).toEqual([57, 58]);
  });
});

describe("the budget of failures", () => {
  it("grows the delay up to the cap, and is used up by five minutes of failures in a row", () => {
    const policy = createRetryPolicy();
    let state = startResume();
    const delays: number[] = [];
    for (let nowMs = 0; nowMs < policy.giveUpAfterMs; nowMs += delays.at(-1)!) {
      const step = nextResume(state, broken, { nowMs, random: 1, policy });
      state = step.state;
      const { effect } = step;
      delays.push(effect?.type === "reconnect" ? effect.delay.backoffMs : NaN);
    }
    expect(delays.slice(0, 8)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    const { effects } = feed(state, [broken], { nowMs: policy.giveUpAfterMs });
    expect(effects).toMatchObject([{ type: "fail", error: { code: "connection_lost", cause: lost } }]);
  });

  it("is whole again after a wake-up, however long the device has slept", () => {
    const { state } = feed(startResume(), [broken, broken]);
    const { effects } = feed(state, [{ type: "woken" }, broken], { nowMs: 3_600_000 });
    expect(effects).toMatchObject([{ type: "reconnect", delay: { backoffMs: 125 } }]);
  });

  it("is whole again after every new event, but not after a repeated one", () => {
    expect(feed(startResume(), [event(1), broken, broken, event(1)]).state.failures?.count).toBe(2);
    expect(feed(startResume(), [event(1), broken, broken, event(2)]).state.failures).toBeUndefined();
  });

  it("is whole again when a connection still brings bytes after half a minute", () => {
    const { state } = feed(startResume(), [broken, { type: "opened" }]);
    expect(feed(state, [{ type: "alive" }], { nowMs: 29_999 }).state.failures?.count).toBe(1);
    expect(feed(state, [{ type: "alive" }], { nowMs: 30_000 }).state.failures).toBeUndefined();
  });

  it("isn't touched by an error that no retry can mend", () => {
    const error = new RepriseError("cursor_expired", "Gone.");
    expect(feed(startResume(), [{ type: "broken", error }]).effects).toEqual([{ type: "fail", error }]);
  });
});

describe("the delay before a new connection", () => {
  it("is at least the last retry: of the stream, jitter on top", () => {
    const hints: ResumeInput[] = [
      { type: "retry", delayMs: 3_000 },
      { type: "retry", delayMs: 1_000 },
      broken,
    ];
    expect(feed(startResume(), hints).effects).toMatchObject([
      { type: "reconnect", delay: { serverMs: 1_000, backoffMs: 125 } },
    ]);
  });

  it("is at least the error's own Retry-After, which counts for this once", () => {
    const busy = new RepriseError("draining", "Come back.", { retryAfterMs: 2_000 });
    const { effects } = feed(startResume(), [{ type: "broken", error: busy }, broken]);
    expect(effects).toMatchObject([
      { type: "reconnect", delay: { serverMs: 2_000, backoffMs: 125 } },
      { type: "reconnect", delay: { serverMs: 0, backoffMs: 250 } },
    ]);
  });

  it("is never longer than the app allows: a server that wants more is given up on", () => {
    const busy = new RepriseError("draining", "Come back.", { retryAfterMs: 60_001 });
    const { effects } = feed(startResume(), [{ type: "broken", error: busy }]);
    expect(effects).toMatchObject([
      { type: "fail", error: { code: "connection_lost", retryAfterMs: 60_001 } },
    ]);
  });
});

describe("an answer that nothing is left", () => {
  it("ends a stream that has a cursor", () => {
    expect(feed(startResume("~x!"), [{ type: "nothing_left" }]).effects).toEqual([{ type: "end" }]);
  });

  it("violates the protocol when nothing was ever read", () => {
    const { effects } = feed(startResume(), [{ type: "nothing_left" }]);
    expect(effects).toMatchObject([{ type: "fail", error: { code: "protocol_violation" } }]);
  });
});
