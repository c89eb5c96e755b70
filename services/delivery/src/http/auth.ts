import {
  expiredToken,
  hashKey,
  isTokenShaped,
  type Principal,
  type Role,
  type StreamTokens,
  type TenantDirectory,
} from "@reprise/tenancy";
import { RepriseError, unixNow, type TenantId } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";
import { queryTokenOf } from "./query-token.ts";

/** Who calls the admin API. */
export interface Administrator {
  /** Name in the records: `operator`, or the name of the tenant's key. */
  readonly by: string;
  /** The one tenant that it administers; undefined for the operator, who administers all. */
  readonly tenant: TenantId | undefined;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** A key or a stream token with any one of them may make the call. */
    roles?: readonly [Role, ...Role[]];
    /** True if a stream token may make the call: a call that reaches a generation by its id alone, or creates one. Default: API keys only. */
    streamTokens?: true;
    /** The scope with which an end user's stream token may make the call, for what is that user's. Default: none does. */
    endUserTokens?: Role;
    /** True if the call is the operator's, or that of an API key with the role `admin`. */
    administers?: true;
    /** Describes a call that only the operator may make: no key of a tenant may, with any role. */
    operatorDoes?: string;
    /** True if the operator's key may make the call, for all tenants, in addition to the keys that have the route's roles. */
    operators?: true;
    /** True if the route itself counts its calls, together with what else they use. */
    countsItself?: boolean;
    /** True if the route makes calls of this API for its caller, which are counted in its place. */
    callsItself?: true;
    /** True if the call needs no key: the route checks a signature, or each frame. */
    authenticatesItself?: true;
    /** True if the route itself reads its body, in chunks, and limits it. */
    streamsBody?: true;
  }
}

/** The caller, from the headers and the query alone, so that a body without a valid key is never read. */
export interface Authentication {
  /**
   * Finds out who makes a request. A route without a configuration of its own needs a key.
   * @throws RepriseError `unauthenticated` without a known API key or a valid stream token
   */
  identify(request: FastifyRequest): Promise<void>;
  /** @throws RepriseError `forbidden` when the caller, once it is known, has none of the route's roles */
  authorise(request: FastifyRequest): void;
  /** The holder of the key of a request. */
  principalOf(request: FastifyRequest): Principal;
  /** The same; undefined where the route needs no key, and where there is none. */
  findPrincipal(request: FastifyRequest): Principal | undefined;
  /** The caller's name in the log: the name of its key, or the first 12 characters of that key's SHA-256; `token.` and a `jti`. Empty until it is known. */
  nameOf(request: FastifyRequest): { readonly tenant?: string; readonly key?: string };
  /** Returns true if the operator makes a call that takes the operator's key, and was admitted. */
  isOperator(request: FastifyRequest): boolean;
  /** Who makes a call that administers, and was admitted. */
  administratorOf(request: FastifyRequest): Administrator;
  /**
   * Does both again, once the request's body is here: a body may arrive slowly, and a key may be revoked meanwhile.
   * @throws RepriseError `unauthenticated` when its key or token has expired or was revoked, `forbidden` when it has lost the role
   */
  readmit(request: FastifyRequest): void;
  /**
   * Returns the current principal of a reading caller.
   * @param role that its answer was opened for: another role that the caller has, or has been given since, does not count
   * @throws RepriseError `unauthenticated` if its key or token has expired, was revoked, or has lost the role
   */
  renewReader(principal: Principal, role: ReadingRole): Principal;
  /** Returns true if a caller may still read its answer: the call may have taken seconds. */
  mayStillRead(principal: Principal): boolean;
}

/**
 * Role by which an answer is read: text as readers see it (`read`), as auditors see it (`audit`), text that moderation has withdrawn (`review`), or numbers
 * (`usage`).
 */
export type ReadingRole = Extract<Role, "read" | "audit" | "review" | "usage">;

export interface AuthenticationOptions {
  readonly tenants: TenantDirectory;
  readonly tokens: Pick<StreamTokens, "authenticate" | "renew">;
  /** SHA-256 of the operator's key, which only administers all tenants. Undefined: there is no operator key. */
  readonly operatorKeySha256: string | undefined;
}

