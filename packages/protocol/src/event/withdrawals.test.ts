import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeEvent } from "./event-codec.ts";
import type { KnownEvent } from "./event.ts";
import { anyModeratedLog, halted, projected, redacted, toLog } from "./moderation.fixture.ts";
import { answered, called, completed, delta, type Draft, started } from "./transcript.fixture.ts";
import { channelOf, textOf } from "./text-table.ts";
import { Withdrawals } from "./withdrawals.ts";
import { NAME_CHANNEL } from "./withdrawn-text.ts";

const said = [started(), delta("Call "), delta("555-"), delta("0199"), delta(" now.")];

/** The texts of a channel, as the log reads now. */
const textsOf = (log: readonly KnownEvent[], channel = "0") =>
  projected(log)
    .filter((event) => channelOf(event) === channel)
    .map(textOf);

function withdrawalsOf(log: readonly KnownEvent[]): Withdrawals {
  const withdrawals = new Withdrawals();
  for (const event of log) withdrawals.apply(event);
  return withdrawals;
}

describe("what moderation has withdrawn", () => {
  it("reads as its replacement, in the first event of its range, and as nothing in the others", () => {
    expect(textsOf(toLog([...said, redacted(3, 4)]))).toEqual(["Call ", "[redacted]", "", " now."]);
  });

  it("leaves the rest of its events as it was, and says that they read differently", () => {
    const log = toLog([started(), { ...delta("555"), tokens: 3 }, delta("."), redacted(2, 2)]);
    expect(projected(log).slice(1, 3)).toEqual([
      { seq: 2, type: "output.delta", text: "[redacted]", tokens: 3, redacted: true },
      { seq: 3, type: "output.delta", text: "." },
    ]);
  });

  it("takes the log probabilities of its events, whose tokens tell the text again", () => {
    const likely = { token: "555", logprob: -1, top: [{ token: "556", logprob: -2 }] };
    const log = toLog([
      started(),
      { ...delta("555"), tokens: 1, logprobs: [likely] },
      { ...delta("."), logprobs: [{ logprob: -1 }] },
      redacted(2, 2),
    ]);
    expect(projected(log).slice(1, 3)).toEqual([
      { seq: 2, type: "output.delta", text: "[redacted]", tokens: 1, redacted: true },
      { seq: 3, type: "output.delta", text: ".", logprobs: [{ logprob: -1 }] },
    ]);
  });

  it("is of one channel alone: others that lie between its events stay", () => {
    const log = toLog([
      started(),
      delta("5"),
      { type: "reasoning.delta", text: "hm" },
      { type: "output.delta", text: "x", output: 1 },
      delta("55"),
      redacted(2, 5),
    ]);
    expect(["0", "1", "reasoning"].map((channel) => textsOf(log, channel).join(""))).toEqual([
      "[redacted]",
      "x",
      "hm",
    ]);
  });

  it("is not told by what was decided before about a part of it", () => {
    const first = { ...redacted(2, 2), replacement: "[key] and her address" };
    const log = toLog([
      started(),
      delta("secret and her address"),
      delta("!"),
      first,
      redacted(1, 3, "[all]"),
    ]);
    const [, , , told, all] = projected(log) as { replacement?: string }[];
    expect([told?.replacement, all?.replacement]).toEqual(["", "[all]"]);
    expect(withdrawalsOf(log.slice(0, 4)).apply(log[4]!)).toEqual([
      { fromSeq: 1, toSeq: 3 },
      { fromSeq: 4, toSeq: 4 },
    ]);
  });

  it("may be what the model has thought, what another output says, or a tool's arguments", () => {
    const log = toLog([
      { type: "reasoning.delta", text: "5" },
      { type: "output.delta", text: "6", output: 1 },
      called("a"),
      redacted(1, 1, "r", "reasoning"),
      redacted(2, 2, "o", "1"),
      redacted(3, 3, "t", "tool"),
    ]);
    expect(projected(log).slice(0, 3)).toMatchObject([
      { text: "r" },
      { text: "o" },
      { call_id: "a", name: "look_up", arguments: "t", redacted: true },
    ]);
  });

  it("may be a refusal or a summary, one as little of the other as of the text", () => {
    const log = toLog([
      { type: "refusal.delta", text: "5" },
      { type: "reasoning.summary.delta", text: "6" },
      delta("7"),
      redacted(1, 3, "r", "refusal"),
      redacted(1, 3, "s", "reasoning_summary"),
    ]);
    expect(projected(log).slice(0, 3)).toEqual([
      { seq: 1, type: "refusal.delta", text: "r", redacted: true },
      { seq: 2, type: "reasoning.summary.delta", text: "", redacted: true },
      { seq: 3, type: "output.delta", text: "7" },
    ]);
  });

  it("is all that an annotation says: what it is of stays, and its place", () => {
    const source = { url: "https://a/", title: "A", file: "f", name: "n", quote: "q" };
    const place = { from_seq: 1, to_seq: 1, from_offset: 0, to_offset: 2 };
    const log = toLog([
      delta("ab"),
      { type: "output.annotation", kind: "url", ...place, ...source },
      redacted(2, 2, "[a source]", "annotation"),
    ]);
    expect(projected(log)[1]).toEqual({
      seq: 2,
      type: "output.annotation",
      kind: "url",
      ...place,
      title: "[a source]",
      redacted: true,
    });
  });

  it("is what was sealed too, after a halt", () => {
    const log = toLog([
      delta("ab"),
      { type: "reasoning.sealed", encrypted: "c2VhbGVk", id: "rs_1" },
      { type: "output.annotation", kind: "url", url: "https://a/" },
      halted(1),
    ]);
    expect(projected(log).slice(1, 3)).toEqual([
      { seq: 2, type: "reasoning.sealed", encrypted: "", redacted: true },
      { seq: 3, type: "output.annotation", kind: "url", title: "", redacted: true },
    ]);
  });

  it.each(["reasoning", "reasoning_summary"])(
    "is all that was sealed, before and after it, where text of %s was withdrawn: it may hold the same",
    (channel) => {
      const sealed = { type: "reasoning.sealed", encrypted: "c2VhbGVk", id: "rs_1" } as const;
      const log = toLog([
        sealed,
        { type: "reasoning.delta", text: "x" },
        { type: "reasoning.summary.delta", text: "y" },
        sealed,
        redacted(3, 3, "", channel),
        sealed,
      ]);
      const kept = projected(log).filter((event) => event.type === "reasoning.sealed");
      expect(kept).toEqual(
        [1, 4, 6].map((seq) => ({ seq, type: sealed.type, encrypted: "", redacted: true })),
      );
      expect(projected(log, 4)).toEqual(log);
      const ofText = toLog([sealed, delta("a"), redacted(2, 2, "")]);
      expect(projected(ofText)[0]).toEqual(ofText[0]);
    },
  );

  it("is a call's provider state too, with any withdrawal of reasoning, of the call, or after a halt", () => {
    const call = { ...called("call_1"), provider_state: { signature: "x" } };
    const thought: Draft = { type: "reasoning.delta", text: "y" };
    const { provider_state: _state, ...bare } = call;
    const stateOf = (...more: Draft[]) => projected(toLog([call, thought, ...more]))[0];
    expect(stateOf()).toEqual({ seq: 1, ...call });
    expect(stateOf(redacted(2, 2, "", "reasoning"))).toEqual({ seq: 1, ...bare, redacted: true });
    expect(stateOf(redacted(1, 1, "gone", "tool"))).toEqual({
      seq: 1,
      ...bare,
      arguments: "gone",
      redacted: true,
    });
    expect(stateOf(halted(1))).not.toHaveProperty("provider_state");
    expect(projected(toLog([called("call_1"), thought, redacted(2, 2, "", "reasoning")]))[0]).toEqual({
      seq: 1,
      ...called("call_1"),
    });
  });

  it("is what the last of overlapping ranges says", () => {
    expect(textsOf(toLog([...said, redacted(3, 3, "A"), redacted(2, 4, "B")])).join("")).toBe("B now.");
    expect(textsOf(toLog([...said, redacted(2, 4, "A"), redacted(4, 5, "B")])).join("")).toBe("AB");
  });

  it("is all text from where a halt begins, in every channel, however much follows", () => {
    const log = toLog([
      ...said,
      halted(4),
      delta("more"),
      called("a"),
      { type: "reasoning.delta", text: "x" },
    ]);
    expect(textsOf(log).join("")).toBe("Call 555-[halted]");
    expect([...textsOf(log, "tool"), ...textsOf(log, "reasoning")]).toEqual(["", ""]);
  });

  it("touches no event without text", () => {
    const log = toLog([started(), called("a"), answered("a"), completed(), halted(1)]);
    const withdrawals = withdrawalsOf(log);
    for (const event of [log[0]!, log[2]!, log[3]!, log[4]!]) {
      const payload = encodeEvent(event.seq, event);
      expect(withdrawals.project(event.seq, payload)).toBe(payload);
    }
  });
});

