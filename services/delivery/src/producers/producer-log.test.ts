import {
  asSeq,
  type Generation,
  type GenerationRef,
  parseGenerationId,
  parseTenantId,
} from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, openPlatform, type Platform } from "../testing/platform.ts";
import { Producers } from "./producers.ts";

let platform: Platform;
beforeAll(async () => void (platform = await openPlatform()));
afterAll(async () => platform[Symbol.asyncDispose]());

async function open(): Promise<GenerationRef> {
  const body = { model: "external", input: "hello" };
  const { json } = await call(`${platform.node.url}/v1/generations`, { body });
  return { tenant: parseTenantId("acme"), generation: parseGenerationId((json as Generation).id) };
}

/** A node's producers, with the generations whose logs they have read from the start. */
function openCounted(maxBytes = 65_536) {
  const { broker, log } = platform;
  const reads: string[] = [];
  const readLog = (ref: GenerationRef) => {
    reads.push(ref.generation);
    return log.reader.readLog(ref);
  };
  const tokens = { mint: () => Promise.reject(new Error("none is asked for")) };
  const onError = (error: unknown) => expect.unreachable(String(error));
  const counted = { ...log, reader: { ...log.reader, readLog } };
  const producers = new Producers({ broker, log: counted, tokens, onError, maxBytes });
  const write = async (ref: GenerationRef, first: number, length: number) => {
    const entries = [{ type: "output.delta" as const, text: "x".repeat(length) }];
    await producers.append(ref, { epoch: 1, first: asSeq(first), entries });
  };
  return { reads, write, [Symbol.dispose]: () => producers[Symbol.dispose]() };
}

describe("a log", () => {
  test("is closed by the call that uses up the node's bytes, the one used last excepted", async () => {
    using node = openCounted(8_192);
    const [idle, long] = [await open(), await open()];
    await node.write(idle, 1, 1);
    for (const first of [1, 2]) await node.write(long, first, 8_192);
    await node.write(idle, 2, 1);
    await node.write(long, 3, 1);
    expect(node.reads).toEqual([idle, long, idle, long].map(({ generation }) => generation));
  });

  test("is read once by each of the nodes whose turns it is written in", async () => {
    using near = openCounted();
    using far = openCounted();
    const opened = await open();
    // Each turn has more entries than a call has tries.
    for (let first = 1; first <= 200; first++)
      await (Math.floor(first / 50) % 2 === 0 ? near : far).write(opened, first, 1);
    expect([near.reads, far.reads]).toEqual([[opened.generation], [opened.generation]]);
    const { json } = await call(`${platform.node.url}/v1/generations/${opened.generation}`);
    expect(json).toMatchObject({ text: "x".repeat(200) });
  });
});