export function createAuthentication({
  tenants,
  tokens,
  operatorKeySha256,
}: AuthenticationOptions): Authentication {
  const principals = new WeakMap<FastifyRequest, Principal>();
  const operators = new WeakSet<FastifyRequest>();

  function hasOperatorKey({ headers }: FastifyRequest): boolean {
    const bearer = bearerOf(headers.authorization ?? "");
    return bearer !== undefined && operatorKeySha256 !== undefined && hashKey(bearer) === operatorKeySha256;
  }

  /** A known key first: it may have the form of a token. */
  async function authenticate(request: FastifyRequest): Promise<Principal | undefined> {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      const token = queryTokenOf(request.raw);
      return token === undefined ? undefined : tokens.authenticate(token);
    }
    const bearer = bearerOf(authorization);
    if (bearer === undefined) return undefined;
    const holder = tenants.authenticate(bearer);
    return holder ?? (isTokenShaped(bearer) ? tokens.authenticate(bearer) : undefined);
  }

  const isToken = ({ tokenId }: Principal) => tokenId !== undefined;
  const isEndUsers = ({ tokenId, endUser, generation }: Principal) =>
    tokenId !== undefined && endUser !== undefined && generation === undefined;
  const find = (principal: Principal) =>
    isToken(principal) ? tokens.renew(principal) : tenants.renew(principal);

  function renew(principal: Principal): Principal {
    const now = find(principal);
    if (now) return now;
    throw isToken(principal) && principal.expiresAtMs <= unixNow() ? expiredToken() : noLongerValid();
  }

  function authorise(request: FastifyRequest): void {
    const caller = principals.get(request);
    if (!caller) return;
    const { roles, streamTokens, endUserTokens, administers, operatorDoes } = request.routeOptions.config;
    if (endUserTokens && isEndUsers(caller)) {
      if (!caller.roles.has(endUserTokens)) throw lacksRole(endUserTokens);
      return;
    }
    if (caller.tokenId !== undefined && !streamTokens && !request.is404) throw needsKey();
    if (roles && !roles.some((role) => caller.roles.has(role))) throw lacksRole(roles[0]);
    if (operatorDoes !== undefined) throw onlyOperator(operatorDoes);
    if (administers && !caller.roles.has("admin")) throw lacksRole("admin");
  }

  return {
    async identify(request) {
      if (request.is404 && !request.url.startsWith("/v1/")) return;
      const { administers, operators: forOperators, authenticatesItself } = request.routeOptions.config;
      if (authenticatesItself) return;
      if ((administers || forOperators || request.is404) && hasOperatorKey(request))
        return void operators.add(request);
      const caller = await authenticate(request);
      if (!caller) {
        throw new RepriseError("unauthenticated", "Send a known API key as `Authorization: Bearer <key>`.", {
          param: "Authorization",
        });
      }
      principals.set(request, caller);
    },
    authorise,
    isOperator: (request) => operators.has(request),
    readmit(request) {
      const earlier = principals.get(request);
      if (!earlier) return;
      principals.set(request, renew(earlier));
      authorise(request);
    },
    renewReader(principal, role) {
      const now = renew(principal);
      if (now.roles.has(role)) return now;
      throw noLongerValid();
    },
    mayStillRead: (principal) => find(principal)?.roles.has("read") ?? false,
    administratorOf(request) {
      if (operators.has(request)) return { by: "operator", tenant: undefined };
      const principal = principals.get(request);
      if (!principal?.roles.has("admin"))
        throw new RepriseError("internal", "A route of the admin API was entered without its key.");
      return { by: principal.holder, tenant: principal.tenant };
    },
    findPrincipal: (request) => principals.get(request),
    nameOf(request) {
      if (operators.has(request)) return { key: "operator" };
      const principal = principals.get(request);
      return principal ? { tenant: principal.tenant, key: principal.holder } : {};
    },
    principalOf(request) {
      const principal = principals.get(request);
      if (!principal) throw new RepriseError("internal", "A route was entered without a key.");
      return principal;
    },
  };
}

/** Returns the bearer token; undefined for another scheme, and if more than one word follows it. */
export function bearerOf(authorization: string): string | undefined {
  return /^bearer ([^ ]+)$/i.exec(authorization)?.[1];
}

/** Returns the error for a call whose key lacks the role. */
export function lacksRole(role: Role): RepriseError {
  return new RepriseError("forbidden", `This API key or stream token lacks the role "${role}".`, {
    param: "Authorization",
  });
}

/** @param does what only the operator does */
export function onlyOperator(does: string): RepriseError {
  return new RepriseError("forbidden", `Only the operator ${does}.`, { param: "Authorization" });
}

function noLongerValid(): RepriseError {
  return new RepriseError("unauthenticated", "The API key or stream token is no longer valid.");
}

/** Returns the error for a call that a stream token can't make. */
export function needsKey(): RepriseError {
  return new RepriseError("forbidden", "This call needs an API key; a stream token can't make it.", {
    param: "Authorization",
  });
}
