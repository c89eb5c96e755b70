import { type GenerationLog, storeVerdict } from "@reprise/log";
import {
  decodeEvent,
  type Finding,
  type GenerationRef,
  type JudgedBy,
  type KnownEvent,
  peekType,
  type Verdict,
} from "@reprise/protocol";
import { addSpan, clipSpans } from "../domain/coverage.ts";
import type { JudgedAttempt } from "../domain/judge.ts";

/** All that a judge knows for a verdict. */
export interface VerdictUpdate extends Pick<Verdict, "judged" | "cleared" | "decided"> {
  readonly attempt: number;
  readonly nonce: string | undefined;
  /** The first event of the attempt. */
  readonly attemptFromSeq: number;
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  readonly classified: number;
  readonly unjudged: NonNullable<Verdict["unjudged"]>;
  /** Whether it covers every event that was folded; else a further update follows. */
  readonly isComplete: boolean;
  /** Whether it ends the generation, or decides something: then it is stored at once. */
  readonly isUrgent: boolean;
}

type StartedEvent = Extract<KnownEvent, { type: "generation.started" }>;
type AnnouncedVerdict = Pick<Verdict, "judged" | "cleared" | "decided" | "nonce">;

/** So many events are not stored one by one: readers have the live verdict. */
const EVERY_EVENTS = 64;
const STORE_TRIES = 3;
const MAX_UNJUDGED = 100;

/**
 * The verdict on one generation as VERDICTS keeps it, and how far that is behind what was judged. It is what a restarted process goes
 * on from, and the proof of what was judged: what the consumer acknowledges never runs ahead of it.
 */
export class VerdictWriter {
  readonly #log: GenerationLog;
  readonly #ref: GenerationRef;
  readonly #by: JudgedBy;
  #stored: Verdict | undefined;
  #streamSeq: number;
  #word: VerdictUpdate | undefined;
  #isStored = true;
  #said: AnnouncedVerdict = { judged: -1, cleared: -1, decided: -1 };
  /** The stream sequences of the first events that were folded and not announced; announced and not stored; announced and being stored. */
  #unsaidFrom: number | undefined;
  #unstoredFrom: number | undefined;
  #storingFrom: number | undefined;
  #unstored = 0;
  #storing: Promise<void> | undefined;

  private constructor(
    log: GenerationLog,
    ref: GenerationRef,
    by: JudgedBy,
    stored?: { verdict: Verdict; streamSeq: number },
  ) {
    this.#log = log;
    this.#ref = ref;
    this.#by = by;
    this.#stored = stored?.verdict;
    this.#streamSeq = stored?.streamSeq ?? 0;
  }

  /** @throws RepriseError `broker_unavailable` */
  static async open(log: GenerationLog, ref: GenerationRef, by: JudgedBy): Promise<VerdictWriter> {
    return new VerdictWriter(log, ref, by, await log.verdicts.readVerdictFromLeader(ref));
  }

  /** What was stored before, by this process or another one, and was not forgotten. */
  get stored(): Verdict | undefined {
    return this.#stored;
  }

