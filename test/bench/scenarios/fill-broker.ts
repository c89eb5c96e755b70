import { randomBytes } from "node:crypto";
import { type Broker } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import {
  asSeq,
  createGenerationId,
  DEFAULT_POLICY,
  encodeEvent,
  type GenerationRef,
  logSubject,
  parseTenantId,
  type Seq,
} from "@reprise/protocol";
import { proseToken } from "../measure/prose.ts";
import { SHARDS } from "../targets/reprise/broker.ts";

/** The mean of real ones. */
const EVENTS_PER_GENERATION = 211;
const LAST_SEQ = EVENTS_PER_GENERATION - 1;
const AT_ONCE = 2_000;
const SIDE_BY_SIDE = 100;

/** Fills a broker: generations that have ended, a hundred at a time side by side. */
export interface FilledBroker {
  readonly refs: readonly GenerationRef[];
  readonly events: number;
}

/** @param options.events approximate: generations are whole */
export async function fillBroker(
  broker: Broker,
  options: { readonly events: number; readonly tenants: number },
  signal: AbortSignal,
): Promise<FilledBroker> {
  const log = createGenerationLog(broker);
  const count = Math.floor(options.events / EVENTS_PER_GENERATION);
  const refs = Array.from({ length: count }, (_, i): GenerationRef => ({
    tenant: parseTenantId(`tenant-${i % options.tenants}`),
    generation: createGenerationId(randomBytes(17), SHARDS),
  }));
  let pending: Promise<void>[] = [];
  const publish = async (ref: GenerationRef, stream: number, seq: Seq) => {
    const outcome = await log.publish(logSubject(ref), toPayload(ref, stream, seq), { timeoutMs: 30_000 });
    if (outcome.kind !== "stored") throw new Error(`An event was not stored: ${outcome.kind}.`);
  };
  for (let first = 0; first < refs.length; first += SIDE_BY_SIDE) {
    const group = refs.slice(first, first + SIDE_BY_SIDE);
    for (let seq = 0; seq < EVENTS_PER_GENERATION; seq++) {
      for (const [i, ref] of group.entries()) pending.push(publish(ref, first + i, asSeq(seq)));
      if (pending.length < AT_ONCE) continue;
      signal.throwIfAborted();
      await Promise.all(pending);
      pending = [];
    }
  }
  await Promise.all(pending);
  return { refs, events: count * EVENTS_PER_GENERATION };
}

function toPayload(ref: GenerationRef, stream: number, seq: Seq): Uint8Array {
  if (seq === LAST_SEQ)
    return encodeEvent(seq, {
      type: "generation.completed",
      finish_reason: "stop",
      usage: { input_tokens: 10, output_tokens: LAST_SEQ - 1 },
    });
  if (seq > 0) return encodeEvent(seq, { type: "output.delta", text: proseToken(stream, seq) });
  return encodeEvent(seq, {
    type: "generation.requested",
    ...ref,
    created_at: new Date(0).toISOString(),
    request: { model: "sim", input: "hello", metadata: { team: `${stream % 7}` } },
    policy: DEFAULT_POLICY,
  });
}
