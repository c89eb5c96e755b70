import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { bundleProgram } from "@reprise/testkit";
import type { DrillClient } from "./drill-client.ts";
import type { DrillReader } from "./drill-reader.ts";

/** The payloads of logs, `seq` 0 included, by generation. */
export type Logs = ReadonlyMap<string, readonly string[]>;

const POLL_MS = 200;
const PATIENCE_MS = 120_000;
/** Each is a process. */
const MOST_REPLAYS = 4;
/** Codes that a reader gets whose last events are lost. */
const LOST = new Set(["events_lost", "cursor_invalid"]);
const run = promisify(execFile);

/**
 * Resumes all readers from their cursors until their generations have ended. A reader whose event is in the restored log must
 * notice nothing; a reader whose event is lost must get a typed error, and reads again from the start.
 */
export async function judgeReaders(readers: readonly DrillReader[], url: string, restored: Logs) {
  const problems: string[] = [];
  let [resumed, told] = [0, 0];
  const judge = async (reader: DrillReader): Promise<void> => {
    const { id, seq } = reader;
    const isKept = restored.get(id)?.[seq] === reader.seen.get(seq);
    reader.wake(url);
    const outcome = await reader.outcome;
    if (outcome === "ended" && isKept) resumed++;
    else if (!isKept && LOST.has(outcome)) {
      told++;
      reader.forget();
      reader.wake(url);
      const again = await reader.outcome;
      if (again !== "ended") problems.push(`${id} was read again from its start, and ended as ${again}`);
    } else problems.push(`a reader of ${id} at ${isKept ? "kept" : "lost"} event ${seq} ended as ${outcome}`);
  };
  await Promise.all(readers.map(judge));
  for (const { disorder } of readers) problems.push(...disorder);
  return { problems, resumed, told };
}

/** Compares every event that readers were shown, on both platforms, with the logs. */
export function judgeShown(readers: readonly DrillReader[], stored: Logs): string[] {
  return readers.flatMap(({ id, seen }) => {
    const log = stored.get(id) ?? [];
    const lines = [...seen]
      .filter(([seq, payload]) => log[seq] !== payload)
      .map(([seq, payload]) => `a reader of ${id} has at ${seq} ${payload}; stored is ${log[seq]}`);
    if (seen.size !== log.length - 1)
      lines.push(`a reader of ${id} has ${seen.size} of ${log.length - 1} events`);
    return lines;
  });
}

interface Expected {
  readonly texts: ReadonlyMap<string, string>;
  /** Generations that began after the backup. */
  readonly lost: readonly string[];
  readonly token: readonly [generation: string, token: string];
  readonly blob: readonly [id: string, content: Buffer<ArrayBuffer>];
}

/** Checks texts, idempotency keys, lost generations, a stream token and a blob after the restore. */
export async function judgeAnswers(client: DrillClient, expected: Expected): Promise<string[]> {
  const problems: string[] = [];
  for (const [id, text] of expected.texts) {
    const now = await client.textOf(id);
    if (now !== text) problems.push(`${id} says ${JSON.stringify(now)}, and said ${JSON.stringify(text)}`);
    const again = await client.createAgain(id);
    if (again !== id) problems.push(`the Idempotency-Key of ${id} names ${again}`);
  }
  for (const id of expected.lost) {
    const { status } = await client.call(`/v1/generations/${id}`);
    if (status !== 404) problems.push(`${id} began after the backup, and is answered ${status}`);
  }
  const [id, token] = expected.token;
  const { status } = await client.call(`/v1/generations/${id}`, token);
  if (status !== 200) problems.push(`a stream token from before the loss is answered ${status}`);
  const [blob, was] = expected.blob;
  const got = await client.download(blob);
  if (got.status !== 200 || !got.content.equals(was))
    problems.push(`the blob ${blob} has changed: ${got.status}, ${got.content.length} bytes`);
  // Ids are made with the tenant's key: the same content has the same id.
  const again = await client.upload(was);
  if (again !== blob) problems.push(`the content of ${blob} has the id ${again} now`);
  return problems;
}

/** Checks that usage counts every generation once, whether it was measured before the loss, after it, or both. */
export async function judgeUsage(client: DrillClient, generations: number): Promise<string[]> {
  let said = "";
  for (const endMs = performance.now() + PATIENCE_MS; performance.now() < endMs; await delay(POLL_MS)) {
    const { status, body } = await client.call("/v1/usage?by=model");
    said = `${status} ${JSON.stringify(body)}`;
    const { data = [] } = body as { data?: { generations: number }[] };
    if (status === 200 && data.length === 1 && data[0]!.generations === generations) return [];
  }
  return [`usage has another number of generations than ${generations}: ${said}`];
}

/** Checks that the archive in a data folder verifies, without a gap, and replays generations as the log has them. */
export async function judgeArchive(dataDir: string, tenant: string, logs: Logs): Promise<string[]> {
  const problems: string[] = [];
  const command = ["--enable-source-maps", await bundleProgram("services/audit-log/src/cli/main.ts")];
  const env = { ...process.env, REPRISE_DATA_DIR: dataDir };
  const audit = (...args: readonly string[]): Promise<string> =>
    run(process.execPath, [...command, ...args], { env, maxBuffer: 64e6 }).then(
      ({ stdout }) => stdout,
      (error: Error & { stdout?: unknown }) => {
        problems.push(`reprise-audit ${args.join(" ")}: ${error.message} ${String(error.stdout)}`);
        return "";
      },
    );
  await audit("verify");
  for (const [id, payloads] of [...logs].slice(0, MOST_REPLAYS)) {
    const which = ["--tenant", tenant, "--generation", id, "--format", "sse", "--original"];
    const said = await audit("replay", ...which);
    const played = said
      .split("\n")
      .filter((line) => line.startsWith("data: "))
      .map((line) => line.slice("data: ".length));
    if (played.join("\n") !== payloads.join("\n"))
      problems.push(`the archive plays ${played.length} events of ${id}, and the log has ${payloads.length}`);
  }
  return problems;
}
