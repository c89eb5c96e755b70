import type { ModerationResult, ModerationRow, VariantName } from "../../scenarios/moderation/moderation.ts";
import type { RetractLagResult } from "../../scenarios/moderation/retract-lag.ts";
import type { RulesResult } from "../../scenarios/moderation/rules.ts";
import { atLeast, atMost, NOISE, type Verdict } from "../claim.ts";

export function judgeModeration({ scenario, rows, rounds }: ModerationResult): Verdict[] {
  const find = (name: VariantName) => rows.find(({ variant }) => variant === name);
  const [off, idle, gate, words] = [find("off"), find("idle"), find("gate"), find("gate-words")];
  const verdicts: Verdict[] = [];
  if (off && idle) {
    const ratio = idle.latency.p99 / off.latency.p99;
    verdicts.push(atMost(scenario, "off: p99 with the service, of that without it", ratio, NOISE, "x"));
  }
  const claimAdded = (claim: string, row: ModerationRow | undefined) => {
    if (!off || !row) return;
    verdicts.push(atMost(scenario, claim, (row.latency.p99 - off.latency.p99) / 1e3, 5, "ms"));
  };
  claimAdded("added by gate, p99, what it holds back included", gate);
  claimAdded("added by gate, p99, where it holds nothing back", words);
  if (gate?.held) verdicts.push(atMost(scenario, "held by gate, mean", gate.held.mean, 8, "characters"));
  const wrong = rounds
    .flat()
    .reduce((sum, { missing, disordered }) => sum + Math.abs(missing) + disordered, 0);
  return [...verdicts, atMost(scenario, "tokens lost or repeated", wrong, 0, "")];
}

export function judgeRetractLag({ scenario, planted, lagMs, characters }: RetractLagResult): Verdict[] {
  return [
    atMost(scenario, "until it is withdrawn, p99", lagMs.p99, 50, "ms"),
    atMost(scenario, "text behind it until it is withdrawn, p99", characters.p99, 64, "characters"),
    atLeast(scenario, "matches withdrawn", lagMs.count / planted, 1, "of all"),
  ];
}

/** The claim is about terms with the sets that come with the platform: tenants' patterns, in the last row, cost what they cost. */
export function judgeRules({ scenario, rows }: RulesResult): Verdict[] {
  const standard = rows[1];
  if (!standard) return [];
  const claim = "chunks judged by one core, terms and the sets of the platform";
  return [atLeast(scenario, claim, standard.chunksPerSecond / 1e6, 2, "million/s")];
}
