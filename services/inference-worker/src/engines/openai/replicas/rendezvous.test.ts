import { describe, expect, test } from "vitest";
import { rendezvousOrder } from "./rendezvous.ts";

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
