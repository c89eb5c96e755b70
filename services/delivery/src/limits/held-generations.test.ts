import { randomBytes } from "node:crypto";
import { appendDecision } from "@reprise/stream";
import { createWriterName } from "@reprise/broker";
import {
  asSeq,
  asStreamSeq,
  createGenerationId,
  encodeEvent,
  type EventDraft,
  parseGenerationId,
  parseTenantId,
} from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, openPlatform, type Platform, REQUEST } from "../testing/platform.ts";
import { HeldGenerations, type HeldGenerationsOptions } from "./held-generations.ts";

const TENANT = "held";
const KEY = "rk_held_0123456789abcdef";
const ROLES = ["create", "read"];
const USAGE = { input_tokens: 2, output_tokens: 3 };
const COMPLETED: EventDraft = { type: "generation.completed", finish_reason: "stop", usage: USAGE };
const REVIEWED: EventDraft = { type: "moderation.unavailable", answer: "fail_open", judged_seq: asSeq(0) };

let platform: Platform;
beforeAll(async () => {
  const tenant = {
    id: TENANT,
    keys: [{ secret: KEY, roles: ROLES }],
    limits: { tenant: { generations: 1 } },
  };
  platform = await openPlatform({ moreTenants: [tenant], limitCheckMs: 20 });
});
afterAll(() => platform[Symbol.asyncDispose]());

test("a generation whose end is not announced gives its share back once the log is asked", async () => {
  const create = () => call(`${platform.node.url}/v1/generations`, { body: REQUEST, key: KEY });
  for (const later of [[], [REVIEWED]]) {
    let created = await create();
    await expect
      .poll(async () => (created = created.status === 201 ? created : await create()).status)
      .toBe(201);
    const ref = {
      tenant: parseTenantId(TENANT),
      generation: parseGenerationId((created.json as { id: string }).id),
    };
    for (const draft of [COMPLETED, ...later])
      await appendDecision({ ...platform.log, ref, writer: createWriterName(), decide: () => draft });
  }
  await expect.poll(async () => (await create()).status).toBe(201);
});

describe("generations that are held", () => {
  const newRef = () => ({
    tenant: parseTenantId(TENANT),
    generation: createGenerationId(randomBytes(17), 1),
  });
  const [running, completed, absent] = [newRef(), newRef(), newRef()];
  const stored = (draft: EventDraft) => ({
    payload: encodeEvent(asSeq(1), draft),
    streamSeq: asStreamSeq(1),
    writer: "",
  });

  test("end with their usage or without a log, and are asked about again while they run", async () => {
    const ended: unknown[] = [];
    const asked: string[] = [];
    const twice = Promise.withResolvers<void>();
    const reader: HeldGenerationsOptions["reader"] = {
      async readLast({ generation }) {
        asked.push(generation);
        if (asked.filter((id) => id === running.generation).length === 2) twice.resolve();
        if (generation === running.generation) return stored({ type: "output.delta", text: "a" });
        return generation === completed.generation ? stored(COMPLETED) : undefined;
      },
      readLog: () => Promise.reject(new Error("is not read")),
    };
    await using held = new HeldGenerations({
      reader,
      everyMs: 1,
      onEnded: (...end) => ended.push(end),
      onError: (error) => ended.push(error),
    });
    for (const ref of [running, completed, absent]) held.add(ref);
    await twice.promise;
    expect(ended).toEqual([
      [completed, USAGE],
      [absent, undefined],
    ]);
    expect(asked.filter((id) => id !== running.generation)).toEqual([
      completed.generation,
      absent.generation,
    ]);
  });
});

test("a generation that two creates have made is held until both have failed", async () => {
  const ref = { tenant: parseTenantId(TENANT), generation: createGenerationId(randomBytes(17), 1) };
  await using held = new HeldGenerations({ reader: platform.log.reader, onEnded() {}, onError() {} });
  held.add(ref);
  held.add(ref);
  expect([held.abandon(ref), held.abandon(ref), held.abandon(ref)]).toEqual([false, true, true]);
});
