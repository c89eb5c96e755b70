import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createFileStore } from "@reprise/archive";
import { readStreamInfo } from "@reprise/log";
import { CHECKPOINTS_STREAM, JOBS_STREAM, OPS_STREAM, VERDICTS_STREAM } from "@reprise/protocol";
import { untilArchived } from "../audit/until-archived.ts";
import { createGenerations } from "./generations.ts";
import { countEvents, type PhaseWorld } from "./phases.ts";

export interface StoredBytes {
  /** Of all files of a stream of the broker, indexes too. */
  readonly streamBytes: Readonly<Record<string, number>>;
  readonly archiveBytes: number;
  /** Commits as they are before they are merged. */
  readonly analyticsBytes: number;
  readonly analyticsFiles: number;
}

/** What whole generations leave behind. */
export interface DiskUse extends StoredBytes {
  readonly generations: number;
  readonly tokensPerGeneration: number;
  readonly tokensPerSecond: number;
  readonly events: number;
  /** Messages that were stored in the streams that there is one of each; of CHECKPOINTS and VERDICTS the last of each generation is kept. */
  readonly messages: Readonly<Record<string, number>>;
}

const SINGLE_STREAMS = [CHECKPOINTS_STREAM, VERDICTS_STREAM, OPS_STREAM, JOBS_STREAM];
const POLL_MS = 200;
/** Longer than analytics gathers a commit. */
const SETTLED_MS = 3_000;

/** Runs generations with one reader each from create to end, and weighs what is on disk then. The first use of a platform. */
export async function measureDisk(
  { platform, broker, load, signal }: PhaseWorld,
  shape: { readonly generations: number; readonly tokens: number; readonly tokensPerSecond: number },
): Promise<DiskUse> {
  const { generations, tokens, tokensPerSecond } = shape;
  const ids = await createGenerations(platform, generations, { tokens, tokens_per_second: tokensPerSecond });
  const headers = { authorization: `Bearer ${platform.apiKey}` };
  const port = Number(new URL(platform.url).port);
  const specs = ids.map((id) => {
    const path = `/v1/generations/${id}/events`;
    return { transport: "sse", port, path, headers, countedAs: 0 } as const;
  });
  await load.connect({ specs, copies: 1 });
  await untilEnded(platform, ids, signal);
  await load.disconnect();
  const stored = await weighStored(platform, broker, signal);
  const messages = SINGLE_STREAMS.map(async (stream): Promise<[string, number]> => {
    const { lastStreamSeq } = await readStreamInfo(broker.reads, stream);
    return [stream, lastStreamSeq];
  });
  return {
    generations,
    tokensPerGeneration: tokens,
    tokensPerSecond,
    events: await countEvents(broker),
    messages: Object.fromEntries(await Promise.all(messages)),
    ...stored,
  };
}

/** What is on disk once consumers have caught up. */
export async function weighStored(
  platform: PhaseWorld["platform"],
  broker: PhaseWorld["broker"],
  signal: AbortSignal,
): Promise<StoredBytes> {
  const audit = join(platform.auditDir, "audit");
  await untilArchived({ broker, store: createFileStore(audit), name: "reprise" }, signal);
  await delay(SETTLED_MS, undefined, { signal });
  const analytics = await weigh(join(platform.analyticsDir, "analytics"));
  return {
    streamBytes: await weighStreams(platform.broker.storeDir),
    archiveBytes: (await weigh(audit)).bytes,
    analyticsBytes: analytics.bytes,
    analyticsFiles: analytics.files,
  };
}

async function untilEnded(
  { url, apiKey }: { url: string; apiKey: string },
  ids: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const id of ids) {
    for (;;) {
      const headers = { authorization: `Bearer ${apiKey}` };
      const answer = await fetch(`${url}/v1/generations/${id}`, { headers, signal });
      const { status } = (await answer.json()) as { status: string };
      if (status === "completed") break;
      if (status === "failed" || status === "cancelled") throw new Error(`${id} has ${status}.`);
      await delay(POLL_MS, undefined, { signal });
    }
  }
}

/** Shards of the log are one figure. */
async function weighStreams(storeDir: string): Promise<Record<string, number>> {
  const bytes: Record<string, number> = {};
  for await (const { path, size } of filesIn(storeDir)) {
    const stream = /\/streams\/([^/]+)\//.exec(path)?.[1];
    if (stream === undefined) continue;
    const name = stream.replace(/_\d+$/, "");
    bytes[name] = (bytes[name] ?? 0) + size;
  }
  return bytes;
}

async function weigh(dir: string): Promise<{ bytes: number; files: number }> {
  let [bytes, files] = [0, 0];
  for await (const { size } of filesIn(dir)) {
    bytes += size;
    files++;
  }
  return { bytes, files };
}

/** A file that goes while its folder is read counts for nothing. */
async function* filesIn(dir: string): AsyncGenerator<{ path: string; size: number }> {
  for await (const entry of await opendir(dir)) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) yield* filesIn(path);
    else {
      const found = await stat(path).catch(() => undefined);
      if (found) yield { path, size: found.size };
    }
  }
}
