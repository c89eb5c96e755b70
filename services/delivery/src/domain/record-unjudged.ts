import { appendDecision, createWriterName, type GenerationLog, type Tail } from "@reprise/log";

/**
 * Records in the log that nobody judges what readers of a generation wait for, and what its policy has them get meanwhile: once for each
 * place that moderation has come to a stop at, however many nodes notice.
 * @returns the policy's answer; undefined when somebody has recorded it, or there is nothing to record
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `broker_unavailable`
 */
export async function recordUnjudged(
  log: GenerationLog,
  { ref, policy, visibility }: Tail,
): Promise<"fail_open" | "fail_closed" | undefined> {
  const answer = policy?.moderation?.on_unavailable.answer;
  if (!answer || !visibility) return undefined;
  const lateFrom = visibility.judged;
  const { appended } = await appendDecision({
    ...log,
    ref,
    writer: createWriterName(),
    decide({ lastUnavailable }) {
      // Somebody has gone on meanwhile.
      if (visibility.judged > lateFrom) return undefined;
      if (lastUnavailable && lastUnavailable.judged_seq >= lateFrom) return undefined;
      return { type: "moderation.unavailable", answer, judged_seq: lateFrom };
    },
  });
  return appended ? answer : undefined;
}
