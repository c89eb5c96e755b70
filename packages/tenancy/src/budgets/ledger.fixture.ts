import { parseTenantId } from "@reprise/protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { BudgetAccount } from "./budget-account.ts";
import { type BudgetLedger, GRANT_TTL_MS, MIN_SLICE } from "./budget-ledger.ts";

/** A ledger and a way to let time pass for it. */
export interface LedgerTarget {
  readonly ledger: BudgetLedger;
  readonly pass: (ms: number) => void;
}

let accounts = 0;
const accountOf = (limit: number, name = `account-${++accounts}`): BudgetAccount => ({
  tenant: parseTenantId("acme"),
  name,
  key: `{acme}.${name}.total`,
  limit,
  endsAtMs: undefined,
});

/** Contract of every implementation of `BudgetLedger`. */
export function describeLedger(open: () => LedgerTarget): void {
  it("grants slices until the limit, and then nothing more", async () => {
    const { ledger } = open();
    const account = accountOf(100);
    let used = 0;
    for (;;) {
      const [grant] = await ledger.claim("a", [{ account, used, want: 30 }]);
      expect(grant?.granted).toBeLessThanOrEqual(100);
      if (grant?.granted === used) break;
      used = grant?.granted ?? 0;
    }
    expect(used).toBe(100);
    const [other] = await ledger.claim("b", [{ account, used: 0, want: 1 }]);
    expect(other).toEqual({ granted: 0, remaining: 0 });
  });

  it("refuses a reservation that needs more than is left, and then grants nothing of any account", async () => {
    const { ledger } = open();
    const [narrow, wide] = [accountOf(10), accountOf(100)];
    const claims = [wide, narrow].map((account) => ({ account, used: 0, want: 64, need: 11 }));
    expect(await ledger.reserve("a", claims)).toMatchObject({ refused: narrow });
    const [grant] = await ledger.claim("b", [{ account: wide, used: 0, want: 100 }]);
    expect(grant).toEqual({ granted: 100, remaining: 0 });
  });

  it("reserves once for a generation that is created twice", async () => {
    const { ledger } = open();
    const account = accountOf(100);
    const claim = { account, used: 0, want: 60, need: 60 };
    expect(await ledger.reserve("a", [claim])).toEqual({ grants: [{ granted: 60, remaining: 40 }] });
    expect(await ledger.reserve("a", [claim])).toEqual({ grants: [{ granted: 60, remaining: 40 }] });
    expect(await ledger.reserve("b", [claim])).toEqual({
      grants: [{ granted: 0, remaining: 40 }],
      refused: account,
    });
  });

  it("grants what a reservation needs, though a fair slice is smaller", async () => {
    const { ledger } = open();
    const account = accountOf(100);
    await ledger.claim("a", [{ account, used: 0, want: 40 }]);
    const { grants } = await ledger.reserve("b", [{ account, used: 0, want: 64, need: 50 }]);
    expect(grants).toEqual([{ granted: 50, remaining: 10 }]);
  });

  it("gives back what a settled generation has not used, and grants it nothing more", async () => {
    const { ledger } = open();
    const account = accountOf(100);
    await ledger.claim("a", [{ account, used: 0, want: 100 }]);
    await ledger.settle("a", [{ account, used: 30 }]);
    expect(await ledger.claim("a", [{ account, used: 30, want: 10 }])).toEqual([
      { granted: 30, remaining: 70 },
    ]);
    await ledger.settle("a", [{ account, used: 30 }]);
    const [grant] = await ledger.claim("b", [{ account, used: 0, want: 100 }]);
    expect(grant).toEqual({ granted: 70, remaining: 0 });
  });

  it("counts the last settlement of several", async () => {
    const { ledger } = open();
    const account = accountOf(100);
    await ledger.settle("a", [{ account, used: 90 }]);
    await ledger.settle("a", [{ account, used: 40 }]);
    const [grant] = await ledger.claim("b", [{ account, used: 0, want: 100 }]);
    expect(grant?.granted).toBe(60);
  });

  it("counts use beyond a grant, and remains at its limit", async () => {
    const { ledger } = open();
    const account = accountOf(100);
    expect(await ledger.claim("a", [{ account, used: 130, want: 10 }])).toEqual([
      { granted: 130, remaining: 0 },
    ]);
    expect(await ledger.claim("b", [{ account, used: 0, want: 10 }])).toEqual([{ granted: 0, remaining: 0 }]);
  });

  it("keeps what was used of a grant that nothing renews, and gives the rest back", async () => {
    const { ledger, pass } = open();
    const account = accountOf(100);
    await ledger.claim("a", [{ account, used: 10, want: 90 }]);
    pass(GRANT_TTL_MS - 1);
    expect(await ledger.claim("b", [{ account, used: 0, want: 10 }])).toEqual([{ granted: 0, remaining: 0 }]);
    pass(1);
    expect(await ledger.claim("c", [{ account, used: 0, want: 45 }])).toEqual([
      { granted: 45, remaining: 45 },
    ]);
    // The worker was only slow, or another one has taken over.
    expect(await ledger.claim("a", [{ account, used: 20, want: 0 }])).toEqual([
      { granted: 20, remaining: 35 },
    ]);
  });

  it("never counts less than a generation has said before, whichever call comes first", async () => {
    const { ledger } = open();
    const account = accountOf(100);
    await ledger.claim("a", [{ account, used: 50, want: 10 }]);
    const [grant] = await ledger.claim("a", [{ account, used: 20, want: 10 }]);
    expect(grant).toEqual({ granted: 60, remaining: 40 });
  });

  it("takes nothing back of a grant while its generation asks for more, unless that wants nothing", async () => {
    const { ledger } = open();
    const account = accountOf(100);
    await ledger.claim("a", [{ account, used: 0, want: 60 }]);
    for (const id of ["b", "c", "d"]) await ledger.claim(id, [{ account, used: 0, want: 60 }]);
    const [again] = await ledger.claim("a", [{ account, used: 10, want: 60 }]);
    expect(again?.granted).toBeGreaterThanOrEqual(60);
    const [released] = await ledger.claim("a", [{ account, used: 10, want: 0 }]);
    expect(released?.granted).toBe(10);
  });

  it("divides what is left near the limit, so that one generation does not sit on it", async () => {
    const { ledger } = open();
    const account = accountOf(100);
    const grants: number[] = [];
    for (const id of ["a", "b", "c"]) {
      const [grant] = await ledger.claim(id, [{ account, used: 0, want: 100 }]);
      grants.push(grant?.granted ?? 0);
    }
    expect(grants).toEqual([100, 0, 0]);
    const other = accountOf(100);
    await ledger.claim("a", [{ account: other, used: 0, want: 20 }]);
    const [second] = await ledger.claim("b", [{ account: other, used: 0, want: 64 }]);
    expect(second?.granted).toBe(40);
    const [third] = await ledger.claim("c", [{ account: other, used: 0, want: 64 }]);
    expect(third?.granted).toBe(13);
    expect(MIN_SLICE).toBeLessThan(13);
  });

  it("is raised to what another record says that ended generations used, with what live ones have said, and never lowered", async () => {
    const { ledger } = open();
    const account = accountOf(1_000);
    await ledger.claim("live", [{ account, used: 30, want: 10 }]);
    await ledger.settle("ended", [{ account, used: 20 }]);
    expect(await ledger.seed([{ account, ended: 500 }])).toEqual([{ before: 50, after: 530 }]);
    expect(await ledger.seed([{ account, ended: 500 }])).toEqual([{ before: 530, after: 530 }]);
    expect(await ledger.seed([{ account, ended: 100 }])).toEqual([{ before: 530, after: 530 }]);
    await ledger.settle("live", [{ account, used: 40 }]);
    const [grant] = await ledger.claim("probe", [{ account, used: 0, want: 0 }]);
    expect(grant?.remaining).toBe(1_000 - 540);
  });

  it("holds the sum of what is used to the limit and what was used without a grant, in any history", async () => {
    const step = fc.record({
      kind: fc.constantFrom("claim", "claim", "claim", "settle", "pass"),
      id: fc.constantFrom("a", "b", "c", "d"),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      want: fc.integer({ min: 0, max: 64 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.array(step, { maxLength: 60 }),
        async (limit, steps) => {
          const { ledger, pass } = open();
          const account = accountOf(limit);
          const granted = new Map<string, number>();
          const used = new Map<string, number>();
          const settled = new Set<string>();
          for (const { kind, id, share, want } of steps) {
            const before = used.get(id) ?? 0;
            const now = before + Math.floor(share * Math.max(0, (granted.get(id) ?? 0) - before));
            if (kind === "pass") {
              pass(GRANT_TTL_MS + 1);
              granted.clear();
            } else if (!settled.has(id)) {
              used.set(id, now);
              if (kind === "settle") {
                settled.add(id);
                await ledger.settle(id, [{ account, used: now }]);
              } else {
                const promised = granted.get(id) ?? 0;
                const [grant] = await ledger.claim(id, [{ account, used: now, want }]);
                if (want > 0) expect(grant?.granted).toBeGreaterThanOrEqual(promised);
                granted.set(id, grant?.granted ?? 0);
                expect(grant?.granted).toBeGreaterThanOrEqual(now);
                expect(grant?.granted).toBeLessThanOrEqual(Math.max(now + want, promised));
              }
            }
            const sum = [...used.values()].reduce((total, units) => total + units, 0);
            expect(sum).toBeLessThanOrEqual(limit);
          }
          const sum = [...used.values()].reduce((total, units) => total + units, 0);
          for (const id of granted.keys()) await ledger.settle(id, [{ account, used: used.get(id) ?? 0 }]);
          const [rest] = await ledger.claim("rest", [{ account, used: 0, want: limit }]);
          expect(rest).toEqual({ granted: limit - sum, remaining: 0 });
        },
      ),
      { numRuns: 60 },
    );
  });
}
