import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSeededRandom } from "@reprise/testkit";
import { chooseReplica, mostInFlight } from "./choose-replica.ts";
import { rendezvousOrder, affinityKeyOf } from "./affinity.ts";
import { NEW_REPLICA, nextReplicas, type ReplicaStates } from "./replica-state.ts";
import type { EngineRequest } from "../../engine.ts";

const RULES = { ejectAfter: 3, ejectMs: 10_000 };
const NONE: ReadonlySet<number> = new Set();
const choose = (states: ReplicaStates, order?: readonly number[]) =>
  chooseReplica(states, { tried: NONE, avoid: NONE, nowMs: 0, random: 0, order }, RULES)!;

describe("a request with a key", () => {
  test("goes to the first server in its order that has room: its share and a quarter, rounded up", () => {
    const loaded = (...loads: number[]) => loads.map((inFlight) => ({ ...NEW_REPLICA, inFlight }));
    const order = [2, 0, 1];
    expect(choose(loaded(0, 0, 0), order)).toBe(2);
    // Of 9 and this one each may have 5.
    expect(choose(loaded(2, 3, 4), order)).toBe(2);
    expect(choose(loaded(2, 2, 5), order)).toBe(0);
    expect(choose(loaded(5, 0, 5), order)).toBe(1);
  });

  test("always finds one with room, and that is the first in its order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(40), { minLength: 1, maxLength: 64 }).chain((loads) =>
          fc.record({
            loads: fc.constant(loads),
            order: fc.shuffledSubarray([...loads.keys()], { minLength: loads.length }),
          }),
        ),
        ({ loads, order }) => {
          const total = loads.reduce((sum, load) => sum + load, 0);
          const most = mostInFlight(total, loads.length);
          const chosen = choose(
            loads.map((inFlight) => ({ ...NEW_REPLICA, inFlight })),
            order,
          );
          expect(loads[chosen]! + 1).toBeLessThanOrEqual(most);
          const before = order.slice(0, order.indexOf(chosen));
          expect(before.every((i) => loads[i]! + 1 > most)).toBe(true);
        },
      ),
    );
  });

  test("goes to the next in its order where its own server is ejected, is avoided or has refused it", () => {
    const order = [1, 2, 0];
    const failed = { kind: "failed", because: "it broke" } as const;
    let states: ReplicaStates = [NEW_REPLICA, NEW_REPLICA, NEW_REPLICA];
    const wish = { tried: NONE, avoid: NONE, nowMs: 0, random: 0, order };
    expect(chooseReplica(states, { ...wish, tried: new Set([1]) }, RULES)).toBe(2);
    expect(chooseReplica(states, { ...wish, avoid: new Set([1, 2]) }, RULES)).toBe(0);
    for (let i = 0; i < 3; i++) {
      states = nextReplicas(states, { kind: "asked", replica: 1 }, 0, RULES);
      states = nextReplicas(states, { kind: "ended", replica: 1, outcome: failed }, 0, RULES);
    }
    expect(choose(states, order)).toBe(2);
  });
});

/** The number of recent conversations that may have another turn. */
const OPEN = 500;

/** An hour of random arrivals: 40 requests at a time on average, of which seven in ten continue a conversation. */
const TURNS = createTurns();

function createTurns() {
  const random = createSeededRandom(1).next;
  const exponential = (meanMs: number) => -meanMs * Math.log(1 - random());
  let [atMs, conversations] = [0, 0];
  return Array.from({ length: 20_000 }, () => {
    atMs += exponential(180);
    const isNew = conversations === 0 || random() > 0.7;
    const back = 1 + Math.floor(random() * Math.min(conversations, OPEN));
    const conversation = isNew ? conversations++ : conversations - back;
    return { atMs, endMs: atMs + exponential(7_200), conversation, worker: random() };
  });
}

/** Runs the hour against servers chosen by several workers, each of which knows its own requests alone. */
function simulate(servers: number, workers: number, hasAffinity: boolean) {
  const ids = Array.from({ length: servers }, (_, i) => `http://gpu-${i}:8000/v1`);
  const states = Array.from({ length: workers }, (): ReplicaStates => ids.map(() => NEW_REPLICA));
  const orders = new Map<number, readonly number[]>();
  const orderOf = (conversation: number) => {
    const order = orders.get(conversation) ?? rendezvousOrder(`conv_${conversation}`, ids);
    orders.set(conversation, order);
    return order;
  };
  const last = new Map<number, number>();
  let running: { endMs: number; worker: number; replica: number }[] = [];
  let [followUps, hits, beyond] = [0, 0, 0];
  for (const { atMs, endMs, conversation, worker: draw } of TURNS) {
    for (const { worker, replica } of running.filter((one) => one.endMs <= atMs)) {
      const event = { kind: "ended", replica, outcome: { kind: "answered" } } as const;
      states[worker] = nextReplicas(states[worker]!, event, atMs, RULES);
    }
    running = running.filter((one) => one.endMs > atMs);
    const worker = Math.floor(draw * workers);
    const before = states[worker]!;
    const total = before.reduce((sum, { inFlight }) => sum + inFlight, 0);
    const order = hasAffinity ? orderOf(conversation) : undefined;
    const replica = choose(before, order);
    if (before[replica]!.inFlight + 1 > mostInFlight(total, servers)) beyond++;
    states[worker] = nextReplicas(before, { kind: "asked", replica }, atMs, RULES);
    running.push({ endMs, worker, replica });
    if (last.has(conversation)) followUps++;
    if (last.get(conversation) === replica) hits++;
    last.set(conversation, replica);
  }
  return { beyond, hits: Math.round((100 * hits) / followUps) };
}

