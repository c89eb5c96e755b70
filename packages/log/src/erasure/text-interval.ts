import { CHECKPOINTS_STREAM, checkpointSubject, type GenerationRef } from "@reprise/protocol";
import type { Broker } from "../nats/connection.ts";
import type { GenerationLog } from "../read/generation-log.ts";
import { HEADER } from "../nats/header.ts";
import { requestStreamApi, type StoredMessage } from "../nats/stream-api.ts";
import { toMicroseconds } from "../nats/stream-messages.ts";

/*
 * Where in `CHECKPOINTS` the text of an erased generation has lain. The broker knows of its last checkpoint only, but every earlier one
 * was stored between its first event and that one. The marker that takes its place says so: a process that goes on with an erasure that was
 * interrupted has nothing else to go by.
 */
export interface TextInterval {
  /** When the first event was stored, and the last checkpoint: microseconds since 1970, by the broker's clock. */
  readonly sinceUs: number;
  readonly untilUs: number;
  /** Where the last checkpoint lay. */
  readonly lastStreamSeq: number;
}

/** The interval of a marker where there was no text. */
const NO_TEXT = "1";
const STRETCH = /^(\d+) (\d+) (\d+)$/;

/**
 * @param first the log's first event, where it has one
 * @param last what the marker takes the place of
 */
export function encodeTextInterval(
  first: StoredMessage | undefined,
  last: StoredMessage | undefined,
): string {
  if (!last?.data) return NO_TEXT;
  return `${first ? toMicroseconds(first.time) : 0} ${toMicroseconds(last.time)} ${last.seq}`;
}

/**
 * The erased generations whose markers name an interval that no `clearTextIntervals` has cleared.
 * @throws RepriseError `broker_unavailable`
 */
export async function readTextIntervals(
  broker: Broker,
  refs: readonly GenerationRef[],
): Promise<TextInterval[]> {
  const found = await Promise.all(refs.map((ref) => readMarker(broker, ref)));
  return mergeIntervals(found.flatMap((marker) => marker?.stretch ?? []));
}

/** To be called once nothing of these generations is left in the intervals' files: it removes the intervals from the markers. */
export async function clearTextIntervals(
  { broker, log }: { readonly broker: Broker; readonly log: GenerationLog },
  refs: readonly GenerationRef[],
): Promise<void> {
  for (const ref of refs) {
    const marker = await readMarker(broker, ref);
    if (!marker) continue;
    // What was written here meanwhile is found, and taken away, by purging again; one that is not stored is cleared again.
    await log.publishCheckpoint(checkpointSubject(ref), new Uint8Array(), {
      expectedLast: marker.streamSeq,
      extra: { [HEADER.erased]: NO_TEXT },
    });
  }
}

async function readMarker(
  { main }: Broker,
  ref: GenerationRef,
): Promise<{ stretch: TextInterval; streamSeq: number } | undefined> {
  const request = { last_by_subj: checkpointSubject(ref) };
  const { message } = await requestStreamApi<{ message?: StoredMessage }>(
    main,
    CHECKPOINTS_STREAM,
    "MSG.GET",
    request,
  );
  const [, ...numbers] = STRETCH.exec(headerOf(message, HEADER.erased)) ?? [];
  const [sinceUs, untilUs, lastStreamSeq] = numbers.map(Number);
  if (!message || lastStreamSeq === undefined) return undefined;
  return { stretch: { sinceUs: sinceUs!, untilUs: untilUs!, lastStreamSeq }, streamSeq: message.seq };
}

/** Those that overlap as one: what lies in both is gone through once. */
export function mergeIntervals(stretches: readonly TextInterval[]): TextInterval[] {
  const joined: TextInterval[] = [];
  for (const next of stretches.toSorted((a, b) => a.sinceUs - b.sinceUs)) {
    const before = joined.at(-1);
    if (!before || next.sinceUs > before.untilUs) joined.push(next);
    else if (next.untilUs > before.untilUs) joined[joined.length - 1] = { ...next, sinceUs: before.sinceUs };
  }
  return joined;
}

function headerOf(message: StoredMessage | undefined, name: string): string {
  const lines = Buffer.from(message?.hdrs ?? "", "base64")
    .toString()
    .split("\r\n");
  const line = lines.find((one) => one.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim() ?? "";
}
