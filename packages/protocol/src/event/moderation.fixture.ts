import * as fc from "fast-check";
import type { KnownEvent } from "./event.ts";
import { decodeEvent, encodeEvent } from "./event-codec.ts";
import { answered, called, delta, type Draft, rewind, started } from "./transcript.fixture.ts";
import { channelOf, textIn } from "./text-table.ts";
import { Withdrawals } from "./withdrawals.ts";
import { NAME_CHANNEL } from "./withdrawn-text.ts";

const found = { rule: "cards", category: "cards" };

export const redacted = (
  from_seq: number,
  to_seq: number,
  replacement = "[redacted]",
  channel?: string,
): Draft => ({
  type: "moderation.redacted",
  from_seq,
  to_seq,
  replacement,
  ...found,
  ...(channel !== undefined && { channel }),
});
export const halted = (from_seq: number, replacement = "[halted]"): Draft => ({
  type: "moderation.halted",
  from_seq,
  replacement,
  ...found,
});
export const review = (review_id: string): Draft => ({
  type: "moderation.review",
  review_id,
  from_seq: 2,
  to_seq: 2,
  expires_at: "2026-11-21T01:00:00.000Z",
  ...found,
});
export const reviewed = (review_id: string): Draft => ({
  type: "moderation.reviewed",
  review_id,
  decision: "approve",
  reviewer: "ann",
});
export const unavailable = (judged_seq: number): Draft => ({
  type: "moderation.unavailable",
  answer: "fail_open",
  judged_seq,
});

/** Numbers drafts from 1. */
export const toLog = (drafts: readonly Draft[]): KnownEvent[] =>
  drafts.map((draft, i) => ({ ...draft, seq: i + 1 }) as unknown as KnownEvent);

/** The events as a reader gets them that comes when the log has its first `known` events. */
export function projected(log: readonly KnownEvent[], known = log.length): KnownEvent[] {
  const withdrawals = new Withdrawals();
  for (const event of log.slice(0, known)) withdrawals.apply(event);
  return log.map((event) => {
    const payload = withdrawals.project(event.seq, encodeEvent(event.seq, event));
    return decodeEvent(payload) as KnownEvent;
  });
}

const anyText = fc.string({ maxLength: 3 });

/** Any log with texts in several channels, of which moderation withdraws what it likes, rewinds between them. */
export const anyModeratedLog: fc.Arbitrary<KnownEvent[]> = fc
  .array(fc.tuple(fc.nat(15), fc.nat(), fc.nat(), anyText), { maxLength: 25 })
  .map((choices) => {
    const drafts: Draft[] = [started()];
    for (const choice of choices) drafts.push(...nextOf(toLog(drafts), ...choice));
    return toLog(drafts);
  });

function nextOf(log: readonly KnownEvent[], kind: number, a: number, b: number, text: string): Draft[] {
  const channels = log.flatMap((event) =>
    event.type === "tool.call" ? ["tool", NAME_CHANNEL] : (channelOf(event) ?? []),
  );
  switch (kind) {
    case 0:
      return [{ type: "output.delta", text, output: 1 }];
    case 1:
      return [{ type: "reasoning.delta", text }];
    case 2:
      return [
        {
          ...called(`call_${log.length}`),
          arguments: text,
          ...(a % 2 === 0 && { provider_state: { signature: `s${text}` } }),
        },
      ];
    case 3:
      return log.flatMap((event) => (event.type === "tool.call" ? [answered(event.call_id)] : [])).slice(-1);
    case 4:
      return a % 3 === 0 ? [rewind(b % log.length)] : [];
    case 5:
      return a % 5 === 0 ? [halted(1 + (b % log.length), text)] : [];
    case 6:
    case 7: {
      const channel = channels[a % channels.length];
      if (channel === undefined) return [];
      const seqs = log.flatMap((event) => (textIn(event, channel) === undefined ? [] : [event.seq]));
      const [from, to] = [a % seqs.length, b % seqs.length].toSorted((x, y) => x - y);
      return [redacted(seqs[from!]!, seqs[to!]!, text, channel)];
    }
    case 8:
      return [{ type: "refusal.delta", text }];
    case 9:
      return [{ type: "reasoning.summary.delta", text }];
    case 10:
      return [{ type: "output.annotation", kind: "url", url: `u${text}`, title: text }];
    case 11:
      return [{ type: "reasoning.sealed", encrypted: `s${text}` }];
    case 12:
      return [{ type: "output.blob", kind: "image", blob: `b${text}`, media_type: "image/png", bytes: 1 }];
    default:
      return [delta(text)];
  }
}
