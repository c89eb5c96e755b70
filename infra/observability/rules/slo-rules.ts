import { badShareOf, type Burn, BURNS, WINDOWS_S } from "../burn.ts";
import { toDuration } from "../duration.ts";
import type { Slo } from "../slo.ts";
import { runbookOf } from "../runbook.ts";
import { type AlertingRule, INTERVAL_S, type RecordingRule, type RuleGroup } from "./rule.ts";

/** 1 while a level is bad, 0 while it is good. */
const IS_BAD = "reprise:slo_is_bad";
/** The share of bad events in the window that its name ends with. */
const BAD_SHARE = "reprise:slo_bad_share";
/** How many events that share is taken of. */
const EVENTS = "reprise:slo_events";

/** @param scale by which every time is multiplied; the names of recorded series stay */
export function sloRecordings(slo: Slo, scale: number): RuleGroup {
  const { signal } = slo;
  const labels = { slo: slo.name };
  const rules: RecordingRule[] = [];
  if (signal.kind === "level")
    rules.push({ record: IS_BAD, expr: `${signal.level} > bool ${signal.limit}`, labels });
  for (const windowS of WINDOWS_S) {
    const range = toDuration(windowS * scale);
    const { share, events } =
      signal.kind === "level"
        ? {
            share: `avg_over_time(${IS_BAD}{slo="${slo.name}"}[${range}])`,
            events: `count_over_time(${IS_BAD}{slo="${slo.name}"}[${range}])`,
          }
        : { share: `(${signal.bad(range)}) / (${signal.total(range)})`, events: signal.total(range) };
    rules.push({ record: nameOf(BAD_SHARE, windowS), expr: share, labels });
    if (BURNS.some(({ longS }) => longS === windowS))
      rules.push({ record: nameOf(EVENTS, windowS), expr: events, labels });
  }
  return { name: `reprise-slo-${slo.name}`, interval: toDuration(INTERVAL_S * scale), rules };
}

export function sloAlerts(slo: Slo): AlertingRule[] {
  return BURNS.map((burn) => burnAlert(slo, burn));
}

function burnAlert(slo: Slo, burn: Burn): AlertingRule {
  const share = badShareOf(slo, burn);
  const over = (windowS: number) => `${nameOf(BAD_SHARE, windowS)}{slo="${slo.name}"} > ${share}`;
  const enough = `${nameOf(EVENTS, burn.longS)}{slo="${slo.name}"} >= ${slo.minEvents}`;
  return {
    alert: slo.alert,
    expr: `${over(burn.longS)} and ${over(burn.shortS)} and ${enough}`,
    labels: { severity: slo.isTicket ? "ticket" : burn.severity, burn: String(burn.factor) },
    annotations: {
      summary: slo.summary,
      description: `${slo.objective} The budget of errors burns ${burn.factor} times as fast as it may, for ${toDuration(burn.longS)} and still within the last ${toDuration(burn.shortS)}.`,
      runbook: runbookOf(slo.alert),
    },
  };
}

function nameOf(series: string, windowS: number): string {
  return `${series}:${toDuration(windowS)}`;
}
