import { toDuration } from "../duration.ts";
import { PLAIN_ALERTS, type PlainAlert } from "../plain-alerts.ts";
import { runbookOf } from "../runbook.ts";
import { SLOS } from "../slo.ts";
import { type AlertingRule, INTERVAL_S, type RuleGroup } from "./rule.ts";
import { sloAlerts, sloRecordings } from "./slo-rules.ts";

/**
 * All rules, by the name of the file that Prometheus reads them from.
 *
 * @param scale by which every time is multiplied: 1/60 turns hours into minutes, so that a test can wait for an alert
 */
export function ruleFiles(scale = 1): Readonly<Record<string, readonly RuleGroup[]>> {
  const interval = toDuration(INTERVAL_S * scale);
  return {
    "recordings.yml": SLOS.map((slo) => sloRecordings(slo, scale)),
    "alerts.yml": [
      { name: "reprise-burn", interval, rules: SLOS.flatMap(sloAlerts) },
      { name: "reprise-plain", interval, rules: PLAIN_ALERTS.map((alert) => plainAlert(alert, scale)) },
    ],
  };
}

function plainAlert(plain: PlainAlert, scale: number): AlertingRule {
  const { alert, severity, summary, description, forS } = plain;
  const scaled = (seconds: number) => toDuration(seconds * scale);
  return {
    alert,
    expr: plain.expr(scaled),
    ...(forS > 0 && { for: scaled(forS) }),
    labels: { severity },
    annotations: { summary, description, runbook: runbookOf(alert) },
  };
}
