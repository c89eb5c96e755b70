import { appendDecision } from "@reprise/stream";
import { createWriterName } from "@reprise/broker";
import { storeVerdict } from "@reprise/moderation";
import {
  type EventDraft,
  type GenerationRef,
  type ModerationPolicy,
  type Verdict,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { expect } from "vitest";
import { type Platform, REQUEST } from "./platform.ts";

export { halted, redacted } from "@reprise/testkit";

/** The body of a create whose policy has moderation. */
export const moderatedBody = (moderation: ModerationPolicy) => ({ ...REQUEST, policy: { moderation } });

/** Says what moderation would: everything up to an event is judged and, unless told otherwise, cleared. */
export async function judge(
  { log }: Platform,
  ref: GenerationRef,
  judged: number,
  { cleared = asSeq(judged), decided = asSeq(0) }: Partial<Verdict> = {},
): Promise<void> {
  const expectedLast = (await log.verdicts.readVerdictFromLeader(ref))?.streamSeq ?? 0;
  const outcome = await storeVerdict(
    log.publish,
    ref,
    { judged: asSeq(judged), cleared, decided },
    { expectedLast: asStreamSeq(expectedLast) },
  );
  expect(outcome.kind).toBe("stored");
}

/** Appends an event as moderation or a reviewer would, also after the end. */
export async function decide({ log }: Platform, ref: GenerationRef, draft: EventDraft): Promise<void> {
  await appendDecision({ ...log, ref, writer: createWriterName(), decide: () => draft });
}
