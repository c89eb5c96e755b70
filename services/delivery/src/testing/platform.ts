import { randomUUID } from "node:crypto";
import { Appender, createGenerationLog, type GenerationLog, headOf } from "@reprise/stream";
import { type Broker, connectBroker, openBroker, type Publish } from "@reprise/broker";
import {
  type EventDraft,
  type Generation,
  type GenerationRef,
  parseGenerationId,
  parseTenantId,
  asSeq,
} from "@reprise/protocol";
import { createLogger, createMetrics, createOpsHandler, startOpsServer } from "@reprise/runtime";
import {
  createTenantDirectory,
  type FixedTenantDirectory,
  parseTenantsFile,
  type TenancyConfig,
  type TenantConfig,
  hashKey,
  openTenants,
  type Tenants,
} from "@reprise/tenancy";
import { delta, eventually, startTestBroker, type TestBroker } from "@reprise/testkit";
import { type Delivery, type DeliveryOptions, startDelivery } from "../service.ts";

export { completed, delta, started } from "@reprise/testkit";

export const KEYS = {
  acme: "rk_acme_0123456789abcdef",
  acmeReader: "rk_acme_reads_only_012345",
  acmeCreator: "rk_acme_creates_only_0123",
  acmeCanceller: "rk_acme_cancels_only_0123",
  acmeTool: "rk_acme_answers_tools_only",
  acmeReviewer: "rk_acme_reviews_only_0123",
  acmeAuditor: "rk_acme_audits_only_01234",
  acmeReadingAuditor: "rk_acme_reads_and_audits_",
  beta: "rk_beta_0123456789abcdef",
  acmeUploader: "rk_acme_uploads_only_01234",
  acmeEraser: "rk_acme_erases_only_012345",
  betaUploader: "rk_beta_uploads_only_01234",
  betaAuditor: "rk_beta_audits_only_01234",
  acmeAnalyst: "rk_acme_reads_usage_only_",
  acmeAdmin: "rk_acme_administers_012345",
  operator: "ro_0123456789abcdef01234567",
} as const;

/** The tenants' policy: a busy machine ends no generation. A request may ask for shorter times. */
export const PATIENT = { timeouts: { queue: { after_ms: 600_000 } } };

const TENANTS = {
  tenants: [
    {
      id: "acme",
      policy: PATIENT,
      keys: [
        {
          secret: KEYS.acme,
          roles: ["create", "read", "cancel", "tool", "input", "produce", "review"],
          name: "ann",
        },
        { secret: KEYS.acmeReader, roles: ["read"] },
        { secret: KEYS.acmeCreator, roles: ["create"] },
        { secret: KEYS.acmeCanceller, roles: ["cancel"] },
        { secret: KEYS.acmeTool, roles: ["tool"] },
        { secret: KEYS.acmeReviewer, roles: ["review"], name: "bob" },
        { secret: KEYS.acmeAuditor, roles: ["audit"], name: "eve" },
        { secret: KEYS.acmeReadingAuditor, roles: ["read", "audit"], name: "una" },
        { secret: KEYS.acmeAnalyst, roles: ["usage"], name: "ida" },
        { secret: KEYS.acmeAdmin, roles: ["admin"], name: "adm" },
        { secret: KEYS.acmeUploader, roles: ["blob"], name: "upl" },
        { secret: KEYS.acmeEraser, roles: ["erase"], name: "era" },
      ],
    },
    {
      id: "beta",
      policy: PATIENT,
      keys: [
        { secret: KEYS.beta, roles: ["create", "read", "cancel", "tool", "review"] },
        { secret: KEYS.betaAuditor, roles: ["audit"] },
        { secret: KEYS.betaUploader, roles: ["blob"] },
      ],
    },
  ],
};

const SHARDS = 2;
const HOUR_MS = 3_600_000;

export interface Node extends AsyncDisposable {
  readonly delivery: Delivery;
  readonly url: string;
  /** Where health and metrics are. */
  readonly opsUrl: string;
  /** The tenants in the broker, where the node follows those; a node of its own tenants has none. */
  readonly tenants: Tenants | undefined;
  /** The node's log so far, as text. */
  readonly logged: string;
}

