import { type StreamSeq, plus, STREAM_START } from "@reprise/protocol";
import type { ConsumerPosition, ShardConsumerState } from "./state.ts";

/*
 * The phases of a follower of a shard, and what each input does in them. "Passes on" is an effect, as is all else that is done.
 *
 *                live                          asking                       filling                      stopped
 *   delivered    next in order: passes it on   holds it                     holds it                     -
 *                passed on before: drops it
 *                with a gap before it: holds
 *                it and reads -> filling
 *   uncertain    asks -> asking                asks again after the answer  asks after the read          -
 *   answered     -                             takes the answer, settles    -                            -
 *   stored       -                             -                            passes it on                 -
 *   filled       -                             -                            the rest of the range is a   -
 *                                                                           gap; settles
 *   not_filled   -                             -                            settles                      -
 *   ack          acknowledges, no further than it has passed on: in every phase
 *   stop         -> stopped, from every phase
 *
 * "Settles" is what follows an answer or a read: asks -> asking, if something has become uncertain meanwhile; otherwise it passes on what it
 * holds, as far as that is next in order; if something is missing then, reads -> filling; otherwise -> live.
 */

/** An event that was handed out to the follower; it passes `Event` on. */
export interface Delivery<Event> extends ConsumerPosition {
  readonly event: Event;
}

interface Progress {
  /** All events up to here were passed on, or are dealt with. */
  readonly last: StreamSeq;
  /** All events up to here were acknowledged; `STREAM_START` for none. */
  readonly acknowledged: StreamSeq;
}

interface Settling<Event> extends Progress {
  /** Events that were handed out meanwhile. */
  readonly held: Held<Event> | undefined;
  /** True if the consumer has to be asked for its place. */
  readonly isUncertain: boolean;
}

/** The newest delivery that is held, and those before it: holding one more copies nothing. */
interface Held<Event> {
  readonly newest: Delivery<Event>;
  readonly before: Held<Event> | undefined;
}

export type FollowerState<Event> =
  /** Passes on what is handed out as it comes. */
  | (Progress & { readonly phase: "live" })
  /** Asks the consumer where it is. */
  | (Settling<Event> & { readonly phase: "asking" })
  /** Reads from the stream what was not handed out to this follower. */
  | (Settling<Event> & {
      readonly phase: "filling";
      readonly fillTo: StreamSeq;
      /** Up to here the consumer had handed out to this follower, when it was asked last. */
      readonly handedOut: StreamSeq;
    })
  | (Progress & { readonly phase: "stopped" });

type Filling<Event> = Extract<FollowerState<Event>, { phase: "filling" }>;

export type FollowerInput<Event> =
  | { readonly kind: "delivered"; readonly delivery: Delivery<Event> }
  /** Another follower may be fed, or events that were under way may be lost. */
  | { readonly kind: "uncertain" }
  /** Where the consumer is, and the pin of this follower. */
  | {
      readonly kind: "answered";
      readonly consumer: ShardConsumerState;
      readonly ownPinId: string | undefined;
    }
  | { readonly kind: "stored"; readonly streamSeq: StreamSeq; readonly event: Event }
  /** All that is left of the range was `stored`. */
  | { readonly kind: "filled" }
  /** The read has failed, or could not begin. */
  | { readonly kind: "not_filled" }
  | { readonly kind: "ack"; readonly streamSeq: StreamSeq }
  | { readonly kind: "stop" };

export type FollowerEffect<Event> =
  /** `delivered` where a delivery brought it, and not a read of the stream. */
  | { readonly kind: "pass"; readonly event: Event; readonly delivered?: ConsumerPosition }
  /** Nothing is there any more between these places. */
  | { readonly kind: "gap"; readonly first: StreamSeq; readonly last: StreamSeq }
  | { readonly kind: "ask" }
  | { readonly kind: "read"; readonly afterStreamSeq: StreamSeq; readonly upToStreamSeq: StreamSeq }
  | { readonly kind: "acknowledge"; readonly upTo: StreamSeq }
  /** The broker has not heard the last acknowledgement. */
  | { readonly kind: "repeat_ack" }
  /** The consumer restarts its count of deliveries. */
  | { readonly kind: "recount"; readonly from: ConsumerPosition }
  /** Hands an event back, for the broker to hand it out again at once. */
  | { readonly kind: "give_back"; readonly position: ConsumerPosition };

export interface FollowerStep<Event> {
  readonly state: FollowerState<Event>;
  readonly effects: readonly FollowerEffect<Event>[];
}

export const BEGINNING: FollowerState<never> = {
  phase: "live",
  last: STREAM_START,
  acknowledged: STREAM_START,
};

const NO_EFFECTS: readonly never[] = [];
const ASK = { kind: "ask" } as const;
const REPEAT_ACK = { kind: "repeat_ack" } as const;

export function next<Event>(state: FollowerState<Event>, input: FollowerInput<Event>): FollowerStep<Event> {
  if (input.kind === "ack") return acknowledge(state, input.streamSeq);
  const { last, acknowledged } = state;
  if (input.kind === "stop") return step({ phase: "stopped", last, acknowledged });
  switch (state.phase) {
    case "stopped":
      return step(state);
    case "live":
      if (input.kind === "delivered") return deliver(state, input.delivery);
      if (input.kind !== "uncertain") return step(state);
      return ask(state, undefined);
    case "asking":
      if (input.kind === "delivered") return step({ ...state, held: hold(state, input.delivery) });
      if (input.kind === "uncertain") return step({ ...state, isUncertain: true });
      return input.kind === "answered" ? learn(state, input.consumer, input.ownPinId) : step(state);
    case "filling":
      return fill(state, input);
  }
}

