import { GenerationCache } from "@reprise/stream";
import {
  asSeq,
  asStreamSeq,
  DEFAULT_POLICY,
  decodeEvent,
  type EffectivePolicy,
  encodeEvent,
  type EventDraft,
  RepriseError,
  toUnixMs,
} from "@reprise/protocol";
import type { Frame, Projection } from "@reprise/projections";
import { createRef, requested } from "@reprise/testkit";
import { nativeSseFraming, unwrapChunks } from "../readers/streams/native-sse-framing.ts";
import { encodeFrame } from "./encode-frame.ts";
import { echo } from "./test-projection.fixture.ts";

const REF = createRef();

/** A cache that a test fills by hand, and the log that it is read from where it has let go of events. */
export function openCache(policy: EffectivePolicy = DEFAULT_POLICY) {
  const log = [encodeEvent(asSeq(0), requested(REF, {}, policy))];
  const cache = new GenerationCache(REF, nativeSseFraming, { events: [...log], streamSeq: asStreamSeq(1) });
  const reads: number[] = [];
  const hub = {
    isAway: false,
    async readHistory(of: GenerationCache, fromSeq: number) {
      if (hub.isAway) throw new RepriseError("broker_unavailable", "away");
      reads.push(fromSeq);
      return of.shown.show(log.slice(fromSeq, fromSeq + 7));
    },
  };
  const feed = (...drafts: EventDraft[]) => {
    for (const draft of drafts) {
      const payload = encodeEvent(asSeq(log.length), draft);
      log.push(payload);
      cache.events.acceptLive(payload, () => asStreamSeq(0));
    }
    cache.notify(rethrow);
  };
  return { cache, hub, reads, feed };
}

/** The frames that one pass over what a cache shows makes, as they are sent. */
export function expectedFrames(
  cache: GenerationCache,
  ids = true,
  projection: Projection<unknown> = echo,
): string[] {
  const frames: Frame[] = [];
  let state = projection.begin({
    generation: cache.ref.generation,
    model: "sim",
    createdAtMs: toUnixMs(cache.requested?.created_at ?? missing(0)),
  });
  for (let seq = asSeq(1); seq <= cache.settledSeq; seq++) {
    const made = projection.project(state, decodeEvent(cache.shown.payloadAt(seq) ?? missing(seq)));
    state = made.state;
    frames.push(...made.frames);
  }
  return frames.map((frame, id) => encodeFrame(frame, ids ? id : undefined));
}

/** The frames in a run of chunks. */
export function framesIn(chunks: Buffer): string[] {
  return [...unwrapChunks(chunks)].map(String);
}

function missing(seq: number): never {
  throw new Error(`event ${seq} is not in memory`);
}

function rethrow(error: unknown): never {
  throw error;
}
