import { RepriseError } from "@reprise/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLogger } from "./logger.ts";
import { createErrorLog } from "./error-log.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const away = new RepriseError("broker_unavailable", "no answer");
const storeAway = new RepriseError("archive_unavailable", "no store");

function open() {
  const lines: { err: { code: string }; times: number }[] = [];
  const explained = new Set<string>();
  const log = createErrorLog({
    logger: createLogger({
      service: "test",
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    }),
    waits: "waiting",
    failed: "failed",
    watches: { explains: (code) => explained.has(code) },
  });
  return { lines, explained, log };
}

test("what comes again and again is one line per ten seconds and code, with how often it came", () => {
  const { lines, log } = open();
  for (let i = 0; i < 400; i++) log(away);
  log(storeAway);
  vi.advanceTimersByTime(10_000);
  expect(lines.map(({ err, times }) => [err.code, times])).toEqual([
    ["broker_unavailable", 400],
    ["archive_unavailable", 1],
  ]);
  log(away);
  vi.advanceTimersByTime(10_000);
  expect(lines).toHaveLength(3);
});

test("what a dependency's absence explains gets no line, though it came before that was noticed or ended", () => {
  const { lines, explained, log } = open();
  log(away);
  log(storeAway);
  explained.add("broker_unavailable");
  vi.advanceTimersByTime(10_000);
  expect(lines.map(({ err }) => err.code)).toEqual(["archive_unavailable"]);
  explained.add("archive_unavailable");
  log(storeAway);
  vi.advanceTimersByTime(10_000);
  expect(lines).toHaveLength(1);
});

test("a defect is told at once, each time", () => {
  const { lines, log } = open();
  for (let i = 0; i < 2; i++) log(new TypeError("a defect"));
  expect(lines).toMatchObject([{ err: { message: "a defect" } }, { err: { message: "a defect" } }]);
});