function step<Event>(
  state: FollowerState<Event>,
  effects: readonly FollowerEffect<Event>[] = NO_EFFECTS,
): FollowerStep<Event> {
  return { state, effects };
}

function acknowledge<Event>(state: FollowerState<Event>, streamSeq: StreamSeq): FollowerStep<Event> {
  const upTo = Math.min(streamSeq, state.last);
  if (upTo <= state.acknowledged) return step(state);
  return step({ ...state, acknowledged: upTo }, [{ kind: "acknowledge", upTo }]);
}

function deliver<Event>(
  state: Extract<FollowerState<Event>, { phase: "live" }>,
  delivery: Delivery<Event>,
): FollowerStep<Event> {
  const { last, acknowledged } = state;
  const { streamSeq, event } = delivery;
  if (streamSeq === last + 1)
    return step({ phase: "live", last: streamSeq, acknowledged }, [
      { kind: "pass", event, delivered: delivery },
    ]);
  // Handed out again: what was acknowledged was not heard.
  if (streamSeq <= last) return step(state, streamSeq <= acknowledged ? [REPEAT_ACK] : NO_EFFECTS);
  const held = { newest: delivery, before: undefined };
  return settle({ last, acknowledged, held, isUncertain: false }, last, []);
}

function hold<Event>({ held }: Settling<Event>, newest: Delivery<Event>): Held<Event> {
  return { newest, before: held };
}

function fill<Event>(state: Filling<Event>, input: FollowerInput<Event>): FollowerStep<Event> {
  const { last, fillTo, handedOut } = state;
  switch (input.kind) {
    case "delivered":
      return step({ ...state, held: hold(state, input.delivery) });
    case "uncertain":
      return step({ ...state, isUncertain: true });
    case "stored": {
      const { streamSeq, event } = input;
      if (streamSeq <= last) return step(state);
      return step({ ...state, last: streamSeq }, [
        ...gapBetween(last, plus(streamSeq, -1)),
        { kind: "pass", event },
      ]);
    }
    case "filled":
      return settle({ ...state, last: Math.max(last, fillTo) }, handedOut, gapBetween(last, fillTo));
    case "not_filled":
      return settle(state, handedOut, []);
    default:
      return step(state);
  }
}

function gapBetween(last: StreamSeq, upTo: StreamSeq): FollowerEffect<never>[] {
  return upTo > last ? [{ kind: "gap", first: plus(last, 1), last: upTo }] : [];
}

function ask<Event>(
  { last, acknowledged }: Progress,
  held: Held<Event> | undefined,
  effects: readonly FollowerEffect<Event>[] = NO_EFFECTS,
): FollowerStep<Event> {
  return step({ phase: "asking", last, acknowledged, held, isUncertain: false }, [...effects, ASK]);
}

function learn<Event>(
  state: Settling<Event>,
  { delivered, acknowledged, unacknowledged, pending, pinId }: ShardConsumerState,
  ownPinId: string | undefined,
): FollowerStep<Event> {
  const effects: FollowerEffect<Event>[] = [];
  // If the stream ends before what was seen here, it has lost events, and what comes is taken as new.
  const known = delivered.streamSeq + pending < state.last ? acknowledged.streamSeq : state.last;
  // What other followers have acknowledged is dealt with.
  const last = Math.max(known, acknowledged.streamSeq);
  // A consumer that has handed out less than was seen here was set back, and restarts its count of deliveries.
  const isSetBack = delivered.streamSeq < state.last || last !== state.last;
  if (isSetBack) effects.push({ kind: "recount", from: acknowledged });
  const ownAcknowledged = isSetBack ? Math.min(state.acknowledged, last) : state.acknowledged;
  // A follower has died with events that the consumer redelivers only after its ack wait. Handing back the first of them makes the
  // broker choose the follower that is fed next.
  if (pinId === undefined && unacknowledged > 0) {
    const { streamSeq, deliverySeq } = acknowledged;
    effects.push({
      kind: "give_back",
      position: { streamSeq: plus(streamSeq, 1), deliverySeq: deliverySeq + 1 },
    });
  } else if (ownAcknowledged > acknowledged.streamSeq) effects.push(REPEAT_ACK);
  const isFed = pinId !== undefined && pinId === ownPinId;
  return settle(
    { ...state, last, acknowledged: ownAcknowledged },
    isFed ? delivered.streamSeq : STREAM_START,
    effects,
  );
}

function settle<Event>(
  state: Settling<Event>,
  handedOut: StreamSeq,
  before: readonly FollowerEffect<Event>[],
): FollowerStep<Event> {
  const { acknowledged, isUncertain } = state;
  if (isUncertain) return ask(state, state.held, before);
  let { last } = state;
  let held: Held<Event> | undefined;
  let fillTo = handedOut;
  const effects = [...before];
  for (const delivery of oldestFirst(state.held)) {
    const { streamSeq, event } = delivery;
    if (held === undefined && streamSeq <= last + 1) {
      if (streamSeq > last) effects.push({ kind: "pass", event, delivered: delivery });
      else if (streamSeq <= acknowledged) effects.push(REPEAT_ACK);
      last = Math.max(last, streamSeq);
      continue;
    }
    if (held === undefined) fillTo = plus(streamSeq, -1);
    held = { newest: delivery, before: held };
  }
  if (fillTo <= last) return step({ phase: "live", last, acknowledged }, effects);
  effects.push({ kind: "read", afterStreamSeq: last, upToStreamSeq: fillTo });
  return step({ phase: "filling", last, acknowledged, held, isUncertain, fillTo, handedOut }, effects);
}

function oldestFirst<Event>(held: Held<Event> | undefined): Delivery<Event>[] {
  const deliveries: Delivery<Event>[] = [];
  for (let at = held; at; at = at.before) deliveries.push(at.newest);
  return deliveries.toReversed();
}
