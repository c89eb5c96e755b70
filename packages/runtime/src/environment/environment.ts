import { RepriseError } from "@reprise/protocol";
import {
  ENVIRONMENT_VARIABLES,
  type EnvironmentName,
  type EnvironmentValue,
  isEnvironmentName,
} from "./environment-variables.ts";
import { nearestName } from "./nearest-name.ts";
import { isServiceLink } from "./service-links.ts";

export type Environment<Name extends EnvironmentName, Needed extends Name = never> = {
  readonly [N in Name]: N extends Needed ? NonNullable<EnvironmentValue<N>> : EnvironmentValue<N>;
};

const PREFIX = "REPRISE_";
const NAMES = Object.keys(ENVIRONMENT_VARIABLES) as EnvironmentName[];

/**
 * Parses the environment variables of a process, and fills in defaults.
 * @param env the process's environment, read here and nowhere else
 * @param names the variables that this process uses
 * @param needed those of them that it can't do without
 * @throws RepriseError `config_invalid` that lists every problem at once: values that are malformed or over their limits,
 *   needed variables that are missing, and names that begin with `REPRISE_` and that no part of the platform knows. Variables that Kubernetes makes for a
 *   service of that name count as not set
 */
export function parseEnvironment<const Name extends EnvironmentName, const Needed extends Name = never>(
  env: Readonly<Record<string, string | undefined>>,
  names: readonly Name[],
  needed: readonly Needed[] = [],
): Environment<Name, Needed> {
  const problems = unknownNames(env);
  const isNeeded = new Set<EnvironmentName>(needed);
  const parsed: Partial<Record<EnvironmentName, unknown>> = {};
  for (const name of names) {
    const { schema, fallback } = ENVIRONMENT_VARIABLES[name];
    const given = env[name];
    const text = given === undefined || isServiceLink(name, given) ? fallback : given;
    if (text === undefined) {
      parsed[name] = undefined;
      if (isNeeded.has(name)) problems.push(`${name} is missing`);
    } else if (text === "")
      problems.push(`${name} is set but empty${isNeeded.has(name) ? "" : "; leave it out for its default"}`);
    else {
      const result = schema.safeParse(text);
      if (result.success) parsed[name] = result.data;
      else problems.push(...new Set(result.error.issues.map(({ message }) => `${name} ${message}`)));
    }
  }
  if (problems.length === 0) return parsed as Environment<Name, Needed>;
  throw new RepriseError(
    "config_invalid",
    `The environment is wrong:\n${problems.map((line) => `  ${line}`).join("\n")}`,
  );
}

function unknownNames(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env)
    .filter(([name]) => name.startsWith(PREFIX) && !isEnvironmentName(name))
    .filter(([name, value]) => !isServiceLink(name, value ?? ""))
    .map(([name]) => {
      const nearest = nearestName(name, NAMES);
      return `${name} is not known${nearest === undefined ? "" : `; did you mean ${nearest}?`}`;
    });
}
