import { connectBroker } from "@reprise/broker";
import { subscribeLive } from "@reprise/stream";
import { subscribeVerdicts } from "@reprise/moderation";
import { decodeEvent, type GenerationRef, textOf, type Verdict } from "@reprise/protocol";
import { type Samples, summarize } from "../measure/samples.ts";
import type { RepriseTarget } from "../targets/reprise/target.ts";

export interface HeldWatch extends AsyncDisposable {
  /** Characters that were judged and not cleared, at each verdict so far. */
  samples(): Samples;
}

/** Streams to watch: watching takes CPU from what is measured. */
const WATCHED = 10;

/** Compares the stored text with the cleared text, from the live feeds of some generations. */
export async function watchHeld({ natsUrl, refs }: RepriseTarget): Promise<HeldWatch> {
  const broker = await connectBroker({ url: natsUrl, name: "bench-held" });
  const held: number[] = [];
  for (const ref of refs.slice(0, WATCHED)) watch(ref);
  await broker.main.flush();

  function watch(ref: GenerationRef): void {
    const lengths: number[] = [];
    let waiting: Verdict[] = [];
    let judged = -1;
    const count = (verdict: Verdict) => {
      // Stored verdicts come a second time.
      if (verdict.judged <= judged) return;
      judged = verdict.judged;
      let characters = 0;
      for (let seq = verdict.cleared + 1; seq <= verdict.judged; seq++) characters += lengths[seq] ?? 0;
      held.push(characters);
    };
    subscribeLive(broker.main, ref, {
      onEvent(payload) {
        const event = decodeEvent(payload);
        lengths[event.seq] = textOf(event).length;
        for (const verdict of waiting) if (verdict.judged <= event.seq) count(verdict);
        waiting = waiting.filter((verdict) => verdict.judged > event.seq);
      },
      onError: console.error,
    });
    subscribeVerdicts(broker.main, ref, {
      onVerdict: (verdict) => (verdict.judged < lengths.length ? count(verdict) : waiting.push(verdict)),
      onError: console.error,
    });
  }

  return { samples: () => summarize(held), [Symbol.asyncDispose]: () => broker.close() };
}
