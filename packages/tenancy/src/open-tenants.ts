import { retryRejected } from "@reprise/async";
import type { Broker, OnStale } from "@reprise/broker";
import { type RepriseError, type TenantId, toRepriseError } from "@reprise/protocol";
import { followTenants, type LiveTenantDirectory } from "./directory/follow-tenants.ts";
import { KeyUse } from "./directory/key-use.ts";
import {
  type AppliedFile,
  ensureKeys,
  ownTenants,
  seedTenants,
  type TenantsSource,
} from "./file/apply-tenants-file.ts";
import type { TenancyConfig } from "./file/tenants-file.ts";
import { openTenantStore, type TenantStore } from "./store/tenant-store.ts";

/** The tenants of a platform, as a process that serves their requests has them. */
export interface Tenants extends AsyncDisposable {
  readonly directory: LiveTenantDirectory;
  readonly store: TenantStore;
  /** True if the tenants file owns them, so that they are changed only there. */
  readonly isReadOnly: boolean;
  /**
   * Brings what the tenants file says into the bucket, as its source has it. Resolves when this process obeys it.
   * @throws RepriseError `tenant_removed` when the file owns the tenants and has one that was removed, `broker_unavailable`
   */
  apply(file: TenancyConfig): Promise<AppliedFile>;
  /**
   * Creates these tenants, or gives those that exist the keys that they lack: a key that is in a file of this process is to work. Those that were
   * removed stay so.
   * @throws RepriseError `broker_unavailable`
   */
  ensureKeys(file: TenancyConfig): Promise<void>;
  close(): Promise<void>;
}

export interface OpenTenantsOptions {
  readonly broker: Broker;
  /** Default `seed`. */
  readonly source?: TenantsSource;
  /** Told of each version of a record that can't be used. */
  readonly onRefused: (tenant: TenantId, error: RepriseError) => void;
  /** Told when the tenants can't be followed for some seconds, and when they can again. */
  readonly onStale?: OnStale | undefined;
}

const PAUSE_MS = 100;
const BUDGET_MS = 20_000;

/**
 * Loads the tenants and follows them until it is closed.
 * @throws RepriseError `broker_unavailable`
 */
export async function openTenants({
  broker,
  source = "seed",
  onRefused,
  onStale,
}: OpenTenantsOptions): Promise<Tenants> {
  await using stack = new AsyncDisposableStack();
  const use = stack.use(new KeyUse(broker.main));
  const onUse = (tenant: TenantId, key: string) => use.note(tenant, key);
  const directory = stack.use(await followTenants({ broker, onRefused, onStale, onUse }));
  const store = await openTenantStore(broker.main);
  /** Retries as long as the first read: a start survives a broker that leaves one request unanswered. */
  const obey = () =>
    retryRejected(
      () => directory.sync(),
      (error) => toRepriseError(error).retryable,
      { pauseMs: PAUSE_MS, budgetMs: BUDGET_MS },
    );
  const owned = stack.move();
  const close = () => owned.disposeAsync();
  return {
    directory,
    store,
    isReadOnly: source === "file",
    async apply(file) {
      const now = new Date();
      const applied =
        source === "file"
          ? await ownTenants(store, file, { stored: directory.stored(), gone: directory.removed(), now })
          : await seedTenants(store, file, now);
      await obey();
      return applied;
    },
    async ensureKeys(file) {
      await ensureKeys(store, file, new Date());
      await obey();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
