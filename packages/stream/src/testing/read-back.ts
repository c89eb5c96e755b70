import {
  decodeEvent,
  type GenerationRef,
  type KnownEvent,
  type UnknownEvent,
  asStreamSeq,
} from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import type { GenerationLog } from "../read/generation-log.ts";

/** All events of a log as its leader has them, decoded, as soon as that can be asked: a connection may just be coming back. */
export async function readBack(
  log: GenerationLog,
  ref: GenerationRef,
): Promise<(KnownEvent | UnknownEvent)[]> {
  const events = await eventually(() => log.leader.readTail(ref, asStreamSeq(0)));
  return events.map(({ payload }) => decodeEvent(payload));
}

export function textOf(events: readonly (KnownEvent | UnknownEvent)[]): string {
  return events.map((event) => (event.type === "output.delta" ? event.text : "")).join("");
}

export function seqsOf(events: readonly { seq: number }[]): number[] {
  return events.map(({ seq }) => seq);
}

/** 0, 1, 2, … */
export function denseSeqs(count: number): number[] {
  return Array.from({ length: count }, (_, seq) => seq);
}
