import { createLogger, DependencyWatches } from "@reprise/runtime";
import { RepriseError } from "@reprise/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchArchive } from "./archive-watch.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const FAILURE = new RepriseError("archive_unavailable", "The archive's folder: read-only file system");

function open() {
  const lines: { msg: string }[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as { msg: string }) };
  const logger = createLogger({ service: "audit-log", destination });
  const watches = new DependencyWatches({ service: "audit-log", logger });
  const watch = watchArchive(watches);
  /** Fails repeatedly, as archiving does while it retries. */
  const failFor = (ms: number) => {
    for (let at = 0; at <= ms; at += 500) {
      watch.failed(FAILURE);
      vi.advanceTimersByTime(500);
    }
  };
  return { watch, watches, lines, failFor };
}

test("an archive that stays away is one line with the cause and not ready, and one line when it is back", () => {
  const { watch, watches, lines, failFor } = open();
  const explains = () => watches.explains("archive_unavailable", 20_000);
  failFor(60_000);
  expect(lines).toMatchObject([{ msg: "the archive takes no commits", because: FAILURE.message }]);
  expect(watch.because()).toEqual([`the archive takes no commits: ${FAILURE.message}`]);
  watch.worked();
  expect(lines.slice(1)).toMatchObject([{ msg: "the archive takes commits again", failures: 121 }]);
  expect([watch.because(), explains()]).toEqual([[], true]);
  vi.advanceTimersByTime(20_000);
  expect(explains()).toBe(false);
});

test("a failure that is over soon, or is not the archive's, changes nothing", () => {
  const { watch, lines, failFor } = open();
  failFor(2_000);
  watch.worked();
  failFor(2_000);
  for (let i = 0; i < 20; i++) {
    watch.failed(new RepriseError("broker_unavailable", "no answer"));
    vi.advanceTimersByTime(500);
  }
  expect([watch.because(), lines]).toEqual([[], []]);
});

test("an archive is back when nothing has failed for a minute, though there was nothing to commit", () => {
  const { watch, lines, failFor } = open();
  failFor(10_000);
  vi.advanceTimersByTime(60_000);
  expect([watch.because(), lines.map(({ msg }) => msg)]).toEqual([
    [],
    ["the archive takes no commits", "the archive takes commits again"],
  ]);
});
