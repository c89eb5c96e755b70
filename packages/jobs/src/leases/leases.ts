import {
  leaseSubject,
  leaseSubjects,
  LEASES_STREAM,
  memberSubject,
  type StreamSeq,
  STREAM_START,
} from "@reprise/protocol";
import { type Broker, readStreamMessages, type Publish } from "@reprise/broker";
import { type LeaseRecord, planLeases } from "./plan-leases.ts";

export interface LeasesOptions {
  broker: Broker;
  publish: Publish;
  /** Who shares the work, and the pieces of it. Both are tokens of a subject. */
  group: string;
  names: readonly string[];
  /** This process. No other has this name. */
  holder: string;
  /** Begins with a piece of the work. */
  onGained: (name: string) => void;
  /** Ends with a piece of the work: another process has it, or is to have it. Resolves once nothing more is done for it. */
  onLost: (name: string) => Promise<void>;
  onError: (error: unknown) => void;
}

export interface Leases {
  /** Leaves a piece of work to others for a while: another process does it already. `onLost` is not called for it. */
  forfeit(name: string): void;
  /** Gives up everything, so that others can begin at once. */
  close(): Promise<void>;
}

const TICK_MS = 1_000;
/** Twice as long as a lease: by then the process that does the work holds its lease too. */
const FORFEIT_MS = 16_000;
const MAX_WORDS = 4_096;
const MAX_BYTES = 1_024 * 1_024;

/**
 * Shares pieces of work among processes: each piece has one holder at a time, and every process holds about as many as the others. A process that
 * renews nothing for eight seconds, by the broker's clock, no longer holds anything. A holder that was cut off may continue for longer than that:
 * its work must be fenced by other means.
 */
export function holdLeases(options: LeasesOptions): Leases {
  const { broker, publish, group, names, holder, onGained, onLost, onError } = options;
  const held = new Set<string>();
  /** When a piece of work may be held again. */
  const forfeited = new Map<string, number>();
  let running: Promise<void> | undefined;

  const say = (subject: string, word: object, expectedLast?: StreamSeq) =>
    publish(
      subject,
      new TextEncoder().encode(JSON.stringify(word)),
      expectedLast === undefined ? {} : { expectedLast },
    );
  const read = async (): Promise<LeaseRecord[]> => {
    const places = await readStreamMessages(broker.reads, LEASES_STREAM, {
      afterStreamSeq: STREAM_START,
      maxMessages: MAX_WORDS,
      maxBytes: MAX_BYTES,
      subject: leaseSubjects(group),
    });
    return places.map(({ subject, payload, streamSeq, storedAtUs }) => ({
      subject,
      streamSeq,
      storedAtUs,
      holder: (JSON.parse(Buffer.from(payload).toString()) as { holder: string }).holder,
    }));
  };
  const take = async (name: string, after: StreamSeq) => {
    const outcome = await say(leaseSubject(group, name), { holder }, after);
    return outcome.kind === "stored";
  };
  const lose = async (name: string) => {
    if (held.delete(name)) await onLost(name);
  };

  const tick = async () => {
    await say(memberSubject(group, holder), { holder });
    const open = names.filter((name) => performance.now() >= (forfeited.get(name) ?? 0));
    const view = { words: await read(), names: open, holder, held, group };
    const { renew, release, gain, lost } = planLeases(view);
    for (const { name } of lost) await lose(name);
    for (const { name, streamSeq } of renew) if (!(await take(name, streamSeq))) await lose(name);
    for (const { name, streamSeq } of release) {
      await lose(name);
      await say(leaseSubject(group, name), { holder: "" }, streamSeq);
    }
    for (const { name, streamSeq } of gain) {
      if (!(await take(name, streamSeq))) continue;
      held.add(name);
      onGained(name);
    }
  };
  const run = () => {
    running ??= tick()
      .catch(onError)
      .finally(() => (running = undefined));
  };
  const timer = setInterval(run, TICK_MS);
  run();

  return {
    forfeit(name) {
      held.delete(name);
      forfeited.set(name, performance.now() + FORFEIT_MS);
    },
    async close() {
      clearInterval(timer);
      await running;
      await Promise.all([...held].map((name) => lose(name)));
      try {
        for (const word of await read()) {
          if (word.holder === holder) await say(word.subject, { holder: "" }, word.streamSeq);
        }
      } catch (error) {
        onError(error);
      }
    },
  };
}
