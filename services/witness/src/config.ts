import { join } from "node:path";
import {
  COSIGNATURE,
  createNoteKey,
  type NoteKey,
  parseNoteKey,
  parseVerifierKey,
  type VerifierKey,
} from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { type Environment, openSecretFile, parseEnvironment } from "@reprise/runtime";

const NAMES = [
  "REPRISE_HOST",
  "REPRISE_PORT",
  "REPRISE_OPS_HOST",
  "REPRISE_OPS_PORT",
  "REPRISE_ACCESS_LOG",
  "REPRISE_DATA_DIR",
  "REPRISE_WITNESS_DIR",
  "REPRISE_WITNESS_NAME",
  "REPRISE_WITNESS_LOGS",
  "REPRISE_LOG_LEVEL",
  "REPRISE_DRAIN_MS",
] as const;

/** Without logs it would cosign nothing. */
const NEEDED = ["REPRISE_WITNESS_LOGS"] as const;

export type WitnessEnvironment = Environment<(typeof NAMES)[number], (typeof NEEDED)[number]>;

/** @throws RepriseError `config_invalid` */
export function parseWitnessEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): WitnessEnvironment {
  return parseEnvironment(env, NAMES, NEEDED);
}

export interface WitnessIdentity {
  readonly dir: string;
  readonly key: NoteKey;
  readonly logs: readonly VerifierKey[];
}

/**
 * Opens the witness's own key, and makes it at the first start.
 * @throws RepriseError `config_invalid`
 */
export async function openWitnessIdentity(env: WitnessEnvironment): Promise<WitnessIdentity> {
  const logs = env.REPRISE_WITNESS_LOGS.map(parseVerifierKey);
  const dir = env.REPRISE_WITNESS_DIR ?? join(env.REPRISE_DATA_DIR, "witness");
  const name = env.REPRISE_WITNESS_NAME;
  const path = join(dir, "witness.key");
  const key = parseNoteKey(
    await openSecretFile(path, () => createNoteKey(name, undefined, COSIGNATURE).skey),
  );
  if (key.name !== name || key.algorithm !== COSIGNATURE)
    throw new RepriseError(
      "config_invalid",
      `${path} is the key of ${key.name}, not of the witness ${name}.`,
    );
  return { dir, key, logs };
}
