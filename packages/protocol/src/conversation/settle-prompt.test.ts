import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventDraft } from "../event/event.ts";
import { decodeEvent, encodeEvent } from "../event/event-codec.ts";
import { Transcript } from "../event/transcript.ts";
import { createGenerationId } from "../id.ts";
import { LIMITS } from "../request/fields/limits.ts";
import { DEFAULT_POLICY } from "../request/policy.ts";
import { asSeq } from "../seq.ts";
import { parseConversationId } from "../request/conversation-id.ts";
import { type EndedTurn, promptBehind } from "./prompt.ts";
import type { TurnContext } from "../event/shapes/prompt.ts";
import { countedOf, joinWaited, settlePrompt, settleTurn, waitsOf } from "./settle-prompt.ts";

const conversation = parseConversationId(`conv_${"0".repeat(26)}`);
const idOf = (n: number) => createGenerationId(new Uint8Array(17).fill(n), 1);
const usage = { input_tokens: 1, output_tokens: 1 };
const STARTED: EventDraft = { type: "generation.started", attempt: 1, worker: "w", model: "m" };
const said = (text: string): EventDraft[] => [
  STARTED,
  { type: "output.delta", text },
  { type: "generation.completed", finish_reason: "stop", usage },
];
const CANCELLED: EventDraft = { type: "generation.cancelled", reason: "requested", usage };
const FAILED: EventDraft = {
  type: "generation.failed",
  error: { code: "engine_failed", message: "x", retryable: true },
  usage,
};
const HALTED: EventDraft = { type: "generation.completed", finish_reason: "content_filter", usage };
const user = (content: string) => ({ role: "user" as const, content });
const ROOM = { when_full: "error", bytes: 1_000_000 } as const;

/** A turn that was asked its number. */
function turnOf(n: number, drafts: EventDraft[], more: Partial<EndedTurn["requested"]> = {}): EndedTurn {
  const transcript = new Transcript();
  for (const [i, draft] of drafts.entries()) transcript.apply(decodeEvent(encodeEvent(asSeq(i + 1), draft)));
  const requested = {
    generation: idOf(n),
    request: { model: "m", input: `${n}?` },
    policy: DEFAULT_POLICY,
    ...more,
  };
  return { requested, transcript, seq: transcript.cursor.seq };
}

function waitingFor(turns: readonly number[], room: TurnContext["room"] = ROOM) {
  const context = { conversation, turn: 9, waits_for: turns.map(idOf), room };
  return { request: { model: "m", input: "last?" }, context };
}

function contextOf(...turn: Parameters<typeof waitingFor>) {
  return { context: waitingFor(...turn).context };
}

const textsOf = (prompt: EndedTurn["requested"]["prompt"]) =>
  prompt?.flatMap(({ items }) => items.map((item) => ("content" in item ? item.content : undefined)));

const FIRST = turnOf(1, said("1."));
const KNOWN = { prompt: promptBehind(turnOf(0, said("0."))) };

