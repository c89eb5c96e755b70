import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createFaultyStore, type FaultPlan } from "../testing/faulty-store.ts";
import { createMemoryStore } from "../testing/memory-store.ts";
import { verifyArchive } from "../verify/verify-archive.ts";
import { openArchive } from "./archive.ts";
import { hold, NAME, nextOf, openWriter, signer } from "./lanes.fixture.ts";

const WRITERS = 2;
const STREAMS = ["GENERATIONS_0", "OPS"];

type Step =
  | { readonly kind: "lane"; readonly stream: string }
  | { readonly kind: "hold" }
  | { readonly kind: "refresh" };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("lane" as const), stream: fc.constantFrom(...STREAMS) }),
  fc.record({ kind: fc.constant("hold" as const) }),
  fc.record({ kind: fc.constant("refresh" as const) }),
);

/** Calls that fail, by their number: not the commits, which would be tried again after a while. */
function failingPuts(failing: ReadonlySet<number>): FaultPlan {
  return ({ method, n }) => (method === "put" && failing.has(n % 50) ? "after" : undefined);
}

test("however writers take turns, each commit that was made is there once, and the archive is in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(WRITERS - 1), step), { minLength: 1, maxLength: 40 }),
      fc.uniqueArray(fc.nat(49), { maxLength: 10 }),
      fc.scheduler(),
      async (steps, failing, scheduler) => {
        const objects = createMemoryStore();
        const store = createFaultyStore(objects, failingPuts(new Set(failing)));
        const create = scheduler.scheduleFunction((key: string, bytes: Uint8Array) =>
          store.create(key, bytes),
        );
        const slow = { ...store, create };
        const writers = await Promise.all(
          Array.from({ length: WRITERS }, (_, i) => openWriter(slow, `writer ${i}`)),
        );
        const made: number[] = [];
        const work = steps.map(async ([i, { kind, ...rest }], at) => {
          const { archive } = writers[i]!;
          if (kind === "refresh") return archive.refresh();
          const outcome = await archive.append((state) =>
            "stream" in rest ? nextOf(state, rest.stream) : hold(`${at}`),
          );
          return outcome.kind === "committed" ? made.push(outcome.commit.n) : undefined;
        });
        await scheduler.waitFor(Promise.all(work));

        const appends = steps.filter(([, { kind }]) => kind !== "refresh").length;
        expect(made.toSorted((a, b) => a - b)).toEqual(Array.from({ length: appends }, (_, n) => n));
        const reader = await openArchive({ store: objects, name: NAME });
        for (const { archive } of writers) {
          await archive.refresh();
          expect(JSON.stringify(archive.state)).toBe(JSON.stringify(reader.state));
        }
        const { findings } = await verifyArchive({
          store: objects,
          name: NAME,
          vkeys: [signer],
          witnesses: [],
          witnessed: [],
        });
        expect(findings.filter(({ kind }) => kind === "tampered")).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
});
