import { type GenerationLog, headOf } from "@reprise/stream";
import {
  generationNotFound,
  type GenerationId,
  type GenerationRef,
  type Verdict,
  type Seq,
  REQUEST_SEQ,
} from "@reprise/protocol";
import { toRequested } from "../domain/to-requested.ts";

/** Progress and findings of moderation; never the text. */
export interface Moderation extends Omit<Required<Verdict>, "decided" | "classified" | "attempt" | "nonce"> {
  readonly object: "moderation";
  readonly generation: GenerationId;
  readonly mode: "off" | "observe" | "retract" | "gate";
  /** The rules that the generation was created with; null where nothing is judged. */
  readonly rule_set: string | null;
  /** The log's last event, for comparison with `judged`. */
  readonly last_seq: Seq;
}

/**
 * Reads the stored verdict. During a generation it is slightly older than the verdict by which readers are shown text.
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable`
 */
export async function readModeration(log: GenerationLog, ref: GenerationRef): Promise<Moderation> {
  const [stored, snapshot] = await Promise.all([log.verdicts.readVerdict(ref), log.reader.readLog(ref)]);
  const [first] = snapshot.events;
  if (!first) throw generationNotFound();
  const { moderation } = toRequested(first).policy;
  const {
    judged = REQUEST_SEQ,
    cleared = REQUEST_SEQ,
    spans = [],
    findings = [],
    finding_count = 0,
    unjudged = [],
  } = stored?.verdict ?? {};
  return {
    object: "moderation",
    generation: ref.generation,
    mode: moderation?.mode ?? "off",
    rule_set: moderation?.rule_set ?? null,
    last_seq: headOf(snapshot).seq,
    judged,
    cleared,
    spans,
    findings,
    finding_count,
    unjudged,
  };
}
