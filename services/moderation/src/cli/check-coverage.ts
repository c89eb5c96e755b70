import { type GenerationLog, readPolicy } from "@reprise/stream";
import { type GenerationRef, type JudgedSpan, peekSeq } from "@reprise/protocol";
import { uncovered } from "../domain/coverage.ts";

/**
 * @returns whether every event was judged; undefined for a generation that is not moderated
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `policy_unsupported`, `broker_unavailable`
 */
export async function checkCoverage(
  log: GenerationLog,
  ref: GenerationRef,
  print: (line: string) => void,
): Promise<boolean | undefined> {
  const { events } = await log.reader.readLog(ref);
  const [first, last] = [events[0], events.at(-1)];
  if (!first || !last || !readPolicy(first)?.moderation) return undefined;
  const found = await log.verdicts.readVerdictFromLeader(ref);
  const { spans = [], finding_count: findings = 0, unjudged = [] } = found?.verdict ?? {};
  const gaps = uncovered(spans, peekSeq(last));
  const covered = spans.map((span) => `${span.from_seq}-${span.to_seq} by ${nameOf(span)}`).join(", ");
  const missing = gaps.map((gap) => `${gap.from_seq}-${gap.to_seq}`).join(", ");
  const parts = [
    `${ref.generation}: ${covered || "nothing judged"}`,
    ...(gaps.length > 0 ? [`NOT JUDGED ${missing}`] : []),
    `${findings} found`,
    ...(unjudged.length > 0 ? [`${unjudged.length} windows without a classifier's answer`] : []),
  ];
  print(parts.join("; "));
  return gaps.length === 0;
}

function nameOf({ rule_set, built_in }: JudgedSpan): string {
  return built_in === undefined ? rule_set : `${rule_set} (built-in sets ${built_in})`;
}
