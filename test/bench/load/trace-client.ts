import { Agent } from "node:http";
import { serveParent } from "../children/serve-parent.ts";
import { untilMicros } from "../measure/clock.ts";
import { Histogram, type Percentiles } from "../measure/histogram.ts";
import type { Arrival } from "../scenarios/trace/trace-file.ts";
import { sendReplayed } from "./replayed-request.ts";

export interface TraceOrder {
  url: string;
  apiKey: string;
  /** When the first request is due; the others follow as the arrivals say. */
  startMicros: number;
  arrivals: readonly Arrival[];
  /** Whether each request's first token is told too. */
  isEachTold?: boolean;
}

/** A request: when it was due behind the first one, and when its first token came behind that. In milliseconds. */
export interface FirstToken {
  readonly dueMs: number;
  readonly afterMs: number;
}

export interface TraceMeasured {
  /** How many requests ended how; in order is `generation.completed`. */
  readonly ends: Readonly<Record<string, number>>;
  readonly tokens: number;
  /** From the moment a request was due to its first token, in microseconds. */
  readonly timeToFirstToken: Percentiles;
  /** Between two tokens of one answer, in microseconds; those that came together count as one. */
  readonly interTokenLatency: Percentiles;
  readonly mostAtOnce: number;
  readonly firstTokens?: readonly FirstToken[];
}

const never = new AbortController().signal;

/** Open loop: each request goes out when it is due, however many are still being answered. */
async function replay({
  url,
  apiKey,
  startMicros,
  arrivals,
  isEachTold,
}: TraceOrder): Promise<TraceMeasured> {
  const agent = new Agent({ keepAlive: true });
  const timeToFirstToken = new Histogram();
  const interTokenLatency = new Histogram();
  const ends: Record<string, number> = {};
  const firstTokens: FirstToken[] = [];
  let [tokens, open, mostAtOnce] = [0, 0, 0];

  async function run({ atMicros, inputTokens, outputTokens }: Arrival): Promise<void> {
    const dueMicros = startMicros + atMicros;
    await untilMicros(dueMicros, never);
    mostAtOnce = Math.max(mostAtOnce, ++open);
    let lastMicros = 0;
    const onTokens = (count: number, now: number) => {
      tokens += count;
      if (lastMicros === 0) {
        timeToFirstToken.record(now - dueMicros);
        firstTokens.push({ dueMs: atMicros / 1e3, afterMs: (now - dueMicros) / 1e3 });
      } else interTokenLatency.record(now - lastMicros);
      lastMicros = now;
    };
    const end = await sendReplayed({ url, apiKey, agent, inputTokens, outputTokens, onTokens });
    ends[end] = (ends[end] ?? 0) + 1;
    open--;
  }

  await Promise.all(arrivals.map(run));
  agent.destroy();
  return {
    ends,
    tokens,
    timeToFirstToken: timeToFirstToken.percentiles(),
    interTokenLatency: interTokenLatency.percentiles(),
    mostAtOnce,
    ...(isEachTold && { firstTokens }),
  };
}

serveParent({ replay });
