import type { LockedPackage } from "./versions.ts";
import { packageName } from "./runtime-packages.ts";

/** SPDX identifiers of licences that what we hand on may have: each asks for its text to be passed on, and for nothing of our code. */
export const ALLOWED_LICENCES: readonly string[] = [
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  "Unlicense",
];

export interface LicenceReading {
  readonly problems: readonly string[];
  /** How many packages have each licence. */
  readonly counts: ReadonlyMap<string, number>;
}

/** What is licensed how, and what of it may not be handed on. */
export function readLicences(packages: ReadonlyMap<string, LockedPackage>): LicenceReading {
  const problems: string[] = [];
  const counts = new Map<string, number>();
  for (const [path, locked] of packages) {
    if (locked.link === true) continue;
    const licence = locked.license ?? "none";
    counts.set(licence, (counts.get(licence) ?? 0) + 1);
    if (!isAllowed(licence))
      problems.push(
        `${packageName(path, locked)}@${locked.version} has the licence ${licence}, which is not allowed`,
      );
  }
  return { problems, counts };
}

/**
 * Whether an SPDX expression leaves a choice of allowed licences alone: one side of each OR, both of each AND. What it can't read, a
 * WITH for example, is not allowed.
 */
export function isAllowed(expression: string): boolean {
  const tokens = expression.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const takeIf = (token: string): boolean => tokens[at] === token && ++at > 0;

  function term(): boolean {
    if (!takeIf("(")) return ALLOWED_LICENCES.includes(tokens[at++] ?? "");
    const allowed = alternatives();
    return takeIf(")") && allowed;
  }
  function conjunction(): boolean {
    let allowed = term();
    while (takeIf("AND")) allowed = term() && allowed;
    return allowed;
  }
  function alternatives(): boolean {
    let allowed = conjunction();
    while (takeIf("OR")) allowed = conjunction() || allowed;
    return allowed;
  }
  const allowed = alternatives();
  return allowed && at === tokens.length;
}