/** A real broker, delivery nodes on it, and the log as the worker's side has it. */
export interface Platform extends AsyncDisposable {
  readonly server: TestBroker;
  readonly broker: Broker;
  readonly log: GenerationLog;
  /** The first node. */
  readonly node: Node;
  /** Another node, with connections of its own; it goes with the platform. */
  addNode(options?: NodeOptions): Promise<Node>;
}

export type NodeOptions = Partial<
  Pick<
    DeliveryOptions,
    | "hubBytes"
    | "headWaitMs"
    | "heartbeatMs"
    | "corsOrigins"
    | "maxConnectionsPerAddress"
    | "trustedProxies"
    | "accessLog"
    | "tls"
    | "grpcPort"
    | "certificateCheckMs"
    | "requestBytes"
    | "arrivalMs"
    | "blobTransfers"
    | "blobSweepMs"
    | "blobStallMs"
    | "mediaFetchAllow"
    | "egress"
    | "models"
    | "served"
    | "classifiers"
    | "drainGraceMs"
    | "readerLeaseMs"
    | "brokerBudgetMs"
    | "brokerWatch"
    | "redisUrl"
    | "redisTimeoutMs"
    | "limitCheckMs"
    | "tenants"
    | "tracing"
  >
> & {
  /** Tenants beside `acme` and `beta`, as a tenants file has them. */
  moreTenants?: readonly unknown[];
  /** True if the tenants are those in the broker, where they can change. Default: each node has the same in memory. */
  liveTenants?: boolean;
  /** True if the admin API changes no tenant, because a file owns them. */
  ownedTenants?: boolean;
  /** Default: the broker's own address. */
  natsUrl?: string;
};

