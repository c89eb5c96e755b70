import { asUnixMs, NEVER } from "@reprise/protocol";
import { expect, test } from "vitest";
import { ObservationWindow } from "./observation-window.ts";

const LEASE_MS = 6_000;

function heard(...timesMs: number[]): ObservationWindow {
  const continuity = new ObservationWindow(LEASE_MS);
  for (const timeMs of timesMs) continuity.seen(asUnixMs(timeMs));
  return continuity;
}

test("before the broker has been heard nothing is judged, and then not for a lease", () => {
  expect(heard().judgedFromMs).toBe(NEVER);
  expect(heard(10_000).judgedFromMs).toBe(16_000);
});

test("as long as the broker is heard within each lease, it continues", () => {
  expect(heard(10_000, 15_999, 16_000, 21_000).judgedFromMs).toBe(16_000);
});

test("an outage, a pause of a lease and a clock that jumps begin it again", () => {
  const broken = heard(10_000, 11_000);
  broken.broken();
  expect(broken.judgedFromMs).toBe(NEVER);
  broken.seen(asUnixMs(12_000));
  expect(broken.judgedFromMs).toBe(18_000);
  expect(heard(10_000, 16_000).judgedFromMs).toBe(22_000);
  expect(heard(100_000, 50_000).judgedFromMs).toBe(56_000);
});
