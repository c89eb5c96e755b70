import { asStreamSeq } from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  BEGINNING,
  type FollowerEffect,
  type FollowerInput,
  type FollowerState,
  next,
} from "./follower-phases.ts";
import type { ShardConsumerState } from "./state.ts";

type State = FollowerState<string>;
type Input = FollowerInput<string>;
type Effect = FollowerEffect<string>;
type Row = readonly [what: string, state: State, input: Input, after: State, effects: Effect[]];

/** Deliveries are numbered 100 above their places. */
const at = (streamSeq: number) => ({ streamSeq: asStreamSeq(streamSeq), deliverySeq: streamSeq + 100 });
const delivery = (streamSeq: number) => ({ ...at(streamSeq), event: `event ${streamSeq}` });
const delivered = (streamSeq: number): Input => ({ kind: "delivered", delivery: delivery(streamSeq) });
const stored = (streamSeq: number): Input => ({
  kind: "stored",
  streamSeq: asStreamSeq(streamSeq),
  event: `event ${streamSeq}`,
});
const answered = (consumer: Partial<ShardConsumerState> = {}): Input => ({
  kind: "answered",
  ownPinId: "own",
  consumer: {
    delivered: at(10),
    acknowledged: at(7),
    unacknowledged: 3,
    pending: 0,
    pinId: "own",
    ...consumer,
  },
});
const UNCERTAIN: Input = { kind: "uncertain" };
const FILLED: Input = { kind: "filled" };
const NOT_FILLED: Input = { kind: "not_filled" };
const STOP: Input = { kind: "stop" };
const ack = (streamSeq: number): Input => ({ kind: "ack", streamSeq: asStreamSeq(streamSeq) });

/** Held events at these places, in the order in which they came. */
function held(...places: number[]): Extract<State, { phase: "asking" }>["held"] {
  const newest = places.at(-1);
  return newest === undefined
    ? undefined
    : { newest: delivery(newest), before: held(...places.slice(0, -1)) };
}

const progress = { last: asStreamSeq(10), acknowledged: asStreamSeq(7) };
const settling = { ...progress, held: undefined, isUncertain: false };
const live: State = { ...progress, phase: "live" };
const asking: State = { ...settling, phase: "asking" };
const filling: State = { ...settling, phase: "filling", fillTo: asStreamSeq(20), handedOut: asStreamSeq(20) };
const stopped: State = { ...progress, phase: "stopped" };

const passed = (streamSeq: number): Effect => ({
  kind: "pass",
  event: `event ${streamSeq}`,
  delivered: delivery(streamSeq),
});
const read = (afterStreamSeq: number, upToStreamSeq: number): Effect => ({
  kind: "read",
  afterStreamSeq: asStreamSeq(afterStreamSeq),
  upToStreamSeq: asStreamSeq(upToStreamSeq),
});
const gap = (first: number, last: number): Effect => ({
  kind: "gap",
  first: asStreamSeq(first),
  last: asStreamSeq(last),
});
const found = (streamSeq: number): Effect => ({ kind: "pass", event: `event ${streamSeq}` });
const ASK: Effect = { kind: "ask" };
const REPEAT_ACK: Effect = { kind: "repeat_ack" };

