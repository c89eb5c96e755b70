import type { Archive, ArchiveReader } from "@reprise/archive";
import { Semaphore } from "@reprise/async";
import { answerCalls, type CallAnswer, type Broker } from "@reprise/broker";
import {
  AUDIT_CALLS,
  AUDIT_MORE_HEADER,
  AUDIT_QUEUE,
  type AuditCall,
  auditCallSubject,
  auditEventsRequestSchema,
  auditRecordRequestSchema,
  auditSearchSchema,
  type ErrorCode,
  isTenantId,
  parseWith,
  RepriseError,
  type TenantId,
  toRepriseError,
} from "@reprise/protocol";
import type { ArchiveSearch } from "../search/archive-search.ts";
import { toEventsPage } from "./events-page.ts";
import { FreshArchive } from "./fresh-archive.ts";
import { readGenerationRecord } from "./generation-record.ts";
import { shownEvents } from "./shown-events.ts";

export interface AnsweringOptions {
  connection: Broker["main"];
  /** Read up to date by the answers. */
  archive: Archive;
  /** A reader of the same archive. */
  reader: ArchiveReader;
  search: Pick<ArchiveSearch, "search">;
  /** Called for each call once it is answered. */
  onAnswered?: ((call: AnsweredCall) => void) | undefined;
  onError: (error: unknown) => void;
}

/** Nothing in it is the caller's own text. */
export interface AnsweredCall {
  readonly call: AuditCall;
  /** Undefined where the request names none. */
  readonly tenant: TenantId | undefined;
  readonly ms: number;
  /** `ok`, or the error's code. */
  readonly result: "ok" | ErrorCode;
}

/** Answers at a time: each may hold a segment of some megabytes. */
const MOST_ANSWERS = 8;
/** Calls that may wait for their turn; more are told to come again. */
const MOST_WAITING = 256;
/** Milliseconds until commits of another process are known at the latest. */
const MAX_AGE_MS = 1_000;

/** Answers the calls of `protocol`'s `audit-call.ts` until it is disposed of, which waits for the answers under way. */
export function startAnswering({
  connection,
  archive,
  reader,
  search,
  onAnswered,
  onError,
}: AnsweringOptions): AsyncDisposable {
  const fresh = new FreshArchive({ archive, maxAgeMs: MAX_AGE_MS, now: () => performance.now() });
  const gate = new Semaphore(MOST_ANSWERS);
  let waiting = 0;

  const inTurn = async (answer: () => Promise<CallAnswer>) => {
    if (waiting >= MOST_ANSWERS + MOST_WAITING) {
      throw new RepriseError("audit_unavailable", `${waiting} calls to the audit log wait already.`, {
        retryAfterMs: 1_000,
      });
    }
    waiting++;
    try {
      return await gate.run(answer);
    } finally {
      waiting--;
    }
  };

  /** An object that is not found may have been committed a moment ago. */
  const found = async (answer: () => Promise<CallAnswer>) => {
    await fresh.ensureFresh();
    try {
      return await answer();
    } catch (error) {
      if (toRepriseError(error).code !== "generation_not_found") throw error;
      await fresh.refresh();
      return answer();
    }
  };

  const answers: Record<AuditCall, (request: unknown) => Promise<CallAnswer>> = {
    async search(request) {
      const query = parseWith(auditSearchSchema, request, "request");
      await fresh.ensureFresh();
      return { payload: JSON.stringify(await search.search(query)) };
    },
    async record(request) {
      const ref = parseWith(auditRecordRequestSchema, request, "request");
      return found(async () => ({ payload: JSON.stringify(await readGenerationRecord(reader, ref)) }));
    },
    async events(request) {
      const {
        from_seq: fromSeq,
        max_bytes: maxBytes,
        original,
        ...ref
      } = parseWith(auditEventsRequestSchema, request, "request");
      return found(async () => {
        const { lines, more } = await toEventsPage(shownEvents(reader, ref, { fromSeq, original }), maxBytes);
        return { payload: lines, ...(more && { headers: { [AUDIT_MORE_HEADER]: "1" } }) };
      });
    },
  };

  const stack = new AsyncDisposableStack();
  for (const call of AUDIT_CALLS) {
    const answer = async (request: unknown) => {
      const askedAtMs = performance.now();
      let result: AnsweredCall["result"] = "ok";
      try {
        return await inTurn(() => answers[call](request));
      } catch (error) {
        result = toRepriseError(error).code;
        throw error;
      } finally {
        const ms = Math.round(performance.now() - askedAtMs);
        onAnswered?.({ call, tenant: tenantOf(request), ms, result });
      }
    };
    stack.use(
      answerCalls({ connection, subject: auditCallSubject(call), queue: AUDIT_QUEUE, answer, onError }),
    );
  }
  return stack;
}

function tenantOf(request: unknown): TenantId | undefined {
  if (typeof request !== "object" || request === null || !("tenant" in request)) return undefined;
  const { tenant } = request;
  return typeof tenant === "string" && isTenantId(tenant) ? tenant : undefined;
}