describe("withdrawals", () => {
  it("leave an event's own bytes where nothing of it was withdrawn, and make the same ones of it everywhere else", () => {
    fc.assert(
      fc.property(anyModeratedLog, (log) => {
        const [one, other] = [withdrawalsOf(log), withdrawalsOf(log)];
        for (const event of log) {
          const payload = encodeEvent(event.seq, event);
          const shown = one.project(event.seq, payload);
          expect(other.project(event.seq, payload.slice())).toEqual(shown);
          const isSealed = event.type === "reasoning.sealed";
          const channels =
            event.type === "tool.call"
              ? ["tool", NAME_CHANNEL, ...(event.provider_state ? ["sealed"] : [])]
              : [channelOf(event) ?? (isSealed ? "sealed" : "none")];
          const isWithdrawn = channels.some((name) => one.replacementOf(event.seq, name) !== undefined);
          const tells = event.type === "moderation.redacted" || event.type === "moderation.halted";
          expect(
            tells || (shown === payload) === (!isWithdrawn || (channelOf(event) === undefined && !isSealed)),
          ).toBe(true);
        }
      }),
    );
  });

  it("change nothing when an event was projected before", () => {
    fc.assert(
      fc.property(anyModeratedLog, fc.nat(), (log, at) => {
        const earlier = projected(log, at % (log.length + 1));
        expect(projected(earlier).map(textOf)).toEqual(projected(log).map(textOf));
      }),
    );
  });

  it("tell which events read differently from now on", () => {
    const withdrawals = new Withdrawals();
    const log = toLog([...said, redacted(3, 4), halted(5)]);
    expect(log.map((event) => withdrawals.apply(event))).toMatchObject([
      ...said.map(() => []),
      [{ fromSeq: 3, toSeq: 4 }],
      [{ fromSeq: 5, toSeq: Number.POSITIVE_INFINITY }],
    ]);
  });

  it("report every event that reads differently from now on, after any earlier withdrawals", () => {
    fc.assert(
      fc.property(anyModeratedLog, (log) => {
        const withdrawals = new Withdrawals();
        const read = (events: readonly KnownEvent[]) =>
          events.map((event) =>
            new TextDecoder().decode(withdrawals.project(event.seq, encodeEvent(event.seq, event))),
          );
        for (const [at, event] of log.entries()) {
          const before = read(log.slice(0, at));
          const changed = withdrawals.apply(event);
          const isTold = ({ seq }: KnownEvent) =>
            changed.some(({ fromSeq, toSeq }) => seq >= fromSeq && seq <= toSeq);
          const untold = log.slice(0, at).filter((earlier) => !isTold(earlier));
          expect(read(untold)).toEqual(untold.map(({ seq }) => before[seq - 1]));
        }
      }),
      { numRuns: 300 },
    );
  });

  it("are empty until there is one", () => {
    expect(withdrawalsOf(toLog(said)).isEmpty).toBe(true);
    expect(withdrawalsOf(toLog([...said, redacted(2, 2)])).isEmpty).toBe(false);
  });
});
