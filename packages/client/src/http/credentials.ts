import { assertVisible } from "../invalid-option.ts";
import type { ClientRuntime } from "../retry/runtime.ts";

/** Authorization of calls: a permanent API key or token, or tokens that the app's `getToken` returns one after another. */
export interface Credentials {
  /** Changes with each token. */
  readonly current: string | undefined;
  /** The token or key to send now: the first time, and after `refuse`, that of a `getToken` that is waited for. */
  get(): Promise<string>;
  /** The server takes this one no more. Returns whether there may be another one. */
  refuse(secret: string | undefined): boolean;
  /** Gets a fresh token while the current one still counts, once it is due: `current` has changed then. Never rejects. */
  renewIfDue(): Promise<void>;
}

/** Milliseconds before a token's end at which a new one is requested: longer than the silence between two heartbeats. */
const RENEW_BEFORE_MS = 60_000;

export function createCredentials(
  source: string | (() => string | Promise<string>),
  runtime: Pick<ClientRuntime, "now">,
): Credentials {
  const getToken = typeof source === "string" ? undefined : source;
  let current = getToken ? undefined : (source as string);
  let dueMs = Infinity;
  let pending: Promise<string> | undefined;

  async function load(): Promise<string> {
    try {
      // Without `getToken` the current token stays and is never due: `load` is not called.
      const token = assertVisible(await getToken!(), "getToken");
      dueMs = runtime.now() + lifeMs(token);
      return (current = token);
    } finally {
      pending = undefined;
    }
  }

  return {
    get current() {
      return current;
    },
    get: async () => current ?? (pending ??= load()),
    refuse(secret) {
      if (current === secret && getToken) current = undefined;
      return !!getToken;
    },
    async renewIfDue() {
      if (runtime.now() < dueMs) return;
      dueMs = Infinity;
      // If that fails, the token is used until its end, and a new one is requested then.
      await (pending ??= load()).catch(() => {});
    },
  };
}

/** From its receipt to its renewal, by its own times: the clock of a device may be wrong. */
function lifeMs(token: string): number {
  try {
    const [, claims = ""] = token.split(".");
    const { iat, exp } = JSON.parse(atob(claims.replace(/-/g, "+").replace(/_/g, "/")));
    const ms = (exp - iat) * 1_000;
    return ms - Math.min(RENEW_BEFORE_MS, ms / 2);
  } catch {
    return Infinity;
  }
}