describe("the prompt of a turn that has waited", () => {
  it("is what it would be had each turn been created after the end of the last one", () => {
    const second = turnOf(2, said("2."), contextOf([1]));
    const third = turnOf(3, said("3."), contextOf([1, 2]));
    const { prompt } = settlePrompt({ ...KNOWN, ...waitingFor([1, 2, 3]) }, [FIRST, second, third]);
    let later = KNOWN.prompt;
    for (const [n, turn] of [FIRST, second, third].entries())
      later = promptBehind(
        turnOf(n + 1, said(`${n + 1}.`), { prompt: later, context: turn.requested.context }),
      );
    expect(prompt).toEqual(later);
    expect(textsOf(prompt)).toEqual(["0?", "0.", "1?", "1.", "2?", "2.", "3?", "3."]);
  });

  it("continues after the last good turn where others have failed, or were cancelled while they waited", () => {
    const failed = turnOf(1, [STARTED, FAILED]);
    const cancelled = turnOf(2, [CANCELLED], {
      ...waitingFor([1]),
      request: { model: "m", input: [{ role: "system", content: "Be rude." }] },
    });
    const third = turnOf(3, said("3."), contextOf([1]));
    const { prompt } = settlePrompt({ ...KNOWN, ...waitingFor([1, 2, 3]) }, [failed, cancelled, third]);
    expect(textsOf(prompt)).toEqual(["0?", "0.", "3?", "3."]);
    expect(joinWaited(waitingFor([2]), [cancelled]).prompt).toEqual([]);
    expect(promptBehind(settleTurn(cancelled, [failed]))).toEqual([]);
    expect(textsOf(promptBehind(settleTurn(cancelled, [FIRST])))).toEqual(["1?", "1."]);
  });

  it("has instructions of a turn that has waited within that turn: the conversation does not begin with them", () => {
    const system = { role: "system", content: "Be brief." } as const;
    const request = { model: "m", input: [system, { role: "user" as const, content: "2?" }] };
    const second = turnOf(2, said("2."), { ...waitingFor([1]), request });
    const { prompt } = settlePrompt(waitingFor([1, 2]), [turnOf(1, [STARTED, FAILED]), second]);
    expect(prompt).toMatchObject([
      { generation: idOf(2), items: [system, { content: "2?" }, { content: "2." }] },
    ]);
  });

  it("leaves the oldest turns out where it does not fit, as each of those that it has waited for did", () => {
    const bytes = JSON.stringify(promptBehind(turnOf(1, said("x".repeat(1_000))))).length;
    const room = { when_full: "truncate_oldest", bytes: 3 * bytes + 10 } as const;
    const long = (n: number, context = {}) => turnOf(n, said("x".repeat(1_000)), context);
    const turns = [long(1), long(2, contextOf([1], room)), long(3, contextOf([1, 2], room))];
    const waiting = { ...KNOWN, ...waitingFor([1, 2, 3], room) };
    const { prompt, dropped } = settlePrompt(waiting, turns);
    expect(prompt.map(({ generation }) => generation)).toEqual([idOf(3)]);
    expect(dropped).toBe(3);
    const fourth = turnOf(4, said("4."), { ...KNOWN, context: waiting.context });
    expect(settleTurn(fourth, turns).requested).toMatchObject({ prompt, context: { dropped_turns: 3 } });
    const strict = { ...KNOWN, ...waitingFor([1, 2, 3], { ...room, when_full: "error" }) };
    expect(() => settlePrompt(strict, turns)).toThrow(expect.objectContaining({ code: "conversation_full" }));
  });

  describe("that wants a summary", () => {
    const SYSTEM = { items: [{ role: "system" as const, content: "Be brief." }] };
    const OLD = { generation: idOf(8), summary: true as const, items: [user("old")] };
    const RECENT = { generation: idOf(5), items: [user("5?")] };
    const stored = (bytes = 10_000) => ({
      request: { model: "m", input: "last?" },
      prompt: [SYSTEM, OLD, RECENT],
      context: {
        conversation,
        turn: 9,
        dropped_turns: 4,
        summary: { generation: idOf(7), turns: 3, bytes },
      },
    });
    const sumUp = (...drafts: EventDraft[]) => turnOf(7, drafts, { prompt: [RECENT] });
    const texts = (...made: Parameters<typeof settlePrompt>) => textsOf(settlePrompt(...made).prompt);

    it("has it after its instructions, in the place of the turns that are left out and of the summary before", () => {
      const made = sumUp(...said("In short."));
      expect(waitsOf(stored())).toEqual([idOf(7)]);
      expect(texts(stored(), [made])).toEqual(["Be brief.", "7?", "In short.", "5?"]);
      expect(settlePrompt(stored(), [made])).toMatchObject({
        dropped: 1,
        prompt: [SYSTEM, { generation: idOf(7), seq: 3, summary: true }, RECENT],
      });
    });

    it("has it in all later ones, at the same place", () => {
      const turn = turnOf(9, said("9."), stored());
      const { requested, ...ended } = settleTurn(turn, [sumUp(...said("In short."))]);
      expect(requested.context).toMatchObject({ dropped_turns: 1 });
      expect(textsOf(promptBehind({ requested, ...ended }))).toEqual([
        "Be brief.",
        "7?",
        "In short.",
        "5?",
        "last?",
        "9.",
      ]);
    });

    it("and was cancelled before it had that is in no prompt, its instructions neither", () => {
      const { context } = stored();
      const request = { model: "m", input: [{ role: "system" as const, content: "Be rude." }] };
      const cancelled = settleTurn(turnOf(9, [CANCELLED], { request, prompt: [], context }), [
        sumUp(STARTED, FAILED),
      ]);
      expect(promptBehind(cancelled)).toEqual([]);
    });

    it("comes before the turns that it has waited for, too", () => {
      const { context, ...rest } = stored();
      const waiting = { ...rest, context: { ...context, waits_for: [idOf(1)], room: ROOM } };
      expect(waitsOf(waiting)).toEqual([idOf(7), idOf(1)]);
      const waited = [sumUp(...said("In short.")), FIRST];
      expect(texts(waiting, waited)).toEqual(["Be brief.", "7?", "In short.", "5?", "1?", "1."]);
    });

    it.each([
      ["fails", [STARTED, FAILED]],
      ["is cancelled", [STARTED, { type: "output.delta", text: "In" }, CANCELLED]],
      ["says nothing", [STARTED, { type: "generation.completed", finish_reason: "stop", usage }]],
      ["is halted", [...said("In short.").slice(0, 2), HALTED]],
      ["is refused", [STARTED, { type: "refusal.delta", text: "No.", tokens: 1 }, ...said("").slice(2)]],
      ["is too long", said("x".repeat(10_000))],
    ] as [string, EventDraft[]][])("is without those turns where it %s", (_, drafts) => {
      expect(settlePrompt(stored(), [sumUp(...drafts)])).toMatchObject({
        dropped: 4,
        prompt: [SYSTEM, OLD, RECENT],
      });
      const later = settleTurn(turnOf(9, said("9."), stored()), [sumUp(...drafts)]);
      expect(later.requested.context).toMatchObject({ dropped_turns: 4 });
    });
  });

  it("has the blobs that its seq 0 names, and a note in the place of others", () => {
    const [gone, kept] = [`blob_${"1".repeat(26)}`, `blob_${"2".repeat(26)}`];
    const image = (blob: string) => ({ type: "image" as const, blob });
    const input = [{ role: "user" as const, content: [image(gone), image(kept)] }];
    const first = turnOf(1, said("1."), { request: { model: "m", input } });
    const media = (bytes: number) => ({
      media: { [kept]: { blob: kept as never, type: "image/png", bytes, sha256: "" } },
    });
    const { prompt } = settlePrompt({ ...waitingFor([1]), ...media(10) }, [first]);
    const note = { type: "text", text: "[An image that was here is no longer available.]" };
    expect(textsOf(prompt)).toEqual([[note, image(kept)], "1."]);
    const large = { ...waitingFor([1]), ...media(LIMITS.mediaBytes + 1) };
    expect(() => settlePrompt(large, [first])).toThrow(
      expect.objectContaining({ code: "conversation_full" }),
    );
  });
});

