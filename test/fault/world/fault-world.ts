import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Broker, connectBroker } from "@reprise/broker";
import { createGenerationLog, followInput, type GenerationLog } from "@reprise/stream";
import { type GenerationRef, type InputRecord, REQUEST_SEQ, STREAM_START } from "@reprise/protocol";
import { createTempDir, findFreePort, startTcpProxy, type TcpProxy, untilAnswered } from "@reprise/testkit";
import { startBrokerLink } from "./broker-link.ts";
import { Disturbance } from "./disturbance.ts";
import { ServiceSlot } from "./service-slot.ts";
import { createTenant, encodeTenantsFile, type Tenant } from "./tenant.ts";
import { encodeModelsFile, startUpstream, type Upstream } from "./upstream.ts";
import { startWorldBroker, type WorldBroker } from "./world-broker.ts";
import { DEFAULT_ACK_WAIT_MS, type WorldOptions } from "./world-options.ts";

export interface DeliverySlot {
  readonly slot: ServiceSlot;
  /** Where clients find it, over its proxy if it has one: the same for all of its processes. */
  readonly url: string;
  readonly toClients: TcpProxy | undefined;
}

/** A whole platform of real processes, made to be broken: every part can be killed, stopped and started again by itself. */
export interface FaultWorld extends AsyncDisposable {
  readonly options: WorldOptions;
  readonly broker: WorldBroker;
  readonly deliveries: readonly DeliverySlot[];
  readonly workers: readonly ServiceSlot[];
  readonly moderations: readonly ServiceSlot[];
  readonly audits: readonly ServiceSlot[];
  /** Every process of the platform. */
  readonly slots: readonly ServiceSlot[];
  /** Two, who must never see each other's generations. */
  readonly tenants: readonly Tenant[];
  /** The log's own word, past all services: exact payloads, seq 0 included. Of a cluster, its leader's. */
  readLog(ref: GenerationRef): Promise<string[]>;
  /** An input log up to its `input.end`, for which it waits. */
  readInput(ref: GenerationRef): Promise<InputRecord[]>;
  /** The log as the services read it. */
  readonly log: GenerationLog;
  /** To the broker, past all proxies. */
  readonly connection: Broker["main"];
  /** The server of the model `upstream`. A row that reads it must ask for it in its `world`. */
  readonly upstream: Upstream;
  /** True if a delivery node, its way to the broker, or the broker itself was broken on purpose. @param since by `performance.now()` */
  isDisturbed(delivery: number, since: number): boolean;
  /** Takes back what a trial has done: afterwards all processes run and no connection is disturbed. */
  heal(): Promise<void>;
}

/** The line that a service logs once it does its work. */
const READY_MESSAGES = {
  delivery: "listening",
  "inference-worker": "taking jobs",
  moderation: "judging",
  "audit-log": "archiving",
} as const;

