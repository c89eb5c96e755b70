import * as z from "zod";
import { MODERATION_ACTIONS } from "../request/moderation-policy.ts";

const seq = z.int().min(0).brand<"Seq">();

/** Consecutive events that were judged by the same rules. */
const spanSchema = z.object({
  from_seq: seq,
  to_seq: seq,
  rule_set: z.string(),
  /** The version of the built-in sets, where the rules name one: a rule set's id says which they are, not what is in them. */
  built_in: z.int().min(1).optional(),
});

/** Result of a rule. Never the text itself. */
export const findingSchema = z.object({
  rule: z.string(),
  category: z.string(),
  action: z.enum(MODERATION_ACTIONS),
  from_seq: seq,
  to_seq: seq,
});

/** Moderation's state of one generation: the last message of its subject in VERDICTS, or, more often, on the live feed alone. The judged part never shrinks. */
export const verdictSchema = z.object({
  /** Every event up to it was judged. */
  judged: seq,
  /** Every event up to it may be shown, once `decided` is known. At most `judged`. */
  cleared: seq,
  /** The last decision of moderation in the log: a node that does not have that event yet must not act upon `cleared`. 0 for none. */
  decided: seq,
  /**
   * The attempt that wrote the last event judged: a verdict says nothing of events of later attempts, which may have taken the place of
   * events that the store has lost. Default: it says something of all.
   */
  attempt: z.int().min(0).optional(),
  /** That attempt's, which tells it from a lost one with the same number. */
  nonce: z.string().optional(),
  /** Which rules have judged which events. Only in what is stored. */
  spans: z.array(spanSchema).optional(),
  /** The first 100 findings. Only in the stored form. */
  findings: z.array(findingSchema).optional(),
  finding_count: z.int().min(0).optional(),
  /** Every window of a classifier up to this event is done with. Only in what is stored. */
  classified: seq.optional(),
  /** Windows that a classifier has not judged: it was away, or too slow. Only in what is stored. */
  unjudged: z.array(z.object({ from_seq: seq, to_seq: seq, classifier: z.string() })).optional(),
});

export type Verdict = z.infer<typeof verdictSchema>;
export type Finding = z.infer<typeof findingSchema>;
/** Which rules judge. */
export type JudgedBy = Pick<z.infer<typeof spanSchema>, "rule_set" | "built_in">;
export type JudgedSpan = z.infer<typeof spanSchema>;

export const MAX_FINDINGS = 100;

/** Undefined for what is no verdict. */
export function decodeVerdict(payload: Uint8Array): Verdict | undefined {
  try {
    const { data } = verdictSchema.safeParse(JSON.parse(new TextDecoder().decode(payload)));
    return data && data.cleared <= data.judged ? data : undefined;
  } catch {
    return undefined;
  }
}

export function encodeVerdict(verdict: Verdict): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(verdict));
}
