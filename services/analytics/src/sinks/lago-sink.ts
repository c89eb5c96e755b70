import type { UsageEvent } from "@reprise/facts";
import { toLagoEvent } from "./lago-event.ts";
import type { UsageSink } from "./usage-sink.ts";

export interface LagoSinkOptions {
  /** Base URL of Lago's API, without `/api/v1`. */
  readonly url: string;
  /** Its API key. */
  readonly key: string;
  /** Code of the billable metric. */
  readonly code: string;
  /** Timeout of a request to Lago. Default 20 s. */
  readonly timeoutMs?: number;
}

/** Lago's errors for the events of a refused batch, by their index in it: the problems of each field. */
type Refusals = ReadonlyMap<number, Readonly<Record<string, readonly string[]>>>;

const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 262_144;
const UNPROCESSABLE = 422;
const IS_THERE = "value_already_exist";

/**
 * Lago's batches of events: `transaction_id` is the generation, `external_subscription_id` the tenant. Lago takes a batch whole or not at all, and refuses one that holds an event which it
 * has: those are delivered, and the others of the batch are sent again without them. Any other refusal is an error.
 */
export function createLagoSink({ url, key, code, timeoutMs = TIMEOUT_MS }: LagoSinkOptions): UsageSink {
  const endpoint = `${url.replace(/\/+$/, "")}/api/v1/events/batch`;
  const send = async (events: readonly UsageEvent[], signal: AbortSignal): Promise<Refusals> => {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ events: events.map((event) => toLagoEvent(event, code)) }),
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const answer = response.status === UNPROCESSABLE ? await readText(response) : "";
    await response.body?.cancel();
    if (response.ok) return new Map();
    const refusals = parseRefusals(answer);
    if (!refusals) throw new Error(`Lago answered ${response.status}.`);
    return refusals;
  };
  return {
    name: "lago",
    async deliver({ events }, signal) {
      let missing = events;
      while (missing.length > 0) {
        const refusals = await send(missing, signal);
        if (refusals.size === 0) return;
        const others = [...refusals].find(([, fields]) => !isThere(fields));
        if (others) throw new Error(describeRefusal(missing[others[0]], others[1]));
        const before = missing.length;
        missing = missing.filter((_, i) => !refusals.has(i));
        if (missing.length === before) throw new Error("Lago refused events that were not sent.");
      }
    },
  };
}

/** Empty for an answer that is too long to be one of Lago's. */
async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) return "";
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function isThere({ transaction_id: problems = [], ...others }: Readonly<Record<string, readonly string[]>>) {
  return Object.keys(others).length === 0 && problems.length === 1 && problems[0] === IS_THERE;
}

/** Undefined for an answer of another form: it may be a proxy's. */
function parseRefusals(answer: string): Refusals | undefined {
  try {
    const { error_details: details } = JSON.parse(answer) as {
      error_details?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
    };
    const refusals = Object.entries(details ?? {}).map(([place, fields]) => [Number(place), fields] as const);
    const isWhole = refusals.every(([place]) => Number.isSafeInteger(place));
    return isWhole && refusals.length > 0 ? new Map(refusals) : undefined;
  } catch {
    return undefined;
  }
}

function describeRefusal(
  event: UsageEvent | undefined,
  fields: Readonly<Record<string, readonly string[]>>,
): string {
  const problems = Object.entries(fields).map(([field, list]) => `${field} ${[list].flat().join(", ")}`);
  return `Lago refused the usage of ${event?.id} (tenant ${event?.subject}): ${problems.join("; ").slice(0, 200)}.`;
}
