import {
  asSeq,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  type PromptSegment,
  RepriseError,
  type StreamSeq,
} from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { LogSnapshot, StoredEvent } from "@reprise/stream";
import { foldTurn, verifyPrompt } from "./verify-prompt.ts";

const SECRET = "4111 1111 1111 1111";

const ref = createRef();
const redacted: EventDraft = {
  type: "moderation.redacted",
  from_seq: asSeq(2),
  to_seq: asSeq(2),
  replacement: "[card]",
  rule: "cards",
  category: "card",
};
const drafts: readonly EventDraft[] = [requested(ref), started(), delta(SECRET), completed(), redacted];
const events = drafts.map((draft, i) => encodeEvent(asSeq(i), draft));
const WHOLE = events.length;

const streamSeqOf = (count: number) => count as StreamSeq;

/** A log of which the leader has some events, and a replica fewer. */
function logOf({ leader, replica }: { readonly leader: number; readonly replica: number }) {
  const toStored = (payload: Uint8Array, i: number): StoredEvent => ({
    payload,
    streamSeq: streamSeqOf(i + 1),
    writer: "",
  });
  const kept = events.slice(0, leader).map(toStored);
  const shown: LogSnapshot = { events: events.slice(0, replica), streamSeq: streamSeqOf(replica) };
  return {
    leader: {
      readLast: async () => kept.at(-1),
      readTail: async (_: GenerationRef, after: StreamSeq) =>
        kept.filter(({ streamSeq }) => streamSeq > after),
    },
    reader: { readLog: async () => shown } as never,
  };
}

function segmentOf(count: number, text: string): PromptSegment {
  return {
    generation: ref.generation,
    seq: foldTurn(events.slice(0, count))!.seq,
    items: [{ role: "assistant", content: text }],
  };
}

const textsOf = (prompt: readonly PromptSegment[]) => JSON.stringify(prompt);

test("what the leader has withdrawn is taken out, also where a replica does not show that yet", async () => {
  const before = [segmentOf(WHOLE - 1, SECRET)];
  for (const replica of [WHOLE - 1, WHOLE]) {
    const verified = await verifyPrompt(logOf({ leader: WHOLE, replica }), ref.tenant, before);
    expect(textsOf(verified)).toContain("[card]");
    expect(textsOf(verified)).not.toContain(SECRET);
  }
});

test("a turn that is erased before what has changed of it is read is given to no model", async () => {
  const erased = new RepriseError("generation_erased", "This generation was erased.");
  const log = {
    ...logOf({ leader: WHOLE, replica: WHOLE }),
    reader: { readLog: () => Promise.reject(erased) },
  };
  const verified = verifyPrompt(log as never, ref.tenant, [segmentOf(WHOLE - 1, SECRET)]);
  await expect(verified).rejects.toBe(erased);
});

test("a turn of which nothing is left is given to no model where it was erased, and as it was where it has expired", async () => {
  const prompt = [segmentOf(WHOLE, "[card]")];
  const goneWith = (reason: RepriseError) =>
    ({ ...logOf({ leader: 0, replica: 0 }), reader: { readLog: () => Promise.reject(reason) } }) as never;
  const erased = new RepriseError("generation_erased", "This generation was erased.");
  await expect(verifyPrompt(goneWith(erased), ref.tenant, prompt)).rejects.toBe(erased);
  const expired = new RepriseError("generation_expired", "It is no longer kept.");
  expect(await verifyPrompt(goneWith(expired), ref.tenant, prompt)).toBe(prompt);
});

test("a log that shows less than a prompt was made of brings nothing back", async () => {
  const prompt = [segmentOf(WHOLE, "[card]")];
  const stale = logOf({ leader: WHOLE - 1, replica: WHOLE - 1 });
  expect(await verifyPrompt(stale, ref.tenant, prompt)).toBe(prompt);
  const lagging = logOf({ leader: WHOLE, replica: WHOLE - 1 });
  expect(await verifyPrompt(lagging, ref.tenant, prompt)).toBe(prompt);
});
