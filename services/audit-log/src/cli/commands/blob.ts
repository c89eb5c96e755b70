import { link, open, rm } from "node:fs/promises";
import {
  type Archive,
  type BlobCopy,
  type CopiedContent,
  type Keyring,
  openCopy,
  readCopy,
} from "@reprise/archive";
import { parseTenantId, RepriseError } from "@reprise/protocol";
import type { CommandIo } from "@reprise/runtime";
import { Command } from "commander";
import { EXIT, type MakeCommand, writeLine } from "../command.ts";
import { openArchiveCopy, openKeyringCopy } from "../options.ts";
import { type ReadingValues, recordAccess, withReading } from "./access.ts";

/** Writes the archived bytes of a blob to a file, and says what they are. */
export const blob: MakeCommand = (io) =>
  withReading(new Command("blob"))
    .description("writes the archived content of a blob to a file, where the tenant has its content archived")
    .argument("<id>", "of the blob")
    .requiredOption(
      "--out <file>",
      "must not exist; exists only when the content is whole and its hash is right",
    )
    .option("--tenant <id>", "default: whose it is")
    .action(async (id: string, values: Values) => {
      io.exitCode = await run(id, values, io);
    });

interface Values extends ReadingValues {
  readonly out: string;
  readonly tenant?: string;
}

async function run(id: string, values: Values, io: CommandIo): Promise<number> {
  const { out } = values;
  const archive = await openArchiveCopy(values, io.env);
  const keyring = await openKeyringCopy(values, io.env);
  const { tenant, copy } = findCopy(archive, id, values.tenant);
  await recordAccess(values.nats, { tenant: parseTenantId(tenant), call: "read", query: { blob: id } }, io);
  const content = await writeCopy({ archive, keyring, tenant, copy, out });
  await writeLine(io.out, JSON.stringify({ ...content, tenant, stored_at: copy.at }));
  return EXIT.fine;
}

/** @throws RepriseError `blob_not_found`, `invalid_request` where several tenants have it */
function findCopy(
  archive: Archive,
  id: string,
  named: string | undefined,
): { readonly tenant: string; readonly copy: BlobCopy } {
  const tenants = named === undefined ? archive.state.tenants() : [named];
  const found = tenants.flatMap((tenant) => {
    const copy = [...archive.state.copies(tenant).values()].findLast((one) => one.blob === id);
    return copy ? [{ tenant, copy }] : [];
  });
  const [only, another] = found;
  if (another)
    throw new RepriseError("invalid_request", "More than one tenant has it: name one with --tenant.");
  if (only) return only;
  throw new RepriseError("blob_not_found", whyNot(archive, tenants, id));
}

function whyNot({ state }: Archive, tenants: readonly string[], id: string): string {
  const records = tenants.flatMap((tenant) => state.records(tenant));
  const last = records.findLast((record) => "blob" in record && record.blob === id);
  if (last?.kind === "blob_copied") return `The archive's copy of ${id} was erased, or its time is over.`;
  if (last?.kind === "blob_missed")
    return `The content of ${id} could not be archived: it was ${last.reason === "damaged" ? "damaged" : "gone"}.`;
  return `The archive does not hold the content of ${id}.`;
}

const OWNER_ONLY = 0o600;

interface Reading {
  readonly archive: Archive;
  readonly keyring: Keyring;
  readonly tenant: string;
  readonly copy: BlobCopy;
  readonly out: string;
}

/** Nothing is under its name before all of it is right. */
async function writeCopy({ archive, keyring, tenant, copy, out }: Reading): Promise<CopiedContent> {
  const key = await keyring.open(tenant, copy.kid);
  if (typeof key === "string") {
    const state = key === "destroyed" ? "destroyed" : "not at hand";
    throw new RepriseError("archive_unavailable", `The key of ${copy.blob} is ${state}.`);
  }
  const partial = `${out}.partial`;
  const file = await refused(partial, open(partial, "wx", OWNER_ONLY));
  try {
    const content = openCopy(copy, readCopy(archive.store, copy), key);
    let next = await content.next();
    for (; !next.done; next = await content.next()) await file.writeFile(next.value);
    await file.sync();
    // Unlike a renaming this replaces nothing.
    await refused(out, link(partial, out));
    return next.value;
  } finally {
    await file.close();
    await rm(partial, { force: true });
  }
}

/** @throws RepriseError `invalid_request` for a file that can't be made, or is there */
async function refused<T>(path: string, making: Promise<T>): Promise<T> {
  try {
    return await making;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === "EEXIST" ? "is there already" : `can't be written (${code})`;
    throw new RepriseError("invalid_request", `${path} ${why}.`, { cause, param: "out" });
  }
}
