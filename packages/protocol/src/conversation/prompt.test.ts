import { describe, expect, it } from "vitest";
import fc from "fast-check";
import type { EventDraft } from "../event/event.ts";
import { decodeEvent, encodeEvent } from "../event/event-codec.ts";
import { Transcript } from "../event/transcript.ts";
import { createGenerationId } from "../id.ts";
import { DEFAULT_POLICY } from "../request/policy.ts";
import { asSeq } from "../seq.ts";
import { findOrphan, joinPrompt } from "../event/effective-request.ts";
import { type EndedTurn, promptBehind, toImportedPrompt } from "./prompt.ts";
import type { Message } from "../request/fields/input.ts";
import { fitPrompt, mediaRoomOf } from "./fit-prompt.ts";

const generation = createGenerationId(new Uint8Array(17), 1);
const usage = { input_tokens: 1, output_tokens: 1 };
const STARTED: EventDraft = { type: "generation.started", attempt: 1, worker: "w", model: "m" };
const COMPLETED: EventDraft = { type: "generation.completed", finish_reason: "stop", usage };
const ASKED = { role: "user", content: "Hi" } as const;
const call = (call_id: string) => ({ call_id, name: "f", arguments: "{}" });

function turnOf(drafts: EventDraft[], more: Partial<EndedTurn["requested"]> = {}): EndedTurn {
  const transcript = new Transcript();
  for (const [i, draft] of [STARTED, ...drafts, COMPLETED].entries())
    transcript.apply(decodeEvent(encodeEvent(asSeq(i + 1), draft)));
  const requested = { generation, request: { model: "m", input: [ASKED] }, policy: DEFAULT_POLICY, ...more };
  return { requested, transcript, seq: transcript.cursor.seq };
}

const itemsOf = (turn: EndedTurn) => promptBehind(turn).flatMap(({ items }) => items);

describe("the prompt after a turn", () => {
  it("has a refusal as the part that it is, after what was said before it", () => {
    const refusal: EventDraft = { type: "refusal.delta", text: "I can't." };
    const text: EventDraft = { type: "output.delta", text: "Well." };
    expect(itemsOf(turnOf([refusal]))).toEqual([
      ASKED,
      { role: "assistant", content: [{ type: "refusal", refusal: "I can't." }] },
    ]);
    expect(itemsOf(turnOf([text, refusal]))).toEqual([
      ASKED,
      {
        role: "assistant",
        content: [
          { type: "text", text: "Well." },
          { type: "refusal", refusal: "I can't." },
        ],
      },
    ]);
  });

  it("has with a call what the model has thought before it and the server asks to get back, and no thoughts before an answer", () => {
    const provider_state = { google: { thought_signature: "c2VhbGVk" } };
    const drafts: EventDraft[] = [
      { type: "reasoning.delta", text: "I need " },
      { type: "reasoning.delta", text: "to look." },
      { type: "tool.call", ...call("c1"), provider_state },
      { type: "tool.result", call_id: "c1", output: 1 },
      { type: "reasoning.delta", text: "Now I know." },
      { type: "reasoning.sealed", encrypted: "s", id: "r1" },
      { type: "tool.call", ...call("c2") },
      { type: "tool.result", call_id: "c2", output: 2 },
      { type: "reasoning.delta", text: "That is it." },
      { type: "output.delta", text: "2." },
    ];
    const [, ...said] = itemsOf(turnOf(drafts));
    expect(said).toEqual([
      {
        role: "assistant",
        reasoning: "I need to look.",
        tool_calls: [{ ...call("c1"), provider_state }],
      },
      { role: "tool", call_id: "c1", output: 1 },
      {
        role: "assistant",
        reasoning: [{ text: "Now I know." }, { encrypted: "s", id: "r1" }],
        tool_calls: [call("c2")],
      },
      { role: "tool", call_id: "c2", output: 2 },
      { role: "assistant", content: "2." },
    ]);
    const withdrawn: EventDraft = {
      type: "moderation.redacted",
      from_seq: asSeq(2),
      to_seq: asSeq(3),
      replacement: "[gone]",
      rule: "r",
      category: "c",
      channel: "reasoning",
    };
    const shown = itemsOf(turnOf([...drafts, withdrawn]));
    expect(shown[1]).toEqual({ role: "assistant", reasoning: "[gone]", tool_calls: [call("c1")] });
    expect(shown[3]).toEqual({ role: "assistant", reasoning: "Now I know.", tool_calls: [call("c2")] });
  });

  it("has no thoughts of calls without an answer", () => {
    const asked: EventDraft[] = [
      { type: "reasoning.delta", text: "Hm." },
      { type: "output.delta", text: "Let me see." },
      { type: "tool.call", ...call("c1") },
    ];
    const prompt = promptBehind(turnOf(asked));
    expect(joinPrompt(prompt, "Well?").at(-2)).toEqual({ role: "assistant", content: "Let me see." });
  });

  it("has the content that a URL gave, and blobs and data as they were named", () => {
    const url = "https://example.com/a.png";
    const blob = `blob_${"0".repeat(26)}` as never;
    const parts = [
      { type: "image" as const, url, detail: "low" as const },
      { type: "image" as const, url: "data:image/png;base64,AAAA" },
    ];
    const media = { [url]: { blob, type: "image/png", bytes: 1, sha256: "0" } };
    const request = { model: "m", input: [{ role: "user" as const, content: parts }] };
    const [asked] = itemsOf(turnOf([{ type: "output.delta", text: "A cat." }], { request, media }));
    expect(asked).toEqual({ role: "user", content: [{ type: "image", detail: "low", blob }, parts[1]] });
  });

  it("has the content that a URL in a tool's answer gave", () => {
    const url = "https://example.com/a.png";
    const blob = `blob_${"0".repeat(26)}` as never;
    const media = { [url]: { blob, type: "image/png", bytes: 1, sha256: "0" } };
    const answer = { role: "tool" as const, call_id: "a", content: [{ type: "image" as const, url }] };
    const input = [ASKED, { role: "assistant" as const, tool_calls: [call("a")] }, answer];
    const request = { model: "m", input };
    const items = itemsOf(turnOf([{ type: "output.delta", text: "A cat." }], { request, media }));
    expect(items[2]).toEqual({ role: "tool", call_id: "a", content: [{ type: "image", blob }] });
  });

  it("has no call whose name was withdrawn, nor its answer: no model server accepts the replacement", () => {
    const called = (call_id: string): EventDraft => ({ type: "tool.call", ...call(call_id) });
    const answered = (call_id: string): EventDraft => ({ type: "tool.result", call_id, output: 1 });
    const withdrawn: EventDraft = {
      type: "moderation.redacted",
      from_seq: asSeq(2),
      to_seq: asSeq(2),
      replacement: "[a name]",
      rule: "r",
      category: "c",
      channel: "tool_name",
    };
    const drafts = [called("a"), called("b"), answered("a"), answered("b"), withdrawn];
    expect(itemsOf(turnOf(drafts))).toEqual([
      ASKED,
      { role: "assistant", tool_calls: [call("b")] },
      { role: "tool", call_id: "b", output: 1 },
    ]);
    expect(itemsOf(turnOf([called("a"), answered("a"), withdrawn]))).toEqual([]);
  });
});