export async function openPlatform({
  retentionMs = HOUR_MS,
  ...options
}: NodeOptions & { retentionMs?: number } = {}): Promise<Platform> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const topology = { shards: SHARDS, replicas: 1, retentionMs };
  const broker = stack.use(
    await openBroker({ url: server.url, name: "worker", onError: rethrow, ...topology }),
  );
  const made = createGenerationLog(broker);
  const log = {
    ...made,
    publish: patiently(made.publish),
    publishCheckpoint: patiently(made.publishCheckpoint),
  };
  const nodes = stack.use(new AsyncDisposableStack());
  const addNode = async (nodeOptions: NodeOptions = {}) =>
    nodes.use(await startNode(nodeOptions.natsUrl ?? server.url, nodeOptions));
  const node = await addNode(options);
  const owned = stack.move();
  return { server, broker, log, node, addNode, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** An appender publishes again what is not answered within a second; a test that publishes once waits for a busy broker. */
function patiently(publish: Publish): Publish {
  return (subject, payload, options) => publish(subject, payload, { timeoutMs: 60_000, ...options });
}

async function startNode(
  natsUrl: string,
  { liveTenants = false, ownedTenants = false, moreTenants = [], ...options }: NodeOptions,
): Promise<Node> {
  await using stack = new AsyncDisposableStack();
  const lines: string[] = [];
  const broker = stack.use(await connectBroker({ url: natsUrl, name: "delivery" }));
  const file = parseTenantsFile(
    JSON.stringify({ tenants: [...TENANTS.tenants, ...moreTenants] }),
    "tenants.json",
  );
  const onRefused = (_tenant: string, error: unknown) => rethrow(error);
  const tenants = liveTenants ? stack.use(await openTenants({ broker, onRefused })) : undefined;
  await tenants?.apply(file);
  const metrics = createMetrics({ processMetrics: false });
  const delivery = stack.use(
    await startDelivery({
      broker,
      tenants: tenants?.directory ?? createTenantDirectory(file),
      ...(tenants && {
        administration: { ...tenants, isReadOnly: ownedTenants, operatorKeySha256: hashKey(KEYS.operator) },
      }),
      models: new Set(["sim"]),
      logger: createLogger({
        service: "delivery",
        level: "trace",
        destination: { write: (line) => void lines.push(line) },
      }),
      metrics,
      host: "127.0.0.1",
      port: 0,
      shards: SHARDS,
      retentionMs: HOUR_MS,
      replicas: 1,
      tokenAudience: "reprise",
      hubBytes: 64 * 1_024 * 1_024,
      maxConnectionsPerAddress: 0,
      trustedProxies: [],
      accessLog: "off",
      requestBytes: 64 * 1_024 * 1_024,
      redisUrl: undefined,
      corsOrigins: ["*"],
      // Workers of tests begin after the answer's head, which has the generation's id.
      headWaitMs: 0,
      ...options,
    }),
  );
  const ops = createOpsHandler({ metrics, notReadyBecause: () => delivery.notReadyBecause() });
  const { url: opsUrl } = stack.use(await startOpsServer(ops, { host: "127.0.0.1", port: 0 }));
  const owned = stack.move();
  return {
    delivery,
    url: delivery.url,
    opsUrl,
    tenants,
    get logged() {
      return lines.join("");
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Creates the tenants that have `KEYS`, with the test's changes. */
export function createTestTenants(change: Partial<TenantConfig> = {}): FixedTenantDirectory {
  return createTenantDirectory(testTenancy(change));
}

export function testTenancy(change: Partial<TenantConfig> = {}): TenancyConfig {
  const { tenants } = parseTenantsFile(JSON.stringify(TENANTS), "tenants.json");
  return { tenants: tenants.map((tenant) => ({ ...tenant, ...change })) };
}

export const authorization = (key: string = KEYS.acme) => ({ authorization: `Bearer ${key}` });

export const JSON_TYPE = { "content-type": "application/json" };

export interface CallOptions {
  method?: string;
  key?: string;
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal;
}

/** One call of the API, made again while the broker is too busy to answer it; the body is what JSON says, or undefined. */
export async function call(url: string, options: CallOptions = {}) {
  const answer = await callOnce(url, options);
  if (!isUnavailable(answer)) return answer;
  return eventually(async () => {
    const another = await callOnce(url, options);
    if (isUnavailable(another)) throw new Error(another.text);
    return another;
  });
}

export const isUnavailable = ({ status, text }: { status: number; text: string }) =>
  status === 503 && text.includes('"code":"broker_unavailable"');

/** One call of the API, for tests of a broker that is away. */
export async function callOnce(url: string, { method, key, headers, body, signal }: CallOptions = {}) {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...authorization(key), ...(body !== undefined && JSON_TYPE), ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  // A body that is not JSON is returned as it came: an expectation of one of its fields fails and shows it.
  return { status: response.status, headers: response.headers, text, json: parseOrKeep(text) };
}

function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const REQUEST = { model: "sim", input: "hello" };

type WorkerOptions = Partial<ConstructorParameters<typeof Appender>[0]>;

/** A generation created through the API, and the appender of the worker that runs it. */
export async function createGeneration(
  { node, log }: Pick<Platform, "node" | "log">,
  {
    key = KEYS.acme,
    body = REQUEST,
    headers = {},
    appender = {},
  }: Pick<CallOptions, "key" | "body" | "headers"> & { appender?: WorkerOptions } = {},
) {
  const { json } = await call(`${node.url}/v1/generations`, { body, key, headers });
  const generation = json as Generation;
  const tenant = parseTenantId(key.split("_")[1]);
  const ref: GenerationRef = { tenant, generation: parseGenerationId(generation.id) };
  return {
    generation,
    ref,
    path: `/v1/generations/${generation.id}`,
    worker: await openWorker(log, ref, appender),
  };
}

/** Continues where the log ends. */
export async function openWorker(log: GenerationLog, ref: GenerationRef, options: WorkerOptions = {}) {
  const { publish, leader } = log;
  const head = headOf(await log.reader.readLog(ref));
  const isFence = () => false;
  return new Appender({ publish, leader, ref, head, writer: randomUUID(), isFence, ...options });
}

/** Appends events one by one, each stored before the next, so that none are merged. */
export async function append(worker: Appender, ...drafts: readonly EventDraft[]): Promise<void> {
  for (const draft of drafts) {
    worker.append(draft);
    await worker.settled();
  }
}

export const rewind = (to_seq: number): EventDraft => ({
  type: "output.rewind",
  to_seq: asSeq(to_seq),
  reason: "worker_lost",
});

export const toolCall = (call_id: string): EventDraft => ({
  type: "tool.call",
  call_id,
  name: "look_up",
  arguments: '{"word":"log"}',
});

export const deltas = (count: number, from = 1): EventDraft[] =>
  Array.from({ length: count }, (_, i) => delta(`tøken ${from + i} `));

function rethrow(error: unknown): never {
  throw error;
}