describe("over an hour of random conversations", () => {
  // docs/scaling.md has these.
  test.each([
    [4, 1, 86, 25],
    [4, 4, 70, 25],
    [8, 1, 70, 13],
    [8, 4, 55, 13],
  ])(
    "%i servers chosen by %i workers keep to their bound, and %i % of later turns meet the server of the one before; by load alone %i %",
    (servers, workers, near, any) => {
      expect(simulate(servers, workers, true)).toEqual({ beyond: 0, hits: near });
      expect(simulate(servers, workers, false).hits).toBe(any);
    },
  );
});

const LONG = "x".repeat(1_024);
const keyOf = (request: Partial<EngineRequest>) => affinityKeyOf({ model: "m", input: "Hi", ...request });
const user = (content: string) => ({ role: "user" as const, content });

describe("the key of a request", () => {
  test("is its conversation, for every question in it", () => {
    const conversation = "conv_4qk3v5hm2w7ztx6rjcnpdsa3eb" as NonNullable<EngineRequest["conversation"]>;
    expect(keyOf({ conversation })).toBe(conversation);
    expect(keyOf({ conversation, input: "Continue.", model: "other" })).toBe(conversation);
  });

  test("is that of the prompt's beginning else: a client that sends the whole conversation has one key for all turns", () => {
    const turns = [{ role: "system" as const, content: LONG }, user("Hi")];
    const later = [...turns, { role: "assistant" as const, content: "Hello" }, user("Continue.")];
    expect(keyOf({ input: later })).toBe(keyOf({ input: turns }));
    expect(keyOf({ input: `${LONG}a` })).toBe(keyOf({ input: `${LONG}b` }));
    expect(keyOf({ input: [user(LONG)] })).toBe(keyOf({ input: LONG }));
  });

  test.each<[string, Partial<EngineRequest>, Partial<EngineRequest>]>([
    ["models", { model: "a" }, { model: "b" }],
    ["first words", { input: "a" }, { input: "b" }],
    [
      "first words in parts",
      { input: [{ role: "user", content: [{ type: "text", text: "a" }] }] },
      { input: "b" },
    ],
    ["roles", { input: [user("a")] }, { input: [{ role: "system", content: "a" }] }],
    ["cuts of a text", { input: [user("ab"), user("c")] }, { input: [user("a"), user("bc")] }],
    [
      "images",
      { input: [{ role: "user", content: [{ type: "image", url: "data:image/png;base64,AAAA" }] }] },
      { input: [{ role: "user", content: [{ type: "image", url: "data:image/png;base64,BBBB" }] }] },
    ],
  ])("differs between %s", (_, one, other) => {
    expect(keyOf(one)).not.toBe(keyOf(other));
  });
});

const KEYS = Array.from({ length: 2_000 }, (_, i) => `conv_${i}`);
const servers = (count: number) => Array.from({ length: count }, (_, i) => `http://gpu-${i}:8000/v1`);
const homesOf = (ids: readonly string[]) => KEYS.map((key) => ids[rendezvousOrder(key, ids)[0]!]!);

describe("the order of servers for a key", () => {
  test("is the same at every worker, of every version, however they list the servers", () => {
    const ids = servers(5);
    const order = rendezvousOrder("conv_1", ids).map((i) => ids[i]);
    const listed = ids.toReversed();
    expect(rendezvousOrder("conv_1", listed).map((i) => listed[i])).toEqual(order);
    expect(KEYS.slice(1, 4).map((key) => rendezvousOrder(key, ids))).toEqual(GOLDEN);
  });

  test.each([2, 3, 8, 32])("gives each of %i servers its share of the keys", (count) => {
    const homes = homesOf(servers(count));
    const share = KEYS.length / count;
    // Four times the deviation of as many throws of dice.
    const off = 4 * Math.sqrt(share);
    for (const id of servers(count)) {
      const keys = homes.filter((home) => home === id).length;
      expect(Math.abs(keys - share)).toBeLessThan(off);
    }
  });

  test.each([2, 3, 8, 32])(
    "moves the keys of a server that goes, and no others: one in %i and a little",
    (count) => {
      const [gone, ...left] = servers(count);
      const [before, after] = [homesOf([gone!, ...left]), homesOf(left)];
      const moved = KEYS.filter((_, i) => before[i] !== after[i]);
      expect(moved).toEqual(KEYS.filter((_, i) => before[i] === gone));
      expect(moved.length / KEYS.length).toBeLessThanOrEqual(1 / count + 0.02);
    },
  );
});

/** Workers of two versions that differ here send a conversation to two servers. */
const GOLDEN = [
  [4, 2, 1, 0, 3],
  [0, 1, 2, 4, 3],
  [0, 1, 2, 4, 3],
];