describe("messages that are joined", () => {
  const assistant = (...calls: string[]) => ({ role: "assistant" as const, tool_calls: calls.map(call) });
  const answer = (call_id: string) => ({ role: "tool" as const, call_id, output: 1 });
  const segment = (...items: ReturnType<typeof assistant | typeof answer>[]) => [{ generation, items }];

  it("are without calls that nothing answers, and without answers to nothing", () => {
    expect(joinPrompt(segment(assistant("a", "b"), answer("b")), [ASKED])).toEqual([
      assistant("b"),
      answer("b"),
      ASKED,
    ]);
    expect(joinPrompt(segment(assistant("a")), [ASKED])).toEqual([ASKED]);
    expect(joinPrompt([], [answer("a"), ASKED])).toEqual([ASKED]);
  });

  it("have each answer at the last call of its name, for another turn may have used that too", () => {
    const both = segment(assistant("a"), answer("a"), assistant("a"));
    expect(joinPrompt(both, [answer("a")])).toEqual([
      assistant("a"),
      answer("a"),
      assistant("a"),
      answer("a"),
    ]);
    expect(findOrphan(both, [answer("a")])).toBeUndefined();
    expect(findOrphan(both, [ASKED, answer("a"), answer("a")])).toBe(2);
  });
});

const said = fc
  .constantFrom("system", "developer", "user", "assistant")
  .map((role): Message => ({ role, content: role }));

describe("an imported prompt", () => {
  it("has all items in their order, the instructions by themselves and a part for each message of a user", () => {
    fc.assert(
      fc.property(fc.array(said), (items) => {
        const prompt = toImportedPrompt(items);
        expect(prompt.flatMap((segment) => segment.items)).toEqual(items);
        for (const {
          imported,
          items: [first],
        } of prompt.filter((segment) => segment.imported !== undefined))
          expect(items[imported! - 1]).toBe(first);
        for (const segment of prompt) {
          const later = segment.items.slice(1);
          expect(segment.imported === undefined || later.every(({ role }) => role !== "user")).toBe(true);
        }
      }),
    );
    expect(toImportedPrompt(undefined)).toEqual([]);
  });

  it("begins with instructions that its client does not give, and counts its items without them", () => {
    const prompt = [{ role: "system", content: "Be brief." }] satisfies Message[];
    const items: Message[] = [
      { role: "developer", content: "b" },
      { role: "user", content: "c" },
    ];
    expect(toImportedPrompt(items, prompt)).toEqual([
      { items: [...prompt, items[0]] },
      { imported: 2, items: [items[1]] },
    ]);
    expect(toImportedPrompt([], prompt)).toEqual([{ items: prompt }]);
  });

  it("loses its oldest parts where it does not fit, and never its instructions", () => {
    const items: Message[] = [
      { role: "system", content: "Be brief." },
      ...Array.from({ length: 8 }, (): Message => ({ role: "user", content: "x".repeat(100) })),
    ];
    const { prompt, dropped } = fitPrompt(
      toImportedPrompt(items),
      {
        bytes: 900,
        tokens: undefined,
        counted: undefined,
        media: mediaRoomOf({ request: { model: "m", input: "x" } }),
      },
      "truncate_oldest",
    );
    expect(dropped).toBe(6);
    expect(prompt.map(({ imported }) => imported)).toEqual([undefined, 8, 9]);
  });
});
