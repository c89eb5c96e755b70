import type { Writable } from "node:stream";
import { RepriseError, toRepriseError } from "@reprise/protocol";
import { collect, type CommandIo, runProgram } from "@reprise/runtime";
import { Command } from "commander";
import { parseCommandEnvironment } from "../config.ts";
import { createFactStore } from "../facts/fact-store.ts";
import { markStore, newStoreMarker, readMarker } from "../facts/identity/store-marker.ts";
import { rebuildRows } from "../rebuild/rebuild-rows.ts";
import { openAnalyticsStorage } from "../storage.ts";
import { type ArchiveValues, openArchived, withArchive } from "./open-archived.ts";

const EXIT = { done: 0, usage: 2, failed: 3 } as const;

interface Values extends ArchiveValues {
  readonly rows?: string;
  readonly replaces?: readonly string[];
}

const STORE_ID = /^[0-9a-f]{24}$/;

/** Runs `reprise-usage`. @returns its exit code */
export async function runCommand(args: readonly string[], io: Omit<CommandIo, "exitCode">): Promise<number> {
  const program = new Command("reprise-usage");
  withArchive(program.command("rebuild"))
    .description(
      "computes the rows of analytics from the archive, into an empty store: 0 done, 2 wrong use, 3 failed",
    )
    .option(
      "--replaces <id>",
      "the lost store, as analytics' log names it; may be given several times",
      collect,
    )
    .option(
      "--rows <folder>",
      "default: $REPRISE_ANALYTICS_S3_URL, $REPRISE_ANALYTICS_DIR, or analytics in the data folder",
    )
    .action((values: Values) => rebuild(values, io));
  try {
    await runProgram(program, args, io);
    return EXIT.done;
  } catch (error) {
    const { code, message } = toRepriseError(error);
    writeLine(io.err, error instanceof RepriseError ? message : ((error as Error).stack ?? message));
    return code === "invalid_request" || code === "config_invalid" ? EXIT.usage : EXIT.failed;
  }
}

async function rebuild(values: Values, { out, env }: Pick<CommandIo, "out" | "env">): Promise<void> {
  const replaces = values.replaces ?? [];
  const wrong = replaces.find((id) => !STORE_ID.test(id));
  if (wrong !== undefined)
    throw new RepriseError(
      "invalid_request",
      `--replaces ${wrong} is not the id of a store: 24 hex digits, as analytics' log names it.`,
    );
  const parsed = parseCommandEnvironment(env);
  await using stack = new AsyncDisposableStack();
  const { archive, archived } = await openArchived(values, parsed, stack);
  const { store } = openAnalyticsStorage({
    ...parsed,
    ...(values.rows !== undefined && {
      REPRISE_ANALYTICS_DIR: values.rows,
      REPRISE_ANALYTICS_S3_URL: undefined,
    }),
  });
  if (await readMarker(store))
    throw new RepriseError("config_invalid", "The store has rows of analytics already: name an empty one.");
  const { rows, open, left } = await rebuildRows({
    archived,
    lanes: archive.state.lanes,
    facts: createFactStore(store),
    keys: parsed.REPRISE_ANALYTICS_KEYS ?? [],
  });
  const marker = newStoreMarker(replaces);
  await markStore(store, marker);
  writeLine(out, `${rows} rows written, ${open} generations are still running`);
  if (left > 0) writeLine(out, `${left} generations have no row: parts of them are missing in the archive`);
  const place = replaces.length > 0 ? `, in place of ${replaces.join(", ")}` : "";
  writeLine(out, `The store is ${marker.id}${place}. Restart analytics.`);
}

function writeLine(stream: Writable, line: string): void {
  stream.write(`${line}\n`);
}
