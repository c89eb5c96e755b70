import { createCheckpointer } from "@reprise/log";
import {
  asSeq,
  asStreamSeq,
  createGenerationId,
  encodeEvent,
  parseTenantId,
  STREAM_START,
} from "@reprise/protocol";

/** What is asked of a platform. */
export interface Demand {
  /** Generations that run at the same time. */
  readonly generations: number;
  /** Readers of each of them, on average. */
  readonly readers: number;
  /** Of each generation. */
  readonly tokensPerSecond: number;
  /** Of each generation, on average. */
  readonly tokens: number;
  /** For how long the live log is kept. */
  readonly retentionHours: number;
  /** The share of the generations that is moderated. */
  readonly moderated: number;
  /** For how long the archive and the rows of analytics are kept. */
  readonly archiveDays: number;
  /** Of uploads for each generation, on average. */
  readonly blobMegabytes: number;
  /** For how long a blob is kept behind its last use. */
  readonly blobHours: number;
}

/** What a demand amounts to, in every second. */
export interface Load {
  readonly tokens: number;
  /** At most one event for each token, and three around them: requested, started, completed. */
  readonly events: number;
  readonly deliveries: number;
  /** Generations that are created, and as many that end. */
  readonly creates: number;
  readonly openGenerations: number;
  readonly checkpoints: number;
  readonly checkpointBytes: number;
  /** Stored verdicts; as many again are published live. */
  readonly verdicts: number;
  /** Generations whose log, checkpoint and verdict the broker keeps. */
  readonly keptGenerations: number;
}

const LIFECYCLE_EVENTS = 3;
/** How often moderation stores a verdict: see services/moderation. */
const VERDICT_EVENTS = 64;
const VERDICTS_PER_SECOND = 4;
/** Of the mean token in prose; the bytes of an event are those of its JSON. */
const TOKEN = " capacity";
const MAX_CHECKPOINT_BYTES = 4 * 1_024 * 1_024;

export function toLoad(demand: Demand): Load {
  const { generations, readers, tokensPerSecond, tokens, retentionHours, moderated } = demand;
  const seconds = tokens / tokensPerSecond;
  const creates = generations / seconds;
  const events = generations * tokensPerSecond + LIFECYCLE_EVENTS * creates;
  const written = checkpointsOf(tokens, tokensPerSecond);
  const verdictsPerSecond = Math.max(
    tokensPerSecond / VERDICT_EVENTS,
    Math.min(tokensPerSecond, VERDICTS_PER_SECOND),
  );
  return {
    tokens: generations * tokensPerSecond,
    events,
    deliveries: events * readers,
    creates,
    openGenerations: generations,
    checkpoints: creates * written.count,
    checkpointBytes: creates * written.bytes,
    verdicts: moderated * (generations * verdictsPerSecond + creates),
    keptGenerations: creates * retentionHours * 3_600,
  };
}

/** How many checkpoints a generation gets, and their bytes: by the code that writes them, on a clock of its own. */
function checkpointsOf(tokens: number, tokensPerSecond: number): { count: number; bytes: number } {
  const written = { count: 0, bytes: 0 };
  const checkpointer = createCheckpointer({
    publish: (_subject, payload) => {
      written.count++;
      written.bytes += payload.length;
      return Promise.resolve({ kind: "stored", streamSeq: STREAM_START, duplicate: false });
    },
    ref: { tenant: parseTenantId("demo"), generation: createGenerationId(new Uint8Array(17), 1) },
    snapshot: { events: [], streamSeq: STREAM_START },
    maxBytes: MAX_CHECKPOINT_BYTES,
    now: 0,
  });
  for (let seq = 0; seq < tokens; seq++) {
    const event = encodeEvent(asSeq(seq), { type: "output.delta", text: TOKEN });
    checkpointer.add(event, asStreamSeq(seq + 1), (seq / tokensPerSecond) * 1e3);
  }
  void checkpointer.flush();
  return written;
}