const ROWS: readonly Row[] = [
  ["live passes on what is next", live, delivered(11), { ...live, last: asStreamSeq(11) }, [passed(11)]],
  ["live drops what it has passed on", live, delivered(8), live, []],
  ["live repeats the acknowledgement of what comes again", live, delivered(7), live, [REPEAT_ACK]],
  [
    "live holds what comes after a gap, and reads the gap",
    live,
    delivered(13),
    { ...filling, held: held(13), fillTo: asStreamSeq(12), handedOut: asStreamSeq(10) },
    [read(10, 12)],
  ],
  ["live asks when it is uncertain", live, UNCERTAIN, asking, [ASK]],
  ["live expects no answer", live, answered(), live, []],
  ["live expects nothing to be read", live, stored(11), live, []],
  ["live expects no end of a read", live, FILLED, live, []],
  ["live expects no failure of a read", live, NOT_FILLED, live, []],
  [
    "live acknowledges",
    live,
    ack(9),
    { ...live, acknowledged: asStreamSeq(9) },
    [{ kind: "acknowledge", upTo: asStreamSeq(9) }],
  ],
  [
    "live acknowledges no further than it has passed on",
    live,
    ack(99),
    { ...live, acknowledged: asStreamSeq(10) },
    [{ kind: "acknowledge", upTo: asStreamSeq(10) }],
  ],
  ["live never takes an acknowledgement back", live, ack(6), live, []],
  ["live stops", live, STOP, stopped, []],

  ["asking holds what is next", asking, delivered(11), { ...asking, held: held(11) }, []],
  [
    "asking holds everything",
    { ...asking, held: held(11) },
    delivered(5),
    { ...asking, held: held(11, 5) },
    [],
  ],
  ["asking remembers to ask again", asking, UNCERTAIN, { ...asking, isUncertain: true }, []],
  ["asking becomes live when nothing is missing", asking, answered(), live, []],
  [
    "asking asks again when it has become uncertain",
    { ...asking, held: held(11), isUncertain: true },
    answered(),
    { ...asking, held: held(11) },
    [ASK],
  ],
  [
    "asking reads what the consumer has handed out to this follower",
    asking,
    answered({ delivered: at(20) }),
    filling,
    [read(10, 20)],
  ],
  [
    "asking leaves to another follower what the consumer has handed out to that one",
    asking,
    answered({ delivered: at(20), pinId: "other" }),
    live,
    [],
  ],
  [
    "asking passes on what it holds, and reads up to the first gap",
    { ...asking, held: held(11, 12, 15, 16) },
    answered({ delivered: at(20) }),
    { ...filling, last: asStreamSeq(12), held: held(15, 16), fillTo: asStreamSeq(14) },
    [passed(11), passed(12), read(12, 14)],
  ],
  [
    "asking drops what it holds and has passed on",
    { ...asking, held: held(7, 10) },
    answered(),
    live,
    [REPEAT_ACK],
  ],
  [
    "asking begins after what another follower has acknowledged, whose deliveries are counted again",
    asking,
    answered({ delivered: at(18), acknowledged: at(15), pinId: "other" }),
    { ...live, last: asStreamSeq(15) },
    [{ kind: "recount", from: at(15) }],
  ],
  [
    "asking goes back with a stream that has lost its end",
    asking,
    answered({ delivered: at(6), acknowledged: at(5), pending: 2, pinId: "other" }),
    { phase: "live", last: asStreamSeq(5), acknowledged: asStreamSeq(5) },
    [{ kind: "recount", from: at(5) }],
  ],
  [
    "asking repeats its acknowledgement to a consumer that was set back",
    asking,
    answered({ delivered: at(6), acknowledged: at(5), pending: 4 }),
    live,
    [{ kind: "recount", from: at(5) }, REPEAT_ACK],
  ],
  [
    "asking repeats an acknowledgement that was not heard",
    asking,
    answered({ acknowledged: at(6) }),
    live,
    [REPEAT_ACK],
  ],
  [
    "asking gives back the first event of a follower that has died",
    asking,
    answered({ pinId: undefined }),
    live,
    [{ kind: "give_back", position: at(8) }],
  ],
  [
    "asking gives nothing back when all is acknowledged and no follower is fed",
    asking,
    answered({ acknowledged: at(10), unacknowledged: 0, pinId: undefined }),
    live,
    [],
  ],
  ["asking expects nothing to be read", asking, stored(11), asking, []],
  ["asking expects no end of a read", asking, FILLED, asking, []],
  ["asking expects no failure of a read", asking, NOT_FILLED, asking, []],
  [
    "asking acknowledges",
    { ...asking, isUncertain: true, held: held(11) },
    ack(8),
    { ...asking, isUncertain: true, held: held(11), acknowledged: asStreamSeq(8) },
    [{ kind: "acknowledge", upTo: asStreamSeq(8) }],
  ],
  ["asking stops", { ...asking, held: held(11) }, STOP, stopped, []],

  ["filling holds what is handed out", filling, delivered(11), { ...filling, held: held(11) }, []],
  ["filling remembers to ask", filling, UNCERTAIN, { ...filling, isUncertain: true }, []],
  ["filling expects no answer", filling, answered(), filling, []],
  [
    "filling passes on what it reads",
    filling,
    stored(11),
    { ...filling, last: asStreamSeq(11) },
    [found(11)],
  ],
  [
    "filling reports what is gone before what it reads",
    filling,
    stored(14),
    { ...filling, last: asStreamSeq(14) },
    [gap(11, 13), found(14)],
  ],
  ["filling drops what it has passed on", filling, stored(10), filling, []],
  [
    "filling reports the rest of the range as gone when all that is left of it is read",
    filling,
    FILLED,
    { ...live, last: asStreamSeq(20) },
    [gap(11, 20)],
  ],
  [
    "filling becomes live when the range is read",
    { ...filling, last: asStreamSeq(20) },
    FILLED,
    { ...live, last: asStreamSeq(20) },
    [],
  ],
  [
    "filling passes on what it holds when the range is read, and drops what was in it",
    { ...filling, last: asStreamSeq(20), held: held(19, 20, 21) },
    FILLED,
    { ...live, last: asStreamSeq(21) },
    [passed(21)],
  ],
  [
    "filling reads the next gap",
    { ...filling, last: asStreamSeq(20), held: held(21, 25) },
    FILLED,
    { ...filling, last: asStreamSeq(21), held: held(25), fillTo: asStreamSeq(24) },
    [passed(21), read(21, 24)],
  ],
  [
    "filling reads what the consumer has handed out, when nothing is held",
    { ...filling, last: asStreamSeq(12), fillTo: asStreamSeq(12) },
    FILLED,
    { ...filling, last: asStreamSeq(12), fillTo: asStreamSeq(20) },
    [read(12, 20)],
  ],
  [
    "filling asks when it has become uncertain, before anything that it holds is passed on",
    { ...filling, held: held(21), isUncertain: true },
    FILLED,
    { ...asking, last: asStreamSeq(20), held: held(21) },
    [gap(11, 20), ASK],
  ],
  [
    "filling reads again what is still missing after a failure",
    { ...filling, last: asStreamSeq(14) },
    NOT_FILLED,
    { ...filling, last: asStreamSeq(14) },
    [read(14, 20)],
  ],
  [
    "filling asks after a failure when it has become uncertain",
    { ...filling, last: asStreamSeq(14), isUncertain: true },
    NOT_FILLED,
    { ...asking, last: asStreamSeq(14) },
    [ASK],
  ],
  [
    "filling acknowledges",
    filling,
    ack(10),
    { ...filling, acknowledged: asStreamSeq(10) },
    [{ kind: "acknowledge", upTo: asStreamSeq(10) }],
  ],
  ["filling stops", filling, STOP, stopped, []],

  ["stopped passes nothing on", stopped, delivered(11), stopped, []],
  ["stopped asks nothing", stopped, UNCERTAIN, stopped, []],
  ["stopped takes no answer", stopped, answered({ delivered: at(20) }), stopped, []],
  ["stopped passes on nothing that was read", stopped, stored(11), stopped, []],
  ["stopped reports no gap", stopped, FILLED, stopped, []],
  ["stopped reads nothing again", stopped, NOT_FILLED, stopped, []],
  [
    "stopped acknowledges",
    stopped,
    ack(9),
    { ...stopped, acknowledged: asStreamSeq(9) },
    [{ kind: "acknowledge", upTo: asStreamSeq(9) }],
  ],
  ["stopped stays stopped", stopped, STOP, stopped, []],
];

