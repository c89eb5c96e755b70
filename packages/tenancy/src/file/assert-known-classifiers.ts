import { type Policy, RepriseError } from "@reprise/protocol";
import type { TenancyConfig } from "./tenants-file.ts";

/**
 * A rule with a classifier that nothing answers to would find nothing, or hold back everything, from the first generation on.
 * @param known the names in the classifiers file
 * @param source what to call the tenants file in messages
 * @throws RepriseError `config_invalid` that lists every unknown name, each by its path
 */
export function assertKnownClassifiers(
  { tenants }: TenancyConfig,
  known: ReadonlySet<string>,
  source: string,
): void {
  const problems = tenants.flatMap(({ policy }, t) =>
    (policy.moderation?.rules ?? []).flatMap((rule, r) => {
      if (typeof rule === "string" || !("classifier" in rule) || known.has(rule.classifier)) return [];
      return [`tenants.${t}.policy.moderation.rules.${r}.classifier: "${rule.classifier}" is no classifier`];
    }),
  );
  if (problems.length === 0) return;
  const names = known.size === 0 ? "has none" : `has ${[...known].join(", ")}`;
  throw new RepriseError(
    "config_invalid",
    `${source}: ${problems.join("; ")}. REPRISE_CLASSIFIERS_FILE ${names}.`,
    { param: source },
  );
}

/**
 * The same, of one policy that an administrator sends.
 * @param known undefined where this process does not know them
 * @throws RepriseError `invalid_request`
 */
export function assertKnownClassifiersOf(
  { moderation }: Policy,
  known: ReadonlySet<string> | undefined,
): void {
  for (const [r, rule] of (moderation?.rules ?? []).entries()) {
    if (typeof rule === "string" || !("classifier" in rule) || !known || known.has(rule.classifier)) continue;
    const param = `policy.moderation.rules.${r}.classifier`;
    throw new RepriseError("invalid_request", `${param}: "${rule.classifier}" is no classifier`, { param });
  }
}
