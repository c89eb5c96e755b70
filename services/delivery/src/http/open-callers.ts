import type { Broker } from "@reprise/broker";
import type { BrokerWatch } from "@reprise/runtime";
import {
  createStreamTokens,
  openPlatformKeys,
  type PlatformKeys,
  type StreamTokens,
  type TenantDirectory,
} from "@reprise/tenancy";
import { type Authentication, createAuthentication } from "./auth.ts";

export interface CallersOptions {
  readonly broker: Broker;
  readonly brokerWatch?: Pick<BrokerWatch, "onStale"> | undefined;
  readonly tenants: TenantDirectory;
  /** Copies that the broker keeps of the platform's keys. */
  readonly replicas: number;
  readonly tokenAudience: string;
  /** SHA-256 of the operator's key. Undefined: there is no operator key. */
  readonly operatorKeySha256: string | undefined;
  readonly onError: (error: unknown) => void;
}

/** Identifies callers by the keys of tenants, and by stream tokens that tenants or the platform have signed. */
export interface Callers extends Disposable {
  readonly authentication: Authentication;
  readonly tokens: StreamTokens;
  readonly platformKeys: PlatformKeys;
}

/** Follows the platform's keys until it is disposed of. */
export async function openCallers(options: CallersOptions): Promise<Callers> {
  const { broker, brokerWatch, tenants, replicas, tokenAudience, operatorKeySha256, onError } = options;
  const platformKeys = await openPlatformKeys({
    connection: broker.main,
    replicas,
    onStale: brokerWatch?.onStale,
    onError,
  });
  const tokens = createStreamTokens({ audience: tokenAudience, tenants, platform: platformKeys });
  const authentication = createAuthentication({ tenants, tokens, operatorKeySha256 });
  return { authentication, tokens, platformKeys, [Symbol.dispose]: () => platformKeys.close() };
}
