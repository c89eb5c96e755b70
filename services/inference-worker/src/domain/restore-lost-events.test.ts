import { asSeq, encodeEvent, type EventDraft, parseWorkerId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { delta, started } from "../testing/drafts.ts";
import { transcriptOf } from "../testing/world.ts";
import { restoreLostEvents } from "./restore-lost-events.ts";

test("an interrupt is restored with what was heard and how far the input is consumed", () => {
  const requested = {
    type: "generation.requested",
    request: { model: "sim", input: [] },
  } as unknown as EventDraft;
  const history: EventDraft[] = [
    requested,
    started(1),
    delta("heard"),
    delta(" unheard"),
    { type: "output.rewind", to_seq: asSeq(2), reason: "interrupted", consumed: asSeq(4) },
  ];
  const held = history.map((draft, seq) => encodeEvent(asSeq(seq), draft));
  const restored = restoreLostEvents({ held, kept: 2, worker: parseWorkerId("w"), nonce: "00000a" });
  const log = [...history.slice(0, 2), ...restored].map((draft, seq) => ({ ...draft, seq: asSeq(seq) }));
  const transcript = transcriptOf(log as Parameters<typeof transcriptOf>[0]);
  expect(transcript.text).toBe("heard");
  expect(transcript.consumed).toBe(4);
  expect(transcript.interrupt).toMatchObject({ reason: "interrupted" });
});
