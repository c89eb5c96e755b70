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
/** What a reader is told whose last events are lost. */
const LOST = new Set(["events_lost", "cursor_invalid"]);
const run = promisify(execFile);

/**
 * Has all readers go on from their cursors until their generations have ended. One whose event is in the restored log must not notice anything; one whose event
 * is lost must be told so, and reads again from the start.
 */
export async function judgeReaders(readers: readonly DrillReader[], url: string, restored: Logs) {
  const problems: string[] = [];
  let [resumed, told] = [0, 0];
  const judge = async (reader: DrillReader): Promise<void> => {
    const { id, seq } = reader;
    const isThere = restored.get(id)?.[seq] === reader.seen.get(seq);
    reader.wake(url);
    const outcome = await reader.outcome;
    if (outcome === "ended" && isThere) resumed++;
    else if (!isThere && LOST.has(outcome)) {
      told++;
      reader.forget();
      reader.wake(url);
      const again = await reader.outcome;
      if (again !== "ended") problems.push(`${id} was read again from its start, and ended as ${again}`);
    } else
      problems.push(
        `a reader of ${id} at ${seq}, which is ${isThere ? "there" : "lost"}, ended as ${outcome}`,
      );
  };
  await Promise.all(readers.map(judge));
  for (const { disorder } of readers) problems.push(...disorder);
  return { problems, resumed, told };
}

/** Every event that readers were shown, on both platforms, against what is stored. */
export function judgeShown(readers: readonly DrillReader[], stored: Logs): string[] {
  return readers.flatMap(({ id, seen }) => {
    const log = stored.get(id) ?? [];
    const wrong = [...seen].filter(([seq, payload]) => log[seq] !== payload);
    const lines = wrong.map(
      ([seq, payload]) => `a reader of ${id} has at ${seq} ${payload}; stored is ${log[seq]}`,
    );
    if (seen.size !== log.length - 1)
      lines.push(`a reader of ${id} has ${seen.size} of ${log.length - 1} events`);
    return lines;
  });
}

/** What each generation means to its tenant after the restore. */
export async function judgeAnswers(
  client: DrillClient,
  expected: {
    readonly texts: ReadonlyMap<string, string>;
    readonly lost: readonly string[];
    readonly token: readonly [string, string];
  },
): Promise<string[]> {
  const problems: string[] = [];
  for (const [id, text] of expected.texts) {
    const now = await client.textOf(id);
    if (now !== text) problems.push(`${id} says ${JSON.stringify(now)}, and said ${JSON.stringify(text)}`);
    const again = await client.createAgain(id);
    if (again !== id) problems.push(`the Idempotency-Key of ${id} names ${again}`);
  }
  for (const id of expected.lost) {
    const { status } = await client.call(`/v1/generations/${id}`);
    if (status !== 404) problems.push(`${id} began behind the backup, and is answered ${status}`);
  }
  const [id, token] = expected.token;
  const { status } = await client.call(`/v1/generations/${id}`, token);
  if (status !== 200) problems.push(`a stream token from before the loss is answered ${status}`);
  return problems;
}

/** A blob is there under its id, and so is the tenant's key that ids are made with: the same content has the same id. */
export async function judgeBlob(
  client: DrillClient,
  [id, was]: readonly [string, Buffer<ArrayBuffer>],
): Promise<string[]> {
  const { status, content } = await client.download(id);
  if (status !== 200 || !content.equals(was))
    return [`the blob ${id} is not what it was: ${status}, ${content.length} bytes`];
  const again = await client.upload(was);
  return again === id ? [] : [`the content of ${id} has the id ${again} now`];
}

/** Every generation is in the tenant's usage once, whether it was measured before the loss, after it, or both. */
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

/** The archive in a data folder: whether it verifies, without a gap, and plays generations as the log has them. */
export async function judgeArchive(dataDir: string, tenant: string, logs: Logs): Promise<string[]> {
  const problems: string[] = [];
  const command = ["--enable-source-maps", await bundleProgram("services/audit-log/src/cli/main.ts")];
  const audit = async (...args: readonly string[]): Promise<string> => {
    const env = { ...process.env, REPRISE_DATA_DIR: dataDir };
    const child = await run(process.execPath, [...command, ...args], { env, maxBuffer: 64e6 }).catch(
      (error: unknown) => {
        problems.push(
          `reprise-audit ${args.join(" ")}: ${String(error)} ${String((error as { stdout?: unknown }).stdout)}`,
        );
        return { stdout: "" };
      },
    );
    return child.stdout;
  };
  await audit("verify");
  for (const [id, payloads] of [...logs].slice(0, MOST_REPLAYS)) {
    const said = await audit(
      "replay",
      "--tenant",
      tenant,
      "--generation",
      id,
      "--format",
      "sse",
      "--original",
    );
    const played = said
      .split("\n")
      .filter((line) => line.startsWith("data: "))
      .map((line) => line.slice("data: ".length));
    if (played.join("\n") !== payloads.join("\n"))
      problems.push(`the archive plays ${played.length} events of ${id}, and the log has ${payloads.length}`);
  }
  return problems;
}
