import { userInfo } from "node:os";
import { connectBroker } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import {
  type AccessRecord,
  encodeOpsRecord,
  type GenerationId,
  opsSubject,
  RepriseError,
  type TenantId,
} from "@reprise/protocol";
import { findBrokerAddress, type CommandIo } from "@reprise/runtime";
import type { Command } from "commander";
import { writeLine } from "../command.ts";
import { type ArchiveValues, withArchive } from "../options.ts";

/** Adds the options of commands that show what is kept. */
export function withReading(command: Command): Command {
  command.option(
    "--nats <url>",
    "records there, for the audit log to keep, that you have looked; nothing is shown when that fails",
  );
  return withArchive(command);
}

export interface ReadingValues extends ArchiveValues {
  readonly nats?: string;
}

/** The caller and the object of an access. `query` is what was asked for, without text of a generation and without names of people. */
export interface Access extends Pick<AccessRecord, "call" | "query"> {
  readonly tenant: TenantId;
  readonly generation?: GenerationId | undefined;
}

/**
 * Records an access before anything is shown. Without a broker it can't be: a copied file proves nothing about who has read it.
 * @throws RepriseError `broker_unavailable`
 */
export async function recordAccess(
  nats: string | undefined,
  { tenant, generation, call, query }: Access,
  { err, env }: Pick<CommandIo, "err" | "env">,
): Promise<void> {
  if (nats === undefined) {
    await writeLine(err, "This access is recorded nowhere: --nats <url> has the audit log keep it.");
    return;
  }
  const address = await findBrokerAddress(env, nats);
  await using broker = await connectBroker({ ...address, user: "audit-log", name: "reprise-audit" });
  const log = createGenerationLog(broker);
  const record = {
    kind: "access",
    at: new Date().toISOString(),
    by: `cli:${userInfo().username}`,
    call,
    ...(query && { query }),
  } as const;
  const subject = opsSubject("access", tenant, generation);
  const outcome = await log.publish(subject, encodeOpsRecord(record), {});
  if (outcome.kind !== "stored")
    throw new RepriseError("broker_unavailable", "The access could not be recorded.");
}
