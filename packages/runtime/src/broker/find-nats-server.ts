import { RepriseError } from "@reprise/protocol";
import { findProgram, type FoundProgram } from "../lifecycle/find-program.ts";

const NATS_SERVER = {
  name: "nats-server",
  /** The first version with everything the log relies on: strict stream configuration, batched direct gets, per-subject expectations. */
  minVersion: "2.12.0",
  versionPattern: /^nats-server: v([0-9]+\.[0-9]+\.[0-9]+)/m,
};

/**
 * Finds a nats-server that is new enough: what `REPRISE_NATS_SERVER` names and nothing else, or the first good one on `PATH`,
 * or `<dataDir>/bin/nats-server`, where set-up puts the one it fetches.
 *
 * @throws RepriseError `config_invalid` that names each place that was tried and what is wrong there
 */
export async function findNatsServer(
  env: Readonly<Record<string, string | undefined>>,
  dataDir: string,
): Promise<FoundProgram> {
  const places = { named: env["REPRISE_NATS_SERVER"], path: env["PATH"], dataDir };
  const found = await findProgram(NATS_SERVER, places);
  if (!("problem" in found)) return found;
  throw new RepriseError(
    "config_invalid",
    `Reprise needs ${found.problem}. REPRISE_NATS_SERVER can name one.`,
    { param: "REPRISE_NATS_SERVER" },
  );
}
