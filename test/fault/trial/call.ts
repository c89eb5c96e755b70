import type { FaultWorld } from "../world/fault-world.ts";
import type { Tenant } from "../world/tenant.ts";

export interface NodeCall {
  /** An index of the world's delivery nodes. */
  readonly node: number;
  readonly tenant: Tenant;
  readonly method?: "GET" | "POST";
  /** After `/v1/generations`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

export interface NodeAnswer {
  readonly status: number;
  readonly body: string;
  /** By `performance.now()`. */
  readonly at: number;
}

/** How long to wait for the whole of an answer, in milliseconds: streams that do not end are for readers. */
const LIMIT_MS = 120_000;

/** One request to one node, made once, as no SDK would. @returns undefined when no whole answer came */
export async function callNode({ deliveries }: FaultWorld, call: NodeCall): Promise<NodeAnswer | undefined> {
  const { node, tenant, method = "POST", path, headers, body } = call;
  try {
    const response = await fetch(`${deliveries[node]!.url}/v1/generations${path}`, {
      method,
      headers: {
        authorization: `Bearer ${tenant.key}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    return { status: response.status, body: await response.text(), at: performance.now() };
  } catch {
    return undefined;
  }
}

/** The code of an answer that is an error; "" for any other. */
export function codeOf({ status, body }: NodeAnswer): string {
  if (status < 400) return "";
  try {
    return (JSON.parse(body) as { error: { code: string } }).error.code;
  } catch {
    return "";
  }
}