/** Starts broker, delivery nodes, workers and moderation. Everything ends with this process, however that ends. */
export async function startFaultWorld(options: WorldOptions = {}): Promise<FaultWorld> {
  const {
    deliveries: deliveryCount = 2,
    workers: workerCount = 2,
    moderations: moderationCount = 0,
    audits: auditCount = 0,
  } = options;
  const { broker: kind = "single" } = options;
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("fault"));
  const broker = stack.use(await startWorldBroker(kind));
  const connection = stack.use(await connectBroker({ url: broker.url, name: "fault", onError: rethrow }));
  const log = createGenerationLog(connection);
  const tenants = ["acme", "globex"].map(createTenant);
  const tenantsFile = join(dir.path, "tenants.json");
  await writeFile(tenantsFile, encodeTenantsFile(tenants));

  const upstream = options.upstream ? stack.use(await startUpstream()) : undefined;
  const modelsFile = join(dir.path, "models.json");
  if (upstream) await writeFile(modelsFile, encodeModelsFile(upstream));

  const base = {
    REPRISE_SHARDS: "2",
    REPRISE_REPLICAS: kind === "cluster" ? "3" : "1",
    REPRISE_ACK_WAIT_MS: String(options.ackWaitMs ?? DEFAULT_ACK_WAIT_MS),
    REPRISE_LOG_LEVEL: "info",
    REPRISE_DRAIN_MS: "3000",
    REPRISE_DRAIN_NOTICE_MS: "0",
    ...(upstream && { REPRISE_MODELS_FILE: modelsFile }),
    ...options.env,
  };
  const addSlot = async (
    name: string,
    service: keyof typeof READY_MESSAGES,
    env: Readonly<Record<string, string>>,
  ) => {
    const disturbance = new Disturbance();
    const link = { name, brokerUrl: broker.url, acks: broker.acks, disturbance };
    const toBroker = stack.use(await startBrokerLink(link));
    const slot = new ServiceSlot({
      name,
      service,
      env: { ...base, REPRISE_NATS_URL: toBroker.url, ...env },
      readyMessage: READY_MESSAGES[service],
      toBroker,
      disturbance,
    });
    return stack.use(slot);
  };

  const deliveries: DeliverySlot[] = [];
  for (let index = 1; index <= deliveryCount; index++) {
    const port = await findFreePort();
    const slot = await addSlot(`delivery-${index}`, "delivery", {
      REPRISE_PORT: String(port),
      REPRISE_OPS_PORT: "0",
      REPRISE_TENANTS_FILE: tenantsFile,
      ...(options.directDeliveries && { REPRISE_NATS_URL: broker.url }),
      // All readers of a trial have one address.
      REPRISE_MAX_CONNECTIONS_PER_ADDRESS: "0",
    });
    const toClients = options.clientProxies
      ? stack.use(await startTcpProxy({ target: { port } }))
      : undefined;
    deliveries.push({ slot, toClients, url: `http://127.0.0.1:${toClients?.port ?? port}` });
  }
  const workers: ServiceSlot[] = [];
  for (let index = 1; index <= workerCount; index++)
    workers.push(await addSlot(`worker-${index}`, "inference-worker", {}));
  const moderations: ServiceSlot[] = [];
  for (let index = 1; index <= moderationCount; index++)
    moderations.push(await addSlot(`moderation-${index}`, "moderation", {}));
  const audits: ServiceSlot[] = [];
  for (let index = 1; index <= auditCount; index++)
    audits.push(
      await addSlot(`audit-log-${index}`, "audit-log", { REPRISE_DATA_DIR: join(dir.path, "audit") }),
    );
  const nodes = deliveries.map(({ slot }) => slot);
  const slots = [...nodes, ...workers, ...moderations, ...audits];
  await Promise.all(slots.map((slot) => slot.start()));

  const running = stack.move();
  return {
    options,
    broker,
    deliveries,
    workers,
    moderations,
    audits,
    slots,
    tenants,
    log,
    connection: connection.main,
    get upstream() {
      if (!upstream) throw new Error("This world has no model server.");
      return upstream;
    },
    async readLog(ref) {
      const source = kind === "cluster" ? log.leader : log.reader;
      const stored = await untilAnswered(() => source.readTail(ref, STREAM_START));
      return stored.map(({ payload }) => Buffer.from(payload).toString());
    },
    readInput: (ref) =>
      Array.fromAsync(
        followInput({
          broker: connection,
          ref,
          after: REQUEST_SEQ,
          signal: new AbortController().signal,
          onError: rethrow,
        }),
      ),
    isDisturbed: (delivery, since) =>
      broker.disturbance.hasStruckSince(since) ||
      deliveries[delivery]!.slot.disturbance.hasStruckSince(since),
    async heal() {
      for (const { toClients } of deliveries) toClients?.setFaults({});
      await broker.heal();
      await Promise.all(slots.map((slot) => slot.heal()));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function rethrow(error: unknown): never {
  throw error;
}
