import { GenerationFold, type GenerationRow } from "@reprise/facts";
import { asSeq, encodeEvent, type GenerationRef } from "@reprise/protocol";
import { completed, delta, requested, started } from "@reprise/testkit";

/** The row of a short generation. @param atUs of its first event; the others are a microsecond apart */
export function generationRowOf(
  ref: GenerationRef,
  { atUs = 0, metadata = {} }: { atUs?: number; metadata?: Record<string, string> } = {},
): GenerationRow {
  const fold = GenerationFold.begin(ref);
  const drafts = [requested(ref, { metadata }), started(), delta("a"), completed()];
  for (const [i, draft] of drafts.entries())
    fold.feed(encodeEvent(asSeq(i), draft), atUs + i, Object.keys(metadata));
  return fold.toRow();
}
