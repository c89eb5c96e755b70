import type { BacklogResult } from "../scenarios/backlog.ts";
import type { FanOutResult, FanOutRow } from "../scenarios/fan-out.ts";
import type { ScenarioResult } from "../scenarios/all.ts";
import type { StalledResult } from "../scenarios/stalled.ts";
import type { TargetName } from "../targets/all.ts";
import { atLeast, atMost, NOISE, type Verdict } from "./claim.ts";
import { judgeChurn } from "./format-churn.ts";
import { judgeFair } from "./tenants/format-fair.ts";
import { judgeFlood } from "./tenants/format-flood.ts";
import { judgeLimits } from "./tenants/format-limits.ts";
import { judgeFirst } from "./format-first.ts";
import { judgeProtocols } from "./protocols.ts";
import { judgeAnalytics, judgeObserved } from "./judge-analytics.ts";
import { judgeArchive, judgeAudit } from "./judge-audit.ts";
import { judgeModeration, judgeRetractLag, judgeRules } from "./moderation/judge-moderation.ts";

/** All claims that the results have figures for. A run without the floor has nothing to be added to it. */
export function judge(results: readonly ScenarioResult[]): Verdict[] {
  return results.flatMap((result) => {
    switch (result.scenario) {
      case "S1":
      case "S2":
        return judgeFanOut(result);
      case "S3":
        return judgeBacklog(result);
      case "FIRST":
        return judgeFirst(result);
      case "IDLE": {
        const own = result.rows.find(({ target }) => target === "reprise");
        return own
          ? [atMost("IDLE", "an idle reader's memory", own.rssBytesPerReader / 1_024, 20, "KB")]
          : [];
      }
      case "APPEND":
        return [
          atLeast("APPEND", "events stored by one worker process", result.eventsPerSecond, 40_000, "/s"),
        ];
      case "CHURN":
        return judgeChurn(result);
      case "STALLED":
        return judgeStalled(result);
      case "SCALE": {
        const costs = result.rows.map(({ totalCpu }) => totalCpu);
        const ratio = costs.at(-1)! / costs[0]!;
        const most = result.rows.at(-1)!.generations;
        return [atMost("SCALE", `cost per event, 10 to ${most} generations`, ratio, 1.3, "x")];
      }
      case "PROTOCOLS":
        return judgeProtocols(result);
      case "MODERATION":
        return judgeModeration(result);
      case "RETRACT-LAG":
        return judgeRetractLag(result);
      case "RULES":
        return judgeRules(result);
      case "AUDIT":
        return judgeAudit(result);
      case "ARCHIVE":
        return judgeArchive(result);
      case "ANALYTICS":
        return judgeAnalytics(result);
      case "OBSERVED":
        return judgeObserved(result);
      case "FLOOD":
        return judgeFlood(result);
      case "FAIR":
        return judgeFair(result);
      case "LIMITS":
        return judgeLimits(result);
      case "TRACE":
        return [atLeast("TRACE", "requests completed", ratioCompleted(result), 1, "of all")];
    }
  });
}

function judgeFanOut({ scenario, rows, rounds }: FanOutResult): Verdict[] {
  const own = rows.find(({ target }) => target === "reprise");
  if (!own) return [];
  const verdicts: Verdict[] = [];
  const floor = rows.find(({ target }) => target === "floor");
  if (floor && scenario === "S1") {
    verdicts.push(atMost(scenario, "added to the floor, p50", (p50(own) - p50(floor)) / 1e3, 0.4, "ms"));
    verdicts.push(atMost(scenario, "added to the floor, p99", (p99(own) - p99(floor)) / 1e3, 2.5, "ms"));
  }
  if (floor) {
    const ratio = own.deliveryCpu / floor.deliveryCpu;
    verdicts.push(atMost(scenario, "delivery's CPU per event, of the floor's", ratio, 2, "x"));
  }
  if (scenario === "S2") verdicts.push(atMost(scenario, "p99", p99(own) / 1e3, 12, "ms"));
  verdicts.push(atMost(scenario, "tokens lost, repeated or out of order", wrongTokens(rounds), 0, ""));
  const peers = rows.map(({ target, latency }) => ({ target, latency }));
  return [...verdicts, ...aheadOfPeers(scenario, own.latency, peers)];
}

function judgeBacklog({ rows }: BacklogResult): Verdict[] {
  const own = rows.find(({ target }) => target === "reprise")?.caughtUp;
  if (!own) return [];
  const peers = rows.flatMap(({ target, caughtUp }) => (caughtUp ? [{ target, latency: caughtUp }] : []));
  return [atMost("S3", "time to caught up, p50", own.p50 / 1e3, 50, "ms"), ...aheadOfPeers("S3", own, peers)];
}

function judgeStalled({ rows: [without, beside] }: StalledResult): Verdict[] {
  const added = beside.latency.p99 / without.latency.p99;
  const wrong = beside.missing + beside.disordered;
  return [
    atMost("STALLED", "delivery's memory grows by", beside.growthBytes / 2 ** 20, 50, "MB"),
    atMost("STALLED", "p99 of those who read, of that without stalled ones", added, NOISE, "x"),
    atMost("STALLED", "tokens lost, repeated or out of order", wrong, 0, ""),
  ];
}

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

/** Reprise against the best of the peers in the same run: the floor is none. */
function aheadOfPeers(
  scenario: string,
  own: Quantiles,
  rows: readonly { target: TargetName; latency: Quantiles }[],
): Verdict[] {
  const peers = rows.filter(({ target }) => target !== "reprise" && target !== "floor");
  if (peers.length === 0) return [];
  return (["p50", "p99"] as const).map((quantile) => {
    const best = peers.reduce((least, peer) =>
      peer.latency[quantile] < least.latency[quantile] ? peer : least,
    );
    const claim = `ahead of every peer, ${quantile} (best: ${best.target})`;
    return atMost(scenario, claim, own[quantile] / 1e3, best.latency[quantile] / 1e3, "ms");
  });
}

function wrongTokens(rounds: FanOutResult["rounds"]): number {
  const own = rounds.flat().filter(({ target }) => target === "reprise");
  return own.reduce((sum, { missing, disordered }) => sum + missing + disordered, 0);
}

const p50 = ({ latency }: FanOutRow) => latency.p50;
const p99 = ({ latency }: FanOutRow) => latency.p99;

function ratioCompleted({
  ends,
  requests,
}: {
  ends: Readonly<Record<string, number>>;
  requests: number;
}): number {
  return (ends["generation.completed"] ?? 0) / requests;
}
