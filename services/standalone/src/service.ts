import { join, resolve } from "node:path";
import { type AuditStorage, openAuditStorage, startAuditLog } from "@reprise/audit-log-service";
import {
  loadPrices,
  openAnalyticsStorage,
  type Prices,
  startAnalytics,
  toUsageSinks,
} from "@reprise/analytics-service";
import {
  loadModelCosts,
  loadServedModels,
  startDelivery,
  toDeliverySettings,
} from "@reprise/delivery-service";
import { type ServedModel, startWorker, toWorkerSettings } from "@reprise/inference-worker-service";
import { type BrokerAddress, type BrokerUser, hostsOf, openBroker } from "@reprise/broker";
import { loadClassifiers, startModeration } from "@reprise/moderation-service";
import { RepriseError } from "@reprise/protocol";
import {
  brokerAddressOf,
  createMetrics,
  createOpsHandler,
  createPasswordUsers,
  ensurePrivateDir,
  findNatsServer,
  type Logger,
  opsAddressBesideApi,
  type NatsServer,
  openServiceTracing,
  startNatsServer,
  startOpsServer,
  topologyOf,
  writeOwnBrokerFile,
} from "@reprise/runtime";
import {
  MemoryLedger,
  assertKnownClassifiers,
  hashKey,
  loadTenantsFile,
  openTenants,
  reportRefusedRecord,
  tenantsSourceOf,
} from "@reprise/tenancy";
import { adoptStreams } from "./adopt-streams.ts";
import { startOwnWitness } from "./own-witness.ts";
import type { PlatformEnvironment } from "./config.ts";
import { lockDataDir } from "./data-dir-lock.ts";
import { ServiceBrokers } from "./service-brokers.ts";
import { openDevAccess, writeDevFile } from "./dev-file.ts";

export interface Platform extends AsyncDisposable {
  /** Where the API is. */
  readonly url: string;
  /** Where health and metrics are. */
  readonly opsUrl: string;
  /** Hosts and ports of its NATS servers, for the tools that look into logs: they find the credentials in the data folder. */
  readonly nats: string;
  /** The key of the tenant `demo`, when no tenants are configured, and it was not removed. */
  readonly apiKey: string | undefined;
  /** The key that verifies the archive's signatures; undefined without an audit log. */
  readonly vkey: string | undefined;
  /** Reports that it is not ready, and keeps serving. */
  announceStop(): void;
  /** Rejects when the platform's own nats-server ends by itself. */
  readonly failed: Promise<never>;
  /** Reads the tenants file again, and serves these models from now on. */
  reload(models: ReadonlyMap<string, ServedModel>): Promise<void>;
  close(): Promise<void>;
}

export interface PlatformOptions {
  /** Engines by public model name. */
  models: ReadonlyMap<string, ServedModel>;
  /** Where the path of nats-server is looked up. */
  processEnv: Readonly<Record<string, string | undefined>>;
  logger: Logger;
}

/**
 * Starts the whole platform in this process: a nats-server as a child, unless one is configured, delivery, a worker, moderation,
 * analytics and the audit log, which has a witness as another child.
 * Everything that outlives the process is in the data folder, which one platform at a time can use.
 * @throws RepriseError `config_invalid`, `broker_unavailable`, `broker_incompatible`
 */
