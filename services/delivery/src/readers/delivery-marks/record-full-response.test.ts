import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { Http2ServerResponse } from "node:http2";
import { createGenerationId, parseTenantId, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { Reader } from "../reader.ts";
import { recordFullResponse } from "./record-full-response.ts";

const REF = { tenant: parseTenantId("acme"), generation: createGenerationId(new Uint8Array(17), 1) };

/** An answer that is recorded, and its response to a client. */
function openAnswer(lastSeq: number, state: { destroyed?: boolean } = {}) {
  const entered: Reader[] = [];
  const left: Reader[] = [];
  const readers = {
    enter: (reader: Reader) => (entered.push(reader), () => void left.push(reader)),
  };
  const raw = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false }, state);
  const caller = { by: "ann", address: "public" } as const;
  const answer = { ref: REF, protocol: "page", caller, fromSeq: asSeq(3), lastSeq: asSeq(lastSeq) } as const;
  recordFullResponse({ readers }, { raw: raw as unknown as ServerResponse }, answer);
  const takenSeqs = () => entered.map(({ record }) => record?.mark().seq);
  return { entered, left, raw, takenSeqs };
}

test("an answer is taken when all of it has left, and not before", () => {
  const { entered, left, raw, takenSeqs } = openAnswer(9);
  expect([takenSeqs(), left.length]).toEqual([[2], 0]);
  raw.writableFinished = true;
  raw.emit("close");
  expect([left, takenSeqs()]).toEqual([entered, [9]]);
});

test("an answer whose client left in the middle of it is not taken", () => {
  const { entered, left, raw, takenSeqs } = openAnswer(9);
  raw.emit("close");
  expect([left, takenSeqs()]).toEqual([entered, [2]]);
});

test("a response without an event, or on a closed connection, is not recorded", () => {
  expect(openAnswer(2).entered).toEqual([]);
  expect(openAnswer(9, { destroyed: true }).entered).toEqual([]);
  const entered: Reader[] = [];
  const readers = { enter: (reader: Reader) => (entered.push(reader), () => {}) };
  const stream = { value: { destroyed: true, closed: true } };
  const raw = Object.create(Http2ServerResponse.prototype, { stream }) as ServerResponse;
  const caller = { by: "ann", address: "public" } as const;
  const answer = { ref: REF, protocol: "page", caller, fromSeq: asSeq(3), lastSeq: asSeq(9) } as const;
  recordFullResponse({ readers }, { raw }, answer);
  expect(entered).toEqual([]);
});
