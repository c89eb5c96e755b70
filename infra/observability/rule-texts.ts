import { ruleFiles } from "./rules/rule-files.ts";
import { toYaml } from "./yaml.ts";

const HEAD =
  "# Written by `npm run observability` from infra/observability/slo.ts and plain-alerts.ts. Do not edit.\n";

/**
 * Returns the rule files that Prometheus reads: the text of each by its name.
 *
 * @param scale see `ruleFiles`
 */
export function ruleTexts(scale = 1): Readonly<Record<string, string>> {
  const files = Object.entries(ruleFiles(scale));
  return Object.fromEntries(files.map(([name, groups]) => [name, HEAD + toYaml({ groups })]));
}
