import { createNoteKey, openArchive, openKeyring } from "@reprise/archive";
import { createFaultyStore, createMemoryStore, type FaultPlan } from "@reprise/archive/testing";
import { encodeEvent, logSubject, streamOf, asSeq, asStreamSeq } from "@reprise/protocol";
import { createRef, delta, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { MASTER_KEY, SIGNING_SEED } from "../../testing/test-keys.ts";
import type { Batch } from "@reprise/facts/lane";
import { GenerationKeys } from "../generation-keys.ts";
import { sealBatch } from "./seal-batch.ts";

const STORED_AT_US = 1_795_000_000_000_000;

/** A log of two events, as it was read. */
function batchOf(): Batch {
  const ref = createRef();
  const messages = [requested(ref), delta("text")].map((draft, seq) => ({
    streamSeq: asStreamSeq(seq + 1),
    storedAtUs: STORED_AT_US + seq,
    subject: logSubject(ref),
    payload: encodeEvent(asSeq(seq), draft),
    isPublished: true,
  }));
  const created = new Date(STORED_AT_US / 1_000).toISOString();
  const place = {
    stream: streamOf(ref.generation),
    epoch: 1,
    created,
    first: asStreamSeq(1),
    last: asStreamSeq(2),
  };
  return { ...place, messages, missing: [], maybeExpired: [] };
}

/** Seals a batch with stores whose calls are written down, as they begin, and fail as the plans say. */
async function seal(plans: { keys?: FaultPlan; files?: FaultPlan } = {}) {
  const calls: string[] = [];
  let isSealing = false;
  const recorded = (kind: string, plan?: FaultPlan) =>
    createFaultyStore(createMemoryStore(), (call) => {
      if (call.method === "put" || call.method === "create") calls.push(`${kind} ${call.method}`);
      return isSealing ? plan?.(call) : undefined;
    });
  const keys = recorded("keys", plans.keys);
  const store = recorded("files", plans.files);
  const keyring = await openKeyring({ store: keys, masterKey: MASTER_KEY });
  const signer = createNoteKey("test", SIGNING_SEED);
  const writer = { name: "test", signer, onError: () => {} };
  const archive = await openArchive({ store, name: "test", writer });
  calls.length = 0;
  isSealing = true;
  const sealing = sealBatch(batchOf(), archive.state, {
    store,
    keyring,
    keys: new GenerationKeys(archive, keyring),
    onError: () => {},
  });
  const outcome = await sealing.then(
    () => "sealed",
    (error: { code?: string }) => error.code,
  );
  archive.close();
  return { outcome, calls };
}

test("the keys of a batch are stored before its files", async () => {
  // A store of keys that is slow gives files every opportunity to be first.
  const { outcome, calls } = await seal({ keys: () => 20 });
  const firstFile = calls.findIndex((call) => call.startsWith("files"));
  expect([outcome, firstFile > 0]).toEqual(["sealed", true]);
  expect(calls.slice(0, firstFile).every((call) => call.startsWith("keys"))).toBe(true);
  expect(calls.slice(firstFile).some((call) => call.startsWith("keys"))).toBe(false);
});

test("no file is stored whose key is not", async () => {
  let isOpen = true;
  const { outcome, calls } = await seal({
    keys: ({ method }) => {
      if (method !== "create" && method !== "put") return undefined;
      isOpen = false;
      return "before";
    },
  });
  expect([outcome, isOpen]).toEqual(["archive_unavailable", false]);
  expect(calls.filter((call) => call.startsWith("files"))).toEqual([]);
});