/** Outcomes of a turn; one that does not wait cannot be cancelled before it begins. */
const outcome = fc.constantFrom("said", "failed", "cancelled", "never begun");
const draftsOf = (n: number, how: string): EventDraft[] => {
  if (how === "said") return said(`${n}.`);
  if (how === "failed") return [STARTED, FAILED];
  const partly: EventDraft = { type: "output.delta", text: `${n}` };
  return how === "cancelled" ? [STARTED, partly, CANCELLED] : [CANCELLED];
};

it("whenever turns are created, each is given what those before it that have begun were asked and have said", () => {
  // How many turns have ended when the next one is created: each creation sees at least as many as the one before.
  const step = fc.record({ outcome, endsMore: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      const turns: EndedTurn[] = [];
      const expected: string[] = [];
      let ended = 0;
      for (const [n, { outcome: how, endsMore }] of steps.entries()) {
        ended = Math.min(n, ended + endsMore);
        const last = turns.at(-1);
        const waited = (last?.requested.context?.waits_for ?? []).map((id) =>
          turns.find((turn) => turn.requested.generation === id)!,
        );
        const over = waited.filter((turn) => turns.indexOf(turn) < ended);
        const waits = last && ended < n ? [...waited.slice(over.length), last] : [];
        const settled =
          last &&
          (waits.length === 0
            ? { prompt: promptBehind(last.requested.context?.waits_for ? settleTurn(last, waited) : last) }
            : joinWaited(last.requested, over));
        const more = {
          ...(waits.length > 0 && waitingFor(waits.map((turn) => turns.indexOf(turn)))),
          request: { model: "m", input: `${n}?` },
          prompt: settled?.prompt ?? [],
        };
        expect(textsOf(settlePrompt(more, waits).prompt)).toEqual(expected);
        const outcomeOf = how === "never begun" && waits.length === 0 ? "said" : how;
        turns.push(turnOf(n, draftsOf(n, outcomeOf), more));
        if (outcomeOf === "said") expected.push(`${n}?`, `${n}.`);
        if (outcomeOf === "cancelled") expected.push(`${n}?`, `${n}`);
      }
    }),
  );
});

it("what an engine has counted is of use where later turns have it: without reasoning, of one attempt that did not fail", () => {
  const used = { input_tokens: 100, output_tokens: 50, reasoning_tokens: 40 };
  const counted = (transcript: object) =>
    countedOf({
      transcript: { usage: used, status: "completed", attempt: 1, output: [], ...transcript },
    } as never);
  expect(counted({})).toBe(110);
  expect(counted({ output: [{ type: "tool_call" }] })).toBe(150);
  expect(counted({ usage: { input_tokens: 100, output_tokens: 50 } })).toBe(150);
  for (const unknown of [{ status: "failed" }, { attempt: 2 }, { usage: { ...used, input_tokens: null } }])
    expect(counted(unknown)).toBeUndefined();
});
