import { readFile } from "node:fs/promises";
import {
  type ArchivedMessage,
  type CheckedProof,
  checkSegmentProof,
  parseVerifierKey,
} from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { collect, type CommandIo } from "@reprise/runtime";
import { Command } from "commander";
import { EXIT, type MakeCommand, writeLine } from "../command.ts";

type Valid = Extract<CheckedProof, { kind: "valid" }>;

/** Checks a proof. Needs neither archive nor network. */
export const checkProof: MakeCommand = (io) =>
  new Command("check-proof")
    .description("tells if a proof holds: 0 it does, 2 it does not, 4 a witness is missing")
    .argument("<file>", "what prove has written")
    .requiredOption(
      "--vkey <key>",
      "of the archive, from a source that you trust; once for each key it has had",
      collect,
    )
    .option("--witness <key>", "of a witness that must have cosigned", collect)
    .option("--json", "for programs")
    .action(async (file: string, values: Values) => {
      io.exitCode = await run(file, values, io);
    });

interface Values {
  readonly vkey: readonly string[];
  readonly witness?: readonly string[];
  readonly json?: true;
}

async function run(file: string, values: Values, { out }: CommandIo): Promise<number> {
  const checked = checkSegmentProof(await readProof(file), {
    vkeys: values.vkey.map(parseVerifierKey),
    witnesses: (values.witness ?? []).map(parseVerifierKey),
  });
  for (const line of values.json ? [toJson(checked)] : toLines(checked)) await writeLine(out, line);
  switch (checked.kind) {
    case "valid":
      return EXIT.fine;
    case "wrong":
      return EXIT.tampered;
    case "unwitnessed":
      return EXIT.unknown;
  }
}

/** Undefined, which is no proof, for what is not JSON. @throws RepriseError `invalid_request` */
async function readProof(file: string): Promise<unknown> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new RepriseError("invalid_request", `${file} can't be read.`, { cause });
  });
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toLines(checked: CheckedProof): string[] {
  switch (checked.kind) {
    case "wrong":
      return [`wrong: ${checked.because}`];
    case "unwitnessed":
      return [`can't tell: ${checked.witness} has not cosigned the checkpoint`];
    case "valid":
      return linesOf(checked);
  }
}

function linesOf({ header, treeSize, cosigned, event }: Valid): string[] {
  const { generation, tenant, first_seq, last_seq, first_at, last_at } = header;
  const [from, to] = [first_at, last_at].map((us) => toTime(us / 1_000_000));
  return [
    `valid: events ${first_seq} to ${last_seq} of ${generation}, tenant ${tenant}, stored from ${from} to ${to}`,
    `signed as part of ${treeSize} leaves`,
    ...cosigned.map(({ witness, atSeconds }) => `cosigned by ${witness} at ${toTime(atSeconds)}`),
    ...(event
      ? [`stored at ${timeOf(event)}:`, toOneLine(textOf(event))]
      : ["the proof does not show the event"]),
  ];
}

function toJson(checked: CheckedProof): string {
  if (checked.kind !== "valid") return JSON.stringify(checked);
  const { event, ...rest } = checked;
  return JSON.stringify({ ...rest, ...(event && { event: textOf(event), stored_at: timeOf(event) }) });
}

function textOf({ payload }: ArchivedMessage): string {
  return Buffer.from(payload).toString();
}

/** An event is JSON, whose line ends are escaped. Other stored bytes must not forge lines of this command's output. */
function toOneLine(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, " ");
}

function timeOf({ storedAtUs }: ArchivedMessage): string {
  return toTime(storedAtUs / 1_000_000);
}

function toTime(atSeconds: number): string {
  return new Date(atSeconds * 1_000).toISOString();
}
