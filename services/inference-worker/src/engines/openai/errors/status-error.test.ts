import { toUnixMs } from "@reprise/protocol";
import { expect, test } from "vitest";
import { parseRetryAfterMs } from "./status-error.ts";

const NOW = toUnixMs("2026-11-21T12:00:00Z");

test.each([
  [{ "retry-after": "7" }, 7_000],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "1.5" }, 1_500],
  [{ "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" }, 30_000],
  [{ "retry-after": "Sat, 21 Nov 2026 11:00:00 GMT" }, 0],
  [{ "retry-after": "999999999" }, 86_400_000],
  [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
  [{ "retry-after-ms": "soon", "retry-after": "7" }, 7_000],
  [{ "retry-after": "soon" }, undefined],
  [{ "retry-after": "-3" }, undefined],
  [{ "retry-after": ["1", "2"] }, 1_000],
  [{}, undefined],
])("of the headers %j the engine is to be asked again in %s ms", (headers, ms) => {
  expect(parseRetryAfterMs(headers, NOW)).toBe(ms);
});
