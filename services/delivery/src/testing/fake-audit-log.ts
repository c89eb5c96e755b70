import { answerCalls, type CallAnswer, type Broker } from "@reprise/broker";
import { type GenerationLog } from "@reprise/stream";
import {
  AUDIT_CALLS,
  AUDIT_MORE_HEADER,
  AUDIT_QUEUE,
  type AuditCall,
  type AuditEventsRequest,
  auditEventsRequestSchema,
  type AuditRecord,
  auditRecordRequestSchema,
  type AuditSearchPage,
  auditCallSubject,
  auditSearchSchema,
  decodeEvent,
  encodeCursor,
  generationNotFound,
  type GenerationRef,
  logSubject,
  parseWith,
  RepriseError,
  Transcript,
  Withdrawals,
  unixNow,
} from "@reprise/protocol";

/** Fake of the service audit-log, in memory, with the calls of `audit-call.ts`. */
export interface FakeAuditLog extends AsyncDisposable {
  /** Every call so far. */
  readonly calls: { readonly call: AuditCall; readonly request: unknown }[];
  /** Archives a log as far as it has come. */
  archive(ref: GenerationRef): Promise<void>;
  erase(ref: GenerationRef): void;
  /** Called before each answer; what it throws is the answer. */
  intercept: (call: AuditCall) => void | Promise<void>;
  /** Called for answers that are a defect. */
  onDefect: (error: unknown) => void;
}

export const SEARCH_PAGE: AuditSearchPage = { object: "list", data: [], next: "more" };

export function startFakeAuditLog({ broker, log }: { broker: Broker; log: GenerationLog }): FakeAuditLog {
  const logs = new Map<string, readonly Uint8Array[]>();
  const erased = new Set<string>();

  const eventsOf = (ref: GenerationRef) => {
    const events = logs.get(logSubject(ref));
    if (!events) throw generationNotFound();
    if (erased.has(logSubject(ref))) throw new RepriseError("generation_erased", "Its keys were destroyed.");
    return events;
  };

  const answers: Record<AuditCall, (request: unknown) => CallAnswer> = {
    search(request) {
      parseWith(auditSearchSchema, request, "request");
      return { payload: JSON.stringify(SEARCH_PAGE) };
    },
    record(request) {
      const ref = parseWith(auditRecordRequestSchema, request, "request");
      return { payload: JSON.stringify(toRecord(ref, eventsOf(ref))) };
    },
    events(request) {
      const wanted = parseWith(auditEventsRequestSchema, request, "request");
      return toPage(eventsOf(wanted), wanted);
    },
  };

  const fake: Omit<FakeAuditLog, keyof AsyncDisposable> = {
    calls: [],
    async archive(ref) {
      logs.set(logSubject(ref), (await log.reader.readLog(ref)).events);
    },
    erase: (ref) => void erased.add(logSubject(ref)),
    intercept() {},
    onDefect(error) {
      throw error;
    },
  };
  const stack = new AsyncDisposableStack();
  for (const call of AUDIT_CALLS) {
    const answer = async (request: unknown) => {
      fake.calls.push({ call, request });
      await fake.intercept(call);
      return answers[call](request);
    };
    const onError = (error: unknown) => fake.onDefect(error);
    stack.use(
      answerCalls({
        connection: broker.main,
        subject: auditCallSubject(call),
        queue: AUDIT_QUEUE,
        answer,
        onError,
      }),
    );
  }
  return Object.assign(fake, { [Symbol.asyncDispose]: () => stack.disposeAsync() });
}

function toPage(events: readonly Uint8Array[], wanted: AuditEventsRequest): CallAnswer {
  const { from_seq: fromSeq, max_bytes: maxBytes, original } = wanted;
  const transcript = new Transcript();
  const withdrawals = new Withdrawals();
  for (const payload of events) withdrawals.apply(decodeEvent(payload));
  let payload = "";
  for (const event of events) {
    const { seq } = decodeEvent(event);
    transcript.apply(decodeEvent(event));
    if (seq < (original ? fromSeq : Math.max(1, fromSeq))) continue;
    const shown = Buffer.from(original ? event : withdrawals.project(seq, event)).toString();
    const line = `${encodeCursor(transcript.cursor)} ${unixNow()} ${shown}\n`;
    if (payload !== "" && Buffer.byteLength(payload + line) > maxBytes)
      return { payload, headers: { [AUDIT_MORE_HEADER]: "1" } };
    payload += line;
  }
  return { payload };
}

function toRecord({ generation }: GenerationRef, events: readonly Uint8Array[]): AuditRecord {
  return {
    id: generation,
    object: "audit.generation",
    created_at: "2026-11-21T12:00:00.000Z",
    model: "sim",
    status: "open",
    events: events.length,
    last_at: "2026-11-21T12:00:01.000Z",
    readers: [],
    accesses: [],
    segments: [],
  };
}
