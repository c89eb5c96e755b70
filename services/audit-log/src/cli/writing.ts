import { access } from "node:fs/promises";
import { userInfo } from "node:os";
import { openArchive, probeStore } from "@reprise/archive";
import { connectBroker, readShardCount } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { RepriseError } from "@reprise/protocol";
import { findBrokerAddress, parseEnvironment, type CommandIo } from "@reprise/runtime";
import { createBrokerFencedStore } from "@reprise/facts/lane";
import { parseStorageEnvironment } from "../config.ts";
import type { LifecycleContext } from "../lifecycle/lifecycle-context.ts";
import { openAuditStorage } from "../storage.ts";
import type { Command } from "commander";
import { writeLine } from "./command.ts";
import {
  archiveDir,
  archiveName,
  type ArchiveValues,
  keysDir,
  signingKeyFile,
  withArchive,
} from "./options.ts";

/** Adds the options of commands that change what an archive keeps. */
export function withWriting(command: Command): Command {
  command
    .requiredOption("--tenant <id>", "whose archive")
    .option("--subject <pseudonym>", "as requests name the person")
    .option("--generation <id>", "one generation")
    .option("--reason <text>", "is archived, and stays for good: must name no person")
    .option("--by <name>", "who does it; default: cli:<user>")
    .option("--nats <url>", "default: $REPRISE_NATS_URL");
  return withArchive(command);
}

export interface WritingValues extends ArchiveValues {
  readonly tenant: string;
  readonly subject?: string;
  readonly generation?: string;
  readonly reason?: string;
  readonly by?: string;
  readonly nats?: string;
}

/** @throws RepriseError `invalid_request` */
export function reasonOf({ reason }: WritingValues): string {
  if (reason === undefined) throw new RepriseError("invalid_request", "--reason is missing.");
  return reason;
}

/** Everything that is opened for such a command. */
export interface Writing extends LifecycleContext, AsyncDisposable {}

/** Who runs the command. */
export function operator(by: string | undefined): string {
  return by ?? `cli:${userInfo().username}`;
}

/**
 * Opens an archive to be written: the one in the folder that is named, or where the environment says. There must be one, and its keys.
 * @throws RepriseError `config_invalid`, `archive_corrupt`, `archive_unavailable`, `broker_unavailable`
 */
export async function openForWriting(
  values: WritingValues,
  { env, err }: Pick<CommandIo, "env" | "err">,
): Promise<Writing> {
  // Another key than the archive's own would make it look tampered with.
  const keyFile = signingKeyFile(values, env);
  await access(keyFile).catch((cause: unknown) => {
    throw new RepriseError("config_invalid", `${keyFile}, the archive's signing key, is not there.`, {
      cause,
    });
  });
  const storage = await openAuditStorage(
    parseStorageEnvironment({
      ...env,
      REPRISE_AUDIT_NAME: archiveName(values, env),
      REPRISE_AUDIT_KEYS_DIR: keysDir(values, env),
      REPRISE_AUDIT_MASTER_KEY_FILE: values.masterKeyFile ?? env["REPRISE_AUDIT_MASTER_KEY_FILE"],
      REPRISE_AUDIT_DIR: archiveDir(values, env),
      REPRISE_AUDIT_S3_URL: values.archive === undefined ? env["REPRISE_AUDIT_S3_URL"] : undefined,
    }),
  );
  const onError = (error: unknown) => void writeLine(err, String(error));
  await using stack = new AsyncDisposableStack();
  const live = await openLive(values.nats ?? env["REPRISE_NATS_URL"], env, stack, onError);
  const isFenced = (await probeStore(storage.store)) === "unconditional";
  if (isFenced && !live)
    throw new RepriseError("config_invalid", "This store needs a broker to be written: name it with --nats.");
  const store =
    isFenced && live
      ? createBrokerFencedStore(storage.store, {
          broker: live.broker,
          publish: live.log.publish,
          archive: storage.name,
          onError,
        })
      : storage.store;
  const { signer, earlier } = storage;
  const writer = { name: `reprise-audit-${process.pid}`, signer, earlier, onError };
  const archive = await openArchive({ store, name: storage.name, writer });
  // With a broker it may be one that has just begun.
  if (archive.state.next === 0 && !live)
    throw new RepriseError("archive_unavailable", "There is no archive, or nothing in it.");
  const kept = stack.move();
  return {
    archive,
    store,
    keyring: storage.keyring,
    live,
    onDamaged: onError,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function openLive(
  url: string | undefined,
  env: CommandIo["env"],
  stack: AsyncDisposableStack,
  onError: (error: unknown) => void,
): Promise<LifecycleContext["live"]> {
  if (url === undefined) return undefined;
  const { REPRISE_SHARDS: configured } = parseEnvironment(env, ["REPRISE_SHARDS"]);
  const address = await findBrokerAddress(env, url);
  const broker = stack.use(
    await connectBroker({ ...address, user: "audit-log", name: "reprise-audit", onError }),
  );
  const shards = (await readShardCount(broker.main)) ?? configured;
  const log = createGenerationLog(broker);
  return { broker, log, shards };
}
