import { openBroker } from "@reprise/broker";
import { parseTenantId, type RepriseError, TENANTS_STREAM } from "@reprise/protocol";
import { PATIENCE_MS, startTestBroker, untilAnswered } from "@reprise/testkit";
import {
  followTenants,
  type FollowTenantsOptions,
  type LiveTenantDirectory,
} from "../directory/follow-tenants.ts";
import { hashKey } from "../keys/create-api-key.ts";
import type { Role } from "../records/roles.ts";
import type { TenantRecord } from "../records/tenant-record.ts";
import { openTenantStore } from "../store/tenant-store.ts";

export const ACME = parseTenantId("acme");
export const BETA = parseTenantId("beta");
const AT = "2026-11-22T12:00:00.000Z";

/** A record whose keys are these secrets. */
export function record(
  id: typeof ACME,
  secrets: readonly string[],
  more: Partial<TenantRecord> & { roles?: Role[] } = {},
): TenantRecord {
  const { roles = ["read"], ...fields } = more;
  const keys = secrets.map((secret) => ({
    name: hashKey(secret).slice(0, 12),
    sha256: hashKey(secret),
    roles,
    created_at: AT,
  }));
  return {
    version: 1,
    id,
    created_at: AT,
    policy: {},
    audit: {},
    signing_keys: [],
    revocations: [],
    keys,
    ...fields,
  };
}

/** A real broker with the bucket, the bucket's store, and nodes that follow it. */
export async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const topology = { shards: 1, replicas: 1, retentionMs: 3_600_000 };
  const open = (url = server.url) => openBroker({ url, name: "test", ...topology });
  const broker = stack.use(await untilAnswered(() => open()));
  const store = await openTenantStore(broker.main);
  const nodes = stack.use(new AsyncDisposableStack());
  const addNode = async (
    url?: string,
    everyMs?: number,
    watch: Pick<FollowTenantsOptions, "onStale" | "staleMs"> = {},
  ) => {
    const refused: [string, RepriseError][] = [];
    const own = nodes.use(await open(url));
    const directory = nodes.use(
      await followTenants({
        broker: own,
        onRefused: (tenant, error) => refused.push([tenant, error]),
        everyMs,
        ...watch,
      }),
    );
    return { directory, refused, broker: own };
  };
  /** A call of JetStream's API about the bucket's stream, as an operator makes it by hand. */
  const askStream = async (what: "INFO" | "PURGE" | "DELETE" | "CREATE", request: object | undefined) => {
    const reply = await broker.main.request(
      `$JS.API.STREAM.${what}.${TENANTS_STREAM}`,
      JSON.stringify(request),
      { timeout: PATIENCE_MS },
    );
    const answer = reply.json<{ config?: object; error?: { description: string } }>();
    if (answer.error) throw new Error(answer.error.description);
    return answer;
  };
  const owned = stack.move();
  return { server, broker, store, addNode, askStream, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Resolves once a node says so, asked after each change that it hears of. */
export async function until(directory: LiveTenantDirectory, isSo: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = directory.onChange(() => isSo() && resolve());
  if (!isSo()) await promise;
  stop();
}
