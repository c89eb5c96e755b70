import { encodeEvent, asSeq, asStreamSeq } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import type { StoredEvent } from "../read/stored-event.ts";
import { resolvePublish } from "./resolve-publish.ts";
import { delta } from "../testing/world.ts";

function stored(seq: number, writer: string): StoredEvent {
  return { payload: encodeEvent(asSeq(seq), delta("x")), streamSeq: asStreamSeq(seq + 100), writer };
}

const SENT = { writer: "me", seq: asSeq(5) };

describe("resolvePublish", () => {
  test("finds nothing in an empty tail", () => {
    expect(resolvePublish([], SENT)).toEqual({ kind: "absent", others: [] });
  });

  test("knows our event by writer and seq, and what followed it", () => {
    const [ours, theirs] = [stored(5, "me"), stored(6, "you")];
    expect(resolvePublish([ours, theirs], SENT)).toEqual({ kind: "landed", event: ours, others: [theirs] });
  });

  test("reports another writer's event in our place as absent and stored by others", () => {
    const tail = [stored(5, "you"), stored(6, "you")];
    expect(resolvePublish(tail, SENT)).toEqual({ kind: "absent", others: tail });
  });

  test("does not take an earlier event of ours for the one that was sent", () => {
    const tail = [stored(4, "me")];
    expect(resolvePublish(tail, SENT)).toEqual({ kind: "absent", others: tail });
  });

  test("accepts our event only in the first place, the only one that compare-and-set allows", () => {
    const tail = [stored(5, "you"), stored(5, "me")];
    expect(resolvePublish(tail, SENT).kind).toBe("absent");
  });
});
