import { createSeededRandom, type SeededRandom } from "@reprise/testkit";
import { DEFAULT_POLICY, encodeEvent, type EventDraft, asSeq, asStreamSeq } from "@reprise/protocol";
import type { ArchivedMessage } from "../segment/segment-header.ts";

/** A generation's log as JetStream holds it, or a part of it. */
export interface LogOptions {
  readonly generation: string;
  /** Number of events in the whole log: at least 3. */
  readonly events: number;
  readonly seed?: number;
  /** Cut into tokens and streamed, over and over. */
  readonly prose?: string;
  /** Where its first event lies, and how far apart two are at most: other generations lie between. Default 1, and 1. */
  readonly firstStreamSeq?: number;
  readonly streamStride?: number;
  /** When it began, microseconds since 1970. */
  readonly startedAtUs?: number;
}

const TOKEN = / ?\p{L}{1,6}|\s*[^\p{L}\s]{1,3}|\s+/gu;
const PROSE = "It was late in the year, and the river carried the first ice – naïve, 日本語 and 🙂 too. ";
const STARTED_AT_US = 1_795_000_000_000_000;
/** 50 tokens a second, and how early or late a token may be. */
const INTERVAL_US = 20_000;
const JITTER_US = 1_500;

/**
 * Creates the log of a generation of 50 tokens a second: the request, one event per token, the end. The same options give the
 * same log.
 */
export function createLog(options: LogOptions): ArchivedMessage[] {
  const { events, seed = 1, firstStreamSeq = 1, streamStride = 1, startedAtUs = STARTED_AT_US } = options;
  const random = createSeededRandom(seed);
  let streamSeq = firstStreamSeq;
  return Array.from(draftsOf(options, random), (draft, seq) => {
    if (seq > 0) streamSeq += random.integer(1, streamStride);
    const storedAtUs = startedAtUs + seq * INTERVAL_US + random.integer(0, JITTER_US);
    return { streamSeq: asStreamSeq(streamSeq), storedAtUs, payload: encodeEvent(asSeq(seq), draft) };
  }).slice(0, events);
}

function* draftsOf(
  { generation, events, prose = PROSE }: LogOptions,
  random: SeededRandom,
): Iterable<EventDraft> {
  const tokens = prose.match(TOKEN) ?? [];
  const from = random.integer(0, tokens.length - 1);
  yield {
    type: "generation.requested",
    tenant: "acme",
    generation,
    created_at: "2026-11-21T02:00:00.000Z",
    request: { model: "sim", input: prose.slice(0, 200), metadata: { team: "search" } },
    policy: DEFAULT_POLICY,
  };
  yield { type: "generation.started", attempt: 1, worker: `worker-${random.integer(0, 9)}`, model: "sim" };
  for (let at = 0; at < events - 3; at++)
    yield { type: "output.delta", text: tokens[(from + at) % tokens.length]! };
  const usage = { input_tokens: 40, output_tokens: events - 3 };
  yield { type: "generation.completed", finish_reason: "stop", usage };
}
