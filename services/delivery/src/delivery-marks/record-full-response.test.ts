import { EventEmitter } from "node:events";
import { createGenerationId, parseTenantId } from "@reprise/protocol";
import type { FastifyReply } from "fastify";
import { expect, test } from "vitest";
import type { DeliveryMarks } from "./delivery-marks.ts";
import type { NewConnection } from "./connection-record.ts";
import { recordFullResponse } from "./record-full-response.ts";

const REF = { tenant: parseTenantId("acme"), generation: createGenerationId(new Uint8Array(17), 1) };

/** An answer that is recorded, and its response to a client. */
function openAnswer(lastSeq: number, state: { destroyed?: boolean } = {}) {
  const readers: NewConnection[] = [];
  const left: NewConnection[] = [];
  const delivered: Pick<DeliveryMarks, "enter"> = {
    enter: (reader) => (readers.push(reader), () => void left.push(reader)),
  };
  const raw = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false }, state);
  const caller = { by: "ann", address: "public" } as const;
  const answer = { ref: REF, protocol: "page", caller, fromSeq: 3, lastSeq } as const;
  recordFullResponse({ delivered: delivered as DeliveryMarks }, { raw } as unknown as FastifyReply, answer);
  return { readers, left, raw };
}

test("an answer is taken when all of it has left, and not before", () => {
  const { readers, left, raw } = openAnswer(9);
  expect([readers[0]!.position.takenSeq, readers[0]!.position.sentSeq, left.length]).toEqual([2, 9, 0]);
  raw.writableFinished = true;
  raw.emit("close");
  expect([left, readers[0]!.position.takenSeq]).toEqual([readers, 9]);
});

test("an answer whose client left in the middle of it is not taken", () => {
  const { readers, left, raw } = openAnswer(9);
  raw.emit("close");
  expect([left, readers[0]!.position.takenSeq]).toEqual([readers, 2]);
});

test("a response without an event, or on a closed connection, is not recorded", () => {
  expect(openAnswer(2).readers).toEqual([]);
  expect(openAnswer(9, { destroyed: true }).readers).toEqual([]);
});