  /**
   * Discards the stored verdict when the log has an attempt that shows that it was about events that the store has lost. Nothing of it counts
   * then, not even of earlier events: what classifiers had withdrawn of them may be lost as well. Only which rules have judged those stays known.
   * @returns whether it was forgotten: then what was left out on its word is still to be done
   */
  discardLost(events: readonly Uint8Array[]): boolean {
    for (const payload of events) {
      if (peekType(payload) !== "generation.started") continue;
      const { attempt, nonce, seq } = decodeEvent(payload) as StartedEvent;
      if (!this.#isOfLost({ attempt, nonce, fromSeq: seq })) continue;
      this.#forget(seq);
      return true;
    }
    return false;
  }

  /** Whether what is stored speaks of a later attempt than a log has: one that is lost, or that was not read. */
  isAheadOf(events: readonly Uint8Array[]): boolean {
    return (this.#stored?.attempt ?? 0) > (lastStartedIn(events)?.attempt ?? 0);
  }

  /** As `discardLost`, for a log as its leader has it, whole: an attempt that it does not have is lost. */
  discardLostOf(events: readonly Uint8Array[]): void {
    if (this.discardLost(events) || !this.isAheadOf(events)) return;
    this.#forget(lastStartedIn(events)?.seq ?? 0);
  }

  /** The stream sequence of the first event that is folded and not in what is stored. */
  get unstoredFrom(): number | undefined {
    return this.#storingFrom ?? this.#unstoredFrom ?? this.#unsaidFrom;
  }

  /** Tells of an event that is folded and lies at this place of the stream. */
  folded(streamSeq: number): void {
    this.#unsaidFrom ??= streamSeq;
    this.#unstored++;
  }

  /** Whether readers' nodes would learn anything from it. */
  hasChanged({ judged, cleared, decided, nonce }: AnnouncedVerdict): boolean {
    const said = this.#said;
    const isSame = judged === said.judged && cleared === said.cleared && decided === said.decided;
    if (isSame && nonce === said.nonce) return false;
    this.#said = { judged, cleared, decided, nonce };
    return true;
  }

  update(word: VerdictUpdate): void {
    this.#word = word;
    this.#isStored = false;
    if (word.isComplete) {
      this.#unstoredFrom ??= this.#unsaidFrom;
      this.#unsaidFrom = undefined;
    }
    // What can't be published is tried again by the next sweep, which tells of it.
    if (word.isUrgent || this.#unstored >= EVERY_EVENTS) this.store().catch(() => {});
  }

  /** Resolves when it is stored, or could not be: then it is tried again with the next one. Rejects with what the client does not send. */
  async store(): Promise<void> {
    if (this.#storing) return this.#storing;
    if (this.#isStored || !this.#word) return;
    this.#storing = this.#store(this.#word).finally(() => (this.#storing = undefined));
    return this.#storing;
  }

  /** @param fromSeq where the log has something else than what was judged */
  #forget(fromSeq: number): void {
    const spans = clipSpans(this.#stored?.spans ?? [], fromSeq);
    this.#stored = { judged: 0, cleared: 0, decided: 0, spans };
  }

  async #store(word: VerdictUpdate): Promise<void> {
    this.#isStored = true;
    this.#storingFrom = this.#unstoredFrom;
    this.#unstoredFrom = undefined;
    this.#unstored = 0;
    let isDone = false;
    try {
      for (let tries = 0; tries < STORE_TRIES && !isDone; tries++) isDone = await this.#tryToStore(word);
    } finally {
      if (!isDone) {
        this.#isStored = false;
        this.#unstoredFrom = this.#storingFrom ?? this.#unstoredFrom;
      }
      this.#storingFrom = undefined;
    }
  }

  async #tryToStore(word: VerdictUpdate): Promise<boolean> {
    const verdict = this.#merged(word);
    const { publish, verdicts } = this.#log;
    const outcome = await storeVerdict(publish, this.#ref, verdict, { expectedLast: this.#streamSeq });
    if (outcome.kind === "stored") {
      this.#stored = verdict;
      this.#streamSeq = outcome.streamSeq;
      return true;
    }
    // Another replica has written, or our own answer was lost: what is stored is taken in.
    const present = await verdicts.readVerdictFromLeader(this.#ref).catch(() => undefined);
    if (present) {
      this.#stored = present.verdict;
      this.#streamSeq = present.streamSeq;
    }
    return false;
  }

  /** Whether the stored verdict is about events that the store has lost, as this attempt shows. Without a nonce the number alone decides. */
  #isOfLost({ attempt, nonce, fromSeq }: JudgedAttempt): boolean {
    const { attempt: storedAttempt = 0, nonce: storedNonce, judged = 0 } = this.#stored ?? {};
    if (storedAttempt === attempt) return storedNonce !== undefined && storedNonce !== nonce;
    return storedAttempt < attempt && judged >= fromSeq;
  }

  /** A stored verdict never shrinks, unless it was about events that the store has lost, as a later attempt shows. */
  #merged(word: VerdictUpdate): Verdict {
    const {
      judged,
      cleared,
      decided,
      attempt,
      nonce,
      attemptFromSeq,
      findings,
      findingCount,
      classified,
      unjudged,
    } = word;
    const isOfLost = this.#isOfLost({ attempt, nonce, fromSeq: attemptFromSeq });
    const stored = isOfLost ? undefined : this.#stored;
    const spans = clipSpans(this.#stored?.spans ?? [], isOfLost ? attemptFromSeq : Number.POSITIVE_INFINITY);
    return {
      judged: Math.max(judged, stored?.judged ?? 0),
      cleared: Math.max(cleared, stored?.cleared ?? 0),
      decided: Math.max(decided, stored?.decided ?? 0),
      attempt: Math.max(attempt, stored?.attempt ?? 0),
      nonce: (stored?.attempt ?? 0) > attempt ? stored?.nonce : nonce,
      spans: addSpan(spans, judged, this.#by),
      findings: findings.length >= (stored?.findings?.length ?? 0) ? [...findings] : stored!.findings!,
      finding_count: Math.max(findingCount, stored?.finding_count ?? 0),
      ...(classified > 0 && { classified: Math.max(classified, stored?.classified ?? 0) }),
      ...toUnjudged([...(stored?.unjudged ?? []), ...unjudged]),
    };
  }
}

function lastStartedIn(events: readonly Uint8Array[]): StartedEvent | undefined {
  const payload = events.findLast((one) => peekType(one) === "generation.started");
  return payload && (decodeEvent(payload) as StartedEvent);
}

/** Windows that no classifier has judged stay unjudged in later verdicts too: the first of them, each once. */
function toUnjudged(windows: VerdictUpdate["unjudged"]): Pick<Verdict, "unjudged"> {
  const byName = new Map(windows.map((one) => [`${one.from_seq} ${one.to_seq} ${one.classifier}`, one]));
  return byName.size > 0 ? { unjudged: [...byName.values()].slice(0, MAX_UNJUDGED) } : {};
}
