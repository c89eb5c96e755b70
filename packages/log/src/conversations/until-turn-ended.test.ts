import { setImmediate } from "node:timers/promises";
import { asSeq, type EventDraft } from "@reprise/protocol";
import { expect, test } from "vitest";
import {
  appenderOf,
  appendOne,
  completed,
  delta,
  newRef,
  openWorld,
  requested,
  started,
} from "../testing/world.ts";
import { untilTurnEnded } from "./until-turn-ended.ts";
import { readWaitedTurns } from "./waited-turns.ts";

const CALL: EventDraft = { type: "tool.call", call_id: "c1", name: "f", arguments: "{}" };
const REDACTED: EventDraft = {
  type: "moderation.redacted",
  from_seq: asSeq(2),
  to_seq: asSeq(2),
  replacement: "[removed]",
  rule: "r",
  category: "c",
};

test.each([
  ["an end", completed()],
  ["what moderation decides, for there may be an end before it", REDACTED],
])(
  "what moderation has decided before the log was read ends no wait for it, and %s does",
  async (_, next) => {
    await using world = await openWorld();
    const { log, broker, errors } = world;
    const ref = newRef();
    const appender = appenderOf(log, ref);
    for (const draft of [requested(ref), started(), delta("A secret."), CALL, REDACTED])
      await appendOne(appender, draft);
    const waited = await readWaitedTurns(log, ref.tenant, [ref.generation]);
    expect(waited).toEqual({ kind: "running", generation: ref.generation, seq: 4 });
    const steps: string[] = [];
    const looked = Promise.withResolvers<void>();
    const waiting = untilTurnEnded(ref, {
      connection: broker.main,
      log: {
        reader: {
          async readLast(of) {
            const last = await log.reader.readLast(of);
            looked.resolve();
            return last;
          },
        },
      },
      seq: asSeq(4),
      onError: (error) => void errors.push(error),
      signal: new AbortController().signal,
    }).then(() => steps.push("over"));
    await looked.promise;
    await setImmediate();
    steps.push("stored");
    await appendOne(appender, next);
    await waiting;
    expect(steps).toEqual(["stored", "over"]);
    expect(errors).toEqual([]);
  },
);
