import type { Seq } from "@reprise/protocol";
import { appendDecision, type GenerationLog, type GenerationCache } from "@reprise/stream";
import { createWriterName } from "@reprise/broker";

/**
 * Records in the log that moderation does not judge what readers of a generation wait for, and what its policy gives them meanwhile: once
 * for each place that moderation has come to a stop at, when many nodes notice it.
 * @param judged that place: when a verdict has gone beyond it, nothing is recorded
 * @returns the policy's answer; undefined when another node has recorded it, or there is nothing to record
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `broker_unavailable`
 */
export async function recordUnjudged(
  log: GenerationLog,
  { ref, policy, shown: { visibility }, failure }: GenerationCache,
  judged: Seq,
): Promise<"fail_open" | "fail_closed" | undefined> {
  const answer = policy?.moderation?.on_unavailable.answer;
  if (!answer || !visibility) return undefined;
  const isOver = () => visibility.judged > judged;
  if (failure || isOver()) return undefined;
  const { appended } = await appendDecision({
    ...log,
    ref,
    writer: createWriterName(),
    decide({ lastUnavailable }) {
      if (isOver() || (lastUnavailable && lastUnavailable.judged_seq >= judged)) return undefined;
      return { type: "moderation.unavailable", answer, judged_seq: judged };
    },
  });
  return appended ? answer : undefined;
}
