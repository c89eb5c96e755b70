import type { Publish, PublishOutcome } from "@reprise/broker";

/** Possible fates of one publish on its way to the broker and back. */
export const FATES = ["delivered", "answer_lost", "lost", "late_before_next", "late_after_next"] as const;
export type Fate = (typeof FATES)[number];

const TIMEOUT: PublishOutcome = { kind: "unavailable", reason: "timeout" };

/**
 * A publish whose n-th call meets the fate that `fateOf(n)` names. The late ones are answered with a timeout and arrive at the
 * broker only when the next publish is made: right before it or right after it.
 */
export function createFaultyPublish(publish: Publish, fateOf: (call: number) => Fate): Publish {
  let calls = 0;
  let before: (() => Promise<unknown>)[] = [];
  let after: (() => Promise<unknown>)[] = [];
  return async (subject, payload, options) => {
    const fate = fateOf(calls++);
    const send = () => publish(subject, payload, options);
    const [early, late] = [before, after];
    [before, after] = [[], []];
    for (const delayed of early) await delayed();
    let outcome: PublishOutcome = TIMEOUT;
    if (fate === "delivered") outcome = await send();
    else if (fate === "answer_lost") await send();
    else if (fate === "late_before_next") before.push(send);
    else if (fate === "late_after_next") after.push(send);
    for (const delayed of late) await delayed();
    return outcome;
  };
}