const PHASES = ["live", "asking", "filling", "stopped"] satisfies State["phase"][];
const KINDS = [
  "delivered",
  "uncertain",
  "answered",
  "stored",
  "filled",
  "not_filled",
  "ack",
  "stop",
] satisfies Input["kind"][];

test("every phase and input has a row", () => {
  const pairs = new Set(ROWS.map(([, { phase }, { kind }]) => `${phase} ${kind}`));
  expect([...pairs].toSorted()).toEqual(
    PHASES.flatMap((phase) => KINDS.map((kind) => `${phase} ${kind}`)).toSorted(),
  );
});

test.each(ROWS)("%s", (_what, state, input, after, effects) => {
  expect(next(state, input)).toEqual({ state: after, effects });
});

test("every place is passed on or reported as gone, once and in order, whatever comes when", () => {
  const END = 30;
  const isThere = (streamSeq: number) => streamSeq % 7 !== 3;
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat(99)), (draws) => {
      const draw = (most: number) => draws.next().value % most;
      let state: State = BEGINNING;
      const places: number[] = [];
      const waiting: Effect[] = [];
      let handedOut = 0;
      const take = (input: Input) => {
        const step = next(state, input);
        state = step.state;
        for (const effect of step.effects) {
          if (effect.kind === "pass") places.push(Number(effect.event.slice("event ".length)));
          else if (effect.kind === "gap")
            for (let place = effect.first; place <= effect.last; place++) places.push(place);
          else if (effect.kind === "ask" || effect.kind === "read") waiting.push(effect);
        }
      };
      const answer = () => {
        const effect = waiting.shift();
        if (effect?.kind === "ask")
          take(
            answered({
              delivered: at(handedOut),
              acknowledged: at(0),
              unacknowledged: 1,
              pending: END - handedOut,
            }),
          );
        if (effect?.kind !== "read") return;
        if (draw(4) === 0) return take(NOT_FILLED);
        for (let place = effect.afterStreamSeq + 1; place <= effect.upToStreamSeq; place++)
          if (isThere(place)) take(stored(place));
        take(FILLED);
      };
      for (let steps = 0; steps < 200; steps++) {
        const what = draw(5);
        if (what === 0) take(UNCERTAIN);
        else if (what === 1) answer();
        else if (handedOut < END && isThere(++handedOut) && draw(3) > 0) take(delivered(handedOut));
        else if (handedOut > 0) take(delivered(1 + draw(handedOut)));
      }
      take(UNCERTAIN);
      while (waiting.length > 0) answer();
      expect(state.phase).toBe("live");
      expect(places).toEqual(Array.from({ length: state.last }, (_, place) => place + 1));
      expect(state.last).toBe(handedOut);
    }),
  );
});
