import { type Broker } from "@reprise/broker";
import { type LogSnapshot, type StoredEvent } from "@reprise/stream";
import { PRESENCE_LEASE_MS, subscribePresence } from "@reprise/jobs";
import {
  decodeEvent,
  type EffectivePolicy,
  type GenerationRef,
  isDelta,
  isKnownEvent,
  tokensOf,
} from "@reprise/protocol";
import { Lead } from "../domain/lead.ts";

export interface PaceOptions {
  readonly connection: Broker["main"];
  readonly ref: GenerationRef;
  readonly policy: EffectivePolicy;
  /** The log so far. */
  readonly snapshot: LogSnapshot;
  readonly onError: (error: unknown) => void;
}

/** Slows a generation to its furthest reader. */
export interface Pace extends Disposable {
  /** Tells of what the engine has said. */
  said(tokens: number): void;
  /** To be called for each stored event, of any writer, once and in the order of the log. */
  readonly stored: (event: StoredEvent) => void;
  /** Undefined while the engine may continue; else resolves when it may, or the signal is aborted. */
  hold(signal: AbortSignal): Promise<void> | undefined;
}

/** Interval at which the lead is computed without an event, so that a silent node is noticed. */
const LOOK_MS = 500;

/** @returns undefined for a generation whose policy does not ask for it: that one costs nothing */
export function createPace({ connection, ref, policy, snapshot, onError }: PaceOptions): Pace | undefined {
  if (!policy.pace) return undefined;
  const { max_lead_tokens: most } = policy.pace;
  const lead = new Lead(PRESENCE_LEASE_MS);
  const stored = (payload: Uint8Array) => {
    const event = decodeEvent(payload);
    const tokens = isKnownEvent(event) && isDelta(event) ? tokensOf(event) : 0;
    lead.stored(event.seq, tokens);
    return tokens;
  };
  for (const payload of snapshot.events) lead.said(stored(payload));
  let wake = () => {};
  const feed = subscribePresence(connection, ref, {
    onReaders(node, record) {
      lead.heard(node, record, performance.now());
      wake();
    },
    onError,
  });

  const mustWait = () => lead.at(performance.now()) > most;
  async function untilCloser(signal: AbortSignal): Promise<void> {
    const onAbort = () => wake();
    signal.addEventListener("abort", onAbort);
    const look = setInterval(() => wake(), LOOK_MS);
    while (mustWait() && !signal.aborted) await new Promise<void>((resolve) => (wake = resolve));
    clearInterval(look);
    signal.removeEventListener("abort", onAbort);
  }

  return {
    said: (tokens) => lead.said(tokens),
    stored: (event) => void stored(event.payload),
    hold: (signal) => (mustWait() ? untilCloser(signal) : undefined),
    [Symbol.dispose]: () => feed.unsubscribe(),
  };
}
