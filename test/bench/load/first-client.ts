import { hash, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { type Broker, connectBroker } from "@reprise/broker";
import {
  CHECKPOINTS_STREAM,
  checkpointSubject,
  deriveGenerationId,
  type GenerationRef,
  jobSubject,
  liveSubject,
  logSubject,
  parseTenantId,
  peekSeq,
  streamOf,
} from "@reprise/protocol";
import { serveParent } from "../children/serve-parent.ts";
import { FIRST_TERMS, type FirstMeasured, type FirstOrder, type FirstTerm } from "./first-terms.ts";

/** When something was seen for the first time. */
type Seen = Partial<
  Record<"looked" | "queued" | "requested" | "loading" | "starting" | "started" | "said", number>
>;

const MODEL = "sim";
const BODY = JSON.stringify({ model: MODEL, input: "bench", options: { tokens: 4, tokens_per_second: 0 } });
const DELTA = '"type":"output.delta"';
const WARM_UP_CALLS = 20;

async function measure(order: FirstOrder): Promise<FirstMeasured> {
  await using stack = new AsyncDisposableStack();
  const agent = stack.adopt(new Agent({ keepAlive: true }), (each) => each.destroy());
  const broker =
    order.natsUrl === undefined
      ? undefined
      : stack.use(await connectBroker({ url: order.natsUrl, name: "bench-first" }));
  const creates: number[] = [];
  const firsts: number[] = [];
  const terms = Object.fromEntries(FIRST_TERMS.map((term) => [term, [] as number[]])) as Record<
    FirstTerm,
    number[]
  >;
  for (let call = -WARM_UP_CALLS; call < order.calls; call++) {
    const key = randomUUID();
    const create = await send(order, agent, { accept: "application/json", key: randomUUID() });
    await delay(order.gapMs);
    const watched = broker && (await watch(broker, refOf(order, key)));
    const sentAt = performance.now();
    const first = await send(order, agent, { accept: "text/event-stream", key });
    const seen = watched?.stop() ?? {};
    if (call >= 0) {
      creates.push(create);
      firsts.push(first);
      for (const [term, ms] of termsOf(sentAt, seen, sentAt + first)) if (ms >= 0) terms[term].push(ms);
    }
    await delay(order.gapMs);
  }
  return { creates, firsts, terms };
}

function refOf({ tenant, shards }: FirstOrder, key: string): GenerationRef {
  const id = parseTenantId(tenant);
  const sha256 = (text: string) => hash("sha256", text, "buffer");
  return { tenant: id, generation: deriveGenerationId(id, key, shards, sha256) };
}

/** Watches a generation that is about to be created. */
async function watch({ main }: Broker, ref: GenerationRef): Promise<{ stop: () => Seen }> {
  const seen: Seen = {};
  const note = (what: keyof Seen) => void (seen[what] ??= performance.now());
  const on = (subject: string, tell: (payload: Uint8Array) => void) =>
    main.subscribe(subject, { callback: (_error, { data }) => tell(data) });
  const direct = (stream: string, subject: string) => `$JS.API.DIRECT.GET.${stream}.${subject}`;
  const subscriptions = [
    on(direct(CHECKPOINTS_STREAM, checkpointSubject(ref)), () => note("looked")),
    on(jobSubject(MODEL, ref), () => note("queued")),
    on(direct(streamOf(ref.generation), logSubject(ref)), () => note("loading")),
    on(logSubject(ref), (payload) => peekSeq(payload) === 1 && note("starting")),
    on(liveSubject(ref), (payload) => {
      const what = (["requested", "started", "said"] as const)[peekSeq(payload)];
      if (what) note(what);
    }),
  ];
  await main.flush();
  return {
    stop() {
      for (const subscription of subscriptions) subscription.unsubscribe();
      return seen;
    },
  };
}

/** NaN where something was not seen. */
function termsOf(sentAt: number, seen: Seen, firstAt: number): [FirstTerm, number][] {
  const at = (what: keyof Seen) => seen[what] ?? Number.NaN;
  return [
    ["validate", at("looked") - sentAt],
    ["look for the key", at("queued") - at("looked")],
    ["job, seq 0", at("requested") - at("queued")],
    ["pull", at("loading") - at("queued")],
    ["load", at("starting") - at("loading")],
    ["started", at("started") - at("starting")],
    ["first delta", at("said") - at("started")],
    ["hub, socket", firstAt - at("said")],
  ];
}

/** Resolves with the milliseconds to the first delta, or to the end of an answer that has none. */
function send(
  { url, apiKey }: FirstOrder,
  agent: Agent,
  { accept, key }: { accept: string; key: string },
): Promise<number> {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    accept,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(BODY),
    "idempotency-key": key,
  };
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const startedAt = performance.now();
  const sent = request(`${url}/v1/generations`, { method: "POST", agent, headers }, (response) => {
    let text = "";
    let first: number | undefined;
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      text += chunk;
      if (first === undefined && text.includes(DELTA)) first = performance.now() - startedAt;
    });
    // The generation is read to its end, so that the next call meets an idle platform.
    response.on("end", () => resolve(first ?? performance.now() - startedAt));
    response.on("error", reject);
  });
  sent.on("error", reject);
  sent.end(BODY);
  return promise;
}

serveParent({ measure });
