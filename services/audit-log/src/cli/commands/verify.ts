import { readFile } from "node:fs/promises";
import {
  ARCHIVE_TREE,
  createFileStore,
  parseNote,
  parseVerifierKey,
  type VerifierKey,
  type VerifyOptions,
  type VerifyReport,
  verifyArchive,
} from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { collect, type CommandIo } from "@reprise/runtime";
import { Command, Option } from "commander";
import { EXIT, type MakeCommand, writeLine } from "../command.ts";
import {
  archiveDir,
  archiveName,
  findKeyringCopy,
  findWitnessCopy,
  type ArchiveValues,
  verifierKeys,
  withArchive,
} from "../options.ts";

const VERDICTS = {
  fine: EXIT.fine,
  tampered: EXIT.tampered,
  gap: EXIT.gap,
  unknown: EXIT.unknown,
} as const;

/** Verifies that an archive is as it was written. */
export const verify: MakeCommand = (io) =>
  withArchive(new Command("verify"))
    .description("tells if the archive is as it was written: 0 fine, 2 tampered with, 3 a gap, 4 can't tell")
    .option(
      "--vkey <key>",
      "of the archive's signatures, once for each key it has had; default: the one whose signing key is with the keys",
      collect,
    )
    .option("--witness <key>", "of a witness that must have cosigned", collect)
    .option(
      "--witnessed <file|url>",
      "a checkpoint kept outside the archive, without which a cut end is not found; without --witness, --witnessed, --archive and --vkey: the witness in the data folder, and what it remembers",
      collect,
    )
    .option("--tenant <id>", "only the files of this tenant; all commits")
    .option("--since <n>", "only files that commit n or a later one has named; all commits")
    .addOption(noKeys())
    .option("--json", "the whole report; without it, of findings of one sort the first five")
    .action(async (values: Values) => {
      io.exitCode = await run(values, io);
    });

interface Values extends ArchiveValues {
  readonly vkey?: readonly string[];
  readonly witness?: readonly string[];
  readonly witnessed?: readonly string[];
  readonly tenant?: string;
  readonly since?: string;
  readonly noKeys?: true;
  readonly json?: true;
}

/** Makes an option of its own: to commander a name that begins with `no-` takes back `--keys`, which also names the signing key. */
function noKeys(): Option {
  const option = new Option(
    "--no-keys",
    "opens nothing, as when there are no keys: all else is verified without them",
  );
  option.negate = false;
  return option;
}

async function run(values: Values, { out, env }: CommandIo): Promise<number> {
  const name = archiveName(values, env);
  const vkeys = await verifierKeys(values, env);
  const { witnesses, witnessed } = await findWitnesses(values, env, { name, vkeys });
  const report = await verifyArchive({
    store: createFileStore(archiveDir(values, env)),
    name,
    vkeys,
    witnesses,
    witnessed,
    tenant: values.tenant,
    since: parseSince(values.since),
    keyring: values.noKeys ? undefined : await findKeyringCopy(values, env),
  });
  if (values.json) await writeLine(out, JSON.stringify(report, undefined, 2));
  else for (const line of toLines(report)) await writeLine(out, line);
  return VERDICTS[report.verdict];
}

/**
 * The witnesses that are named; else, of the archive in the data folder, the one that lies beside it: its key, and what it remembers.
 * @throws RepriseError `config_invalid`, `archive_unavailable`
 */
async function findWitnesses(
  values: Values,
  env: CommandIo["env"],
  { name, vkeys }: Pick<VerifyOptions, "name" | "vkeys">,
): Promise<Pick<VerifyOptions, "witnesses" | "witnessed">> {
  const { witness, witnessed, archive, vkey } = values;
  const isNamed = [witness, witnessed, archive, vkey].some((value) => value !== undefined);
  const own = isNamed ? undefined : await findWitnessCopy(env);
  if (own) {
    const newest = await own.newest(`${name}/${ARCHIVE_TREE}`);
    if (newest && vkeys.length > 0 && !claimsOneOf(newest.note, vkeys)) throw foreignWitness(newest.where);
    return { witnesses: [own.key], witnessed: newest ? [newest] : [] };
  }
  return {
    witnesses: (witness ?? []).map(parseVerifierKey),
    witnessed: await Promise.all(
      (witnessed ?? []).map(async (where) => ({ where, note: await readNote(where) })),
    ),
  };
}

/** True if a note has a signature under the name of one of these keys: `verifyArchive` checks the signature itself. */
function claimsOneOf(note: string, vkeys: readonly VerifierKey[]): boolean {
  try {
    const { signatures } = parseNote(note);
    return signatures.some(({ keyId }) => vkeys.some((vkey) => vkey.keyId.equals(keyId)));
  } catch {
    // Malformed: a finding, and no other archive's.
    return true;
  }
}

function foreignWitness(where: string): RepriseError {
  const message =
    `The witness's ${where} is signed with a key that is none of this archive's: it belongs to another archive. ` +
    "Set REPRISE_WITNESS_DIR to the folder of this archive's witness. If it is the right one, this archive was replaced, " +
    "or signed with another key since: name all its keys with --vkey, and what the witness remembers with --witnessed.";
  return new RepriseError("config_invalid", message, { param: "REPRISE_WITNESS_DIR" });
}

/** @throws RepriseError `invalid_request` */
function parseSince(text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,15}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new RepriseError("invalid_request", "--since must be the number of a commit.");
}

function toLines(report: VerifyReport): string[] {
  const { verdict, commits, files, segments, events, copies, destroyed, findings } = report;
  const copied = copies > 0 ? `, ${copies} copies of blobs` : "";
  const erased = destroyed > 0 ? `, ${destroyed} segments whose keys are destroyed` : "";
  return [
    ...toFindingLines(findings),
    `${verdict}: ${commits} commits, ${files} files, ${segments} segments, ${events} events${copied}${erased}`,
  ];
}

const SHOWN_OF_A_SORT = 5;

/** After a restore there may be thousands: findings that differ in numbers and names alone are of one sort. */
function toFindingLines(findings: VerifyReport["findings"]): string[] {
  const sortOf = ({ kind, message }: (typeof findings)[number]) =>
    `${kind} ${message.replaceAll(/[0-9a-f]{16,}|[\w./-]*\d[\w./-]*/g, "#")}`;
  return [...Map.groupBy(findings, sortOf).values()].flatMap((sort) => {
    const [{ kind } = { kind: "" }] = sort;
    const lines = sort
      .slice(0, SHOWN_OF_A_SORT)
      .map(({ where, message }) => `${kind.padEnd(8)} ${where}: ${message}`);
    const more = sort.length - lines.length;
    return more > 0 ? [...lines, `${kind.padEnd(8)} and ${more} more of this sort (--json has all)`] : lines;
  });
}

async function readNote(where: string): Promise<string> {
  if (!/^https?:/.test(where)) return readFile(where, "utf8");
  const response = await fetch(where, { signal: AbortSignal.timeout(10_000) });
  if (!response.ok)
    throw new RepriseError("archive_unavailable", `${where} answers with ${response.status}.`);
  return response.text();
}
