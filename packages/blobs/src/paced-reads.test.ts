import { parseTenantId, type StreamSeq } from "@reprise/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BlobNames } from "./blob-names.ts";
import type { BlobRows } from "./blob-rows.ts";

const TENANT = parseTenantId("acme");
const OTHER = parseTenantId("beta");
const KEY = { version: 1, kind: "key", secret: Buffer.alloc(32, 7).toString("base64url") } as const;
const signature = Buffer.alloc(32);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The rows of BLOBS, of which keys of tenants alone are read. */
function createRows() {
  const reads: string[] = [];
  const rows = {
    reads,
    key: undefined as typeof KEY | undefined,
    async read(subject: string) {
      reads.push(subject);
      return { row: rows.key, at: 0 as StreamSeq };
    },
  };
  return rows;
}

test("signatures of a tenant without a key cost one read a second, however many are judged", async () => {
  const rows = createRows();
  const names = new BlobNames(rows as unknown as BlobRows);
  const judge = (tenant = TENANT) => names.isSigned(tenant, "text", signature);
  const first = Promise.all(Array.from({ length: 100 }, () => judge()));
  await vi.advanceTimersByTimeAsync(0);
  expect(await first).toEqual(Array(100).fill(false));
  expect(rows.reads).toHaveLength(1);

  const later = Promise.all(Array.from({ length: 100 }, () => judge()));
  await vi.advanceTimersByTimeAsync(990);
  expect(rows.reads).toHaveLength(1);
  const other = judge(OTHER);
  await vi.advanceTimersByTimeAsync(0);
  expect([await other, rows.reads.length]).toEqual([false, 2]);
  await vi.advanceTimersByTimeAsync(10);
  expect(await later).toEqual(Array(100).fill(false));
  expect(rows.reads).toHaveLength(3);
});

test("a signature that came in after a refusal is good if its key was there when it came", async () => {
  const rows = createRows();
  const names = new BlobNames(rows as unknown as BlobRows);
  const refused = names.isSigned(TENANT, "text", signature);
  await vi.advanceTimersByTimeAsync(0);
  expect(await refused).toBe(false);
  rows.key = KEY;
  const own = await new BlobNames(rows as unknown as BlobRows).signatureOf(TENANT, "text");
  const good = names.isSigned(TENANT, "text", own);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await good).toBe(true);
  // From then on the key is known.
  const reads = rows.reads.length;
  expect(await names.isSigned(TENANT, "text", signature)).toBe(false);
  expect(rows.reads).toHaveLength(reads);
});

test("a read that fails is the answer to those that wait for it, and the next ones read again", async () => {
  const rows = createRows();
  const names = new BlobNames(rows as unknown as BlobRows);
  const read = vi.spyOn(rows, "read").mockRejectedValueOnce(new Error("away"));
  const both = Promise.allSettled([1, 2].map(() => names.isSigned(TENANT, "text", signature)));
  await vi.advanceTimersByTimeAsync(0);
  expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const next = names.isSigned(TENANT, "text", signature);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await next).toBe(false);
  expect(read).toHaveBeenCalledTimes(2);
});
