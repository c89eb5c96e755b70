import type { TenantId } from "@reprise/protocol";
import type { TenantDirectory, TenantConfig } from "@reprise/tenancy";
import type { FastifyReply } from "fastify";

const ANY = "*";

/**
 * Which pages may read answers. A tenant may have origins of its own, and without them those of the platform count. A preflight has no
 * credentials and a refusal may come before they are known: both are for pages that any tenant, or the platform, allows. The answer itself
 * names the page's origin only where the tenant that made the call allows it. No answer allows cookies: keys and tokens are sent by the page.
 */
export class CorsPolicy implements Disposable {
  readonly #tenants: Pick<TenantDirectory, "all" | "find" | "onChange">;
  readonly #platform: ReadonlySet<string>;
  readonly #stopListening: () => void;
  #ofAnyTenant: ReadonlySet<string> | undefined;

  /** @param platform origins; `*` for any */
  constructor(tenants: Pick<TenantDirectory, "all" | "find" | "onChange">, platform: readonly string[]) {
    this.#tenants = tenants;
    this.#platform = new Set(platform);
    this.#stopListening = tenants.onChange(() => (this.#ofAnyTenant = undefined));
  }

  /** Returns `Access-Control-Allow-Origin` before the tenant is known; undefined: the header is left out. */
  beforeTenant(origin: string | undefined): string | undefined {
    if (this.#platform.has(ANY)) return ANY;
    if (origin === undefined) return undefined;
    this.#ofAnyTenant ??= new Set([...this.#tenants.all()].flatMap(originsOf));
    return this.#platform.has(origin) || this.#ofAnyTenant.has(origin) ? origin : undefined;
  }

  /** Says in an answer to a tenant's call whether the page may read it. */
  allow(reply: FastifyReply, tenant: TenantId, origin: string | undefined): void {
    const own = this.#tenants.find(tenant)?.corsOrigins;
    if (own === undefined && this.#platform.has(ANY)) return;
    const isAllowed = origin !== undefined && (own?.includes(origin) ?? this.#platform.has(origin));
    if (isAllowed) void reply.header(ALLOW_ORIGIN, origin);
    else void reply.removeHeader(ALLOW_ORIGIN);
  }

  [Symbol.dispose](): void {
    this.#stopListening();
  }
}

const ALLOW_ORIGIN = "access-control-allow-origin";

function originsOf({ corsOrigins = [] }: TenantConfig): readonly string[] {
  return corsOrigins;
}