export async function startPlatform(
  env: PlatformEnvironment,
  { models, processEnv, logger }: PlatformOptions,
): Promise<Platform> {
  const dataDir = resolve(env.REPRISE_DATA_DIR);
  await ensurePrivateDir(dataDir);
  await using stack = new AsyncDisposableStack();
  const tracing = stack.use(await openServiceTracing("standalone", env, logger));
  stack.use(await lockDataDir(dataDir));

  const tenantsFile = env.REPRISE_TENANTS_FILE;
  const dev = await openDevAccess(dataDir);
  const source = tenantsSourceOf(env);
  const tenancy = tenantsFile === undefined ? dev.tenancy : await loadTenantsFile(tenantsFile);
  const classifiers = await loadClassifiers(env, processEnv);
  if (tenantsFile !== undefined) assertKnownClassifiers(tenancy, new Set(classifiers.keys()), tenantsFile);

  const isAudited = env.REPRISE_AUDIT === "on";
  const storage = isAudited ? await openAuditStorage({ ...env, REPRISE_DATA_DIR: dataDir }) : undefined;
  const isWitnessed = env.REPRISE_WITNESS === "on" && env.REPRISE_AUDIT_WITNESS_URLS === undefined;
  const witness =
    storage && isWitnessed
      ? stack.use(
          startOwnWitness({
            dir: env.REPRISE_WITNESS_DIR ?? join(dataDir, "witness"),
            name: env.REPRISE_WITNESS_NAME,
            logs: vkeysOf(storage),
            path: processEnv["PATH"] ?? "",
            logger,
          }),
        )
      : undefined;

  const given = brokerAddressOf(env);
  const nats = given ? undefined : stack.use(await startOwnNats(env, { processEnv, dataDir }));
  // Where no broker is given, there is its own.
  const addressOf = (user: BrokerUser): BrokerAddress => given ?? { url: nats!.urlFor(user) };
  if (nats) stack.use(await writeOwnBrokerFile(dataDir, nats.urlFor("admin")));
  const setUp = await openBroker({
    ...addressOf("admin"),
    user: "admin",
    name: "set-up",
    ...topologyOf(env),
  });
  await setUp.close();
  const shards = env.REPRISE_SHARDS;
  const metrics = createMetrics();
  const brokers = stack.use(new ServiceBrokers({ addressOf, shards, logger, metrics }));
  const ofDelivery = await brokers.open("delivery");
  const onRefused = reportRefusedRecord(logger);
  const tenants = stack.use(
    await openTenants({ ...ofDelivery, source, onRefused, onStale: ofDelivery.brokerWatch.onStale }),
  );
  if (tenantsFile === undefined) await tenants.ensureKeys(tenancy);
  else await tenants.apply(tenancy);
  const ledger = env.REPRISE_REDIS_URL === undefined ? new MemoryLedger() : undefined;
  const worker = stack.use(
    await startWorker({
      ...(await brokers.open("inference-worker")),
      models,
      logger,
      metrics,
      tracing,
      ledger,
      ...toWorkerSettings(env),
    }),
  );
  const moderation = stack.use(
    await startModeration({
      ...(await brokers.open("moderation")),
      shards,
      classifiers,
      logger,
      metrics,
      tracing,
    }),
  );
  if (storage) {
    stack.use(
      await startAuditLog({
        ...(await brokers.open("audit-log")),
        shards,
        storage,
        witnessUrls: env.REPRISE_AUDIT_WITNESS_URLS ?? (witness && [witness.url]),
        tenants: () => [...tenants.directory.all()],
        accessLog: env.REPRISE_ACCESS_LOG !== "off",
        logger,
        metrics,
        tracing,
      }),
    );
  }
  let prices: Prices = new Map();
  if (env.REPRISE_ANALYTICS === "on") {
    prices = await loadPrices(env.REPRISE_MODELS_FILE);
    const { store, openRows } = openAnalyticsStorage({ ...env, REPRISE_DATA_DIR: dataDir });
    stack.use(
      await startAnalytics({
        ...(await brokers.open("analytics")),
        shards,
        store,
        openRows,
        keys: env.REPRISE_ANALYTICS_KEYS ?? [],
        metricTenants: env.REPRISE_METRICS_TENANTS,
        usage: {
          sinks: toUsageSinks(env),
          isStreamed: env.REPRISE_USAGE_STREAM === "on",
          source: env.REPRISE_USAGE_SOURCE,
          priceOf: (model) => prices.get(model),
        },
        accessLog: env.REPRISE_ACCESS_LOG !== "off",
        logger,
        metrics,
        tracing,
      }),
    );
  }
  const names = namesOf(models, classifiers);
  const settings = toDeliverySettings(env);
  // Closed after delivery, so that it can be asked while that drains.
  let notReadyBecause: () => readonly string[] = () => ["starting"];
  const handler = createOpsHandler({ metrics, notReadyBecause: () => notReadyBecause() });
  const ops = stack.use(await startOpsServer(handler, opsAddressBesideApi(env)));
  const givenOperator = env.REPRISE_OPERATOR_KEY_SHA256;
  const operatorKeySha256 = givenOperator ?? hashKey(dev.operatorKey);
  const delivery = stack.use(
    await startDelivery({
      ...ofDelivery,
      tenants: tenants.directory,
      administration: { ...tenants, operatorKeySha256 },
      ...names,
      costs: await loadModelCosts(env.REPRISE_MODELS_FILE),
      served: await loadServedModels(env.REPRISE_MODELS_FILE),
      logger,
      metrics,
      tracing,
      ledger,
      ...settings,
    }),
  );
  notReadyBecause = () => [...delivery.notReadyBecause(), ...brokers.because("delivery")];
  const isDevRemoved = dev.tenancy.tenants.some(({ id }) => tenants.directory.removed().has(id));
  if (isDevRemoved && tenantsFile === undefined)
    logger.warn("The tenant demo was removed, and is not created again: there is no API key in dev.json.");
  const apiKey = tenantsFile === undefined && !isDevRemoved ? dev.apiKey : undefined;
  await writeDevFile(dataDir, {
    url: delivery.url,
    // With a tenants file, too: `demo` of an earlier start is still there, unless the file owns the tenants.
    apiKey: apiKey ?? (dev.wasThere && !isDevRemoved ? dev.apiKey : undefined),
    operatorKey: givenOperator === undefined ? dev.operatorKey : undefined,
  });

  const running = stack.move();
  const close = () => running.disposeAsync();
  return {
    url: delivery.url,
    opsUrl: ops.url,
    nats: hostsOf(addressOf("admin").url),
    apiKey,
    vkey: storage?.signer.vkey,
    announceStop: () => delivery.announceStop(),
    failed: Promise.race([brokers.failed, ...(nats ? [untilCrash(nats)] : [])]),
    async reload(next) {
      prices = await loadPrices(env.REPRISE_MODELS_FILE);
      const costs = await loadModelCosts(env.REPRISE_MODELS_FILE);
      const served = await loadServedModels(env.REPRISE_MODELS_FILE);
      const judges = await loadClassifiers(env, processEnv);
      if (tenantsFile !== undefined) {
        const changed = await loadTenantsFile(tenantsFile);
        assertKnownClassifiers(changed, new Set(judges.keys()), tenantsFile);
        await tenants.apply(changed);
      }
      await moderation.reload(judges);
      await worker.reload(next);
      delivery.setNames({ ...namesOf(next, judges), costs, served });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns the names that requests may use. Unlike at a separate delivery node, all classifiers are known here: without a file there are none. */
function namesOf(models: ReadonlyMap<string, unknown>, classifiers: ReadonlyMap<string, unknown>) {
  return { models: new Set(models.keys()), classifiers: new Set(classifiers.keys()) };
}

function vkeysOf({ signer, earlier }: AuditStorage): string[] {
  return [signer, ...earlier].map(({ vkey }) => vkey);
}

interface OwnNats extends NatsServer {
  /** The URL by which a user of this start gets in. */
  readonly urlFor: (user: BrokerUser) => string;
}

/** A nats-server that lets in only clients with the credentials of this start, each with its own permissions. */
async function startOwnNats(
  { REPRISE_SHARDS: shards, REPRISE_SYNC_INTERVAL: syncInterval }: PlatformEnvironment,
  { processEnv, dataDir }: { processEnv: PlatformOptions["processEnv"]; dataDir: string },
): Promise<OwnNats> {
  const { path } = await findNatsServer(processEnv, dataDir);
  const { accounts, urlFor } = createPasswordUsers({ shards });
  const storeDir = join(dataDir, "nats");
  await adoptStreams(storeDir);
  const server = await startNatsServer({
    binary: path,
    storeDir,
    syncInterval,
    extraConfig: { accounts },
  });
  return { ...server, urlFor: (user) => urlFor(user, server.url) };
}

async function untilCrash(nats: NatsServer): Promise<never> {
  const { code, expected } = await nats.exited;
  if (expected) return new Promise<never>(() => {});
  throw new RepriseError(
    "broker_unavailable",
    `The platform's nats-server ended by itself with status ${code}.`,
  );
}
