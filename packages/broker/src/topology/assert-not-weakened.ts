import type { StreamConfig } from "@nats-io/jetstream";
import { RepriseError } from "@reprise/protocol";

type Strength = Pick<StreamConfig, "name" | "num_replicas" | "max_age">;

const HOUR_NS = 3_600_000 * 1_000_000;

/**
 * Refuses to lower what protects a stream's content: a process that is started with defaults must not take copies away from a
 * cluster, nor delete logs that others are to keep. An operator who wants that changes the stream itself, with NATS's own tools.
 * @throws RepriseError `broker_incompatible`; `param` is the environment variable that asks for it
 */
export function assertNotWeakened(present: Strength, wanted: Strength): void {
  if (wanted.num_replicas < present.num_replicas)
    throw weaker(present.name, "REPRISE_REPLICAS", copies(present.num_replicas), copies(wanted.num_replicas));
  if (ageOf(wanted) < ageOf(present))
    throw weaker(present.name, "REPRISE_RETENTION_HOURS", time(ageOf(present)), time(ageOf(wanted)));
}

function weaker(stream: string, variable: string, present: string, wanted: string): RepriseError {
  return new RepriseError(
    "broker_incompatible",
    `Stream ${stream} keeps everything ${present}; ${variable} asks for less, ${wanted}. ` +
      "Raise it, or change the stream with `nats stream edit` first.",
    { param: variable },
  );
}

function ageOf({ max_age }: Strength): number {
  return max_age === 0 ? Infinity : max_age;
}

function copies(count: number): string {
  return `on ${count} ${count === 1 ? "server" : "servers"}`;
}

function time(ageNs: number): string {
  if (ageNs === Infinity) return "for ever";
  const hours = ageNs / HOUR_NS;
  return `for ${hours} ${hours === 1 ? "hour" : "hours"}`;
}
