import type { CommandIo } from "@reprise/runtime";
import { RepriseError } from "@reprise/protocol";
import * as z from "zod";

/** The platform has answered, and not with what was asked for. */
export class RefusedError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface AdminCallOptions<T> {
  readonly method?: "POST" | "PUT" | "DELETE";
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  /** Schema of the answer. */
  readonly schema: z.ZodType<T>;
}

export interface AdminAnswer<T> {
  readonly body: T;
  /** The tenant's version. */
  readonly etag: string | undefined;
}

/** Calls the API, by the path after `/v1`; for the admin API after `/v1/admin/tenants`. */
export type AdminApi = <T>(path: string, options: AdminCallOptions<T>) => Promise<AdminAnswer<T>>;

const TIMEOUT_MS = 30_000;
const DEFAULT_URL = "http://127.0.0.1:8080";
const problemSchema = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/**
 * The admin API that the environment names. No message holds the key.
 * @throws RepriseError `config_invalid`
 */
export function openAdminApi(io: Pick<CommandIo, "env">): AdminApi {
  const api = openApi(io);
  return (path, options) => api(`/admin/tenants${path}`, options);
}

/**
 * The API that the environment names. No message holds the key.
 * @throws RepriseError `config_invalid`
 */
export function openApi({ env }: Pick<CommandIo, "env">): AdminApi {
  const base = baseOf(env["REPRISE_URL"] || DEFAULT_URL);
  const key = env["REPRISE_ADMIN_KEY"] ?? "";
  if (!/^[\x21-\x7e]{16,256}$/.test(key))
    throw new RepriseError(
      "config_invalid",
      "REPRISE_ADMIN_KEY must be the operator's key, or a key of the tenant with the role admin. `npm start` writes one into .reprise/dev.json as operator_key.",
    );
  return async (path, { method = "GET", body, ifMatch, schema }) => {
    assertWholePath(path);
    const response = await send(`${base}/v1${path}`, {
      method,
      headers: {
        accept: "application/json",
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(ifMatch !== undefined && { "if-match": ifMatch }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const { status, headers } = response;
    const answer = await readAnswer(response);
    if (!response.ok) throw refusal(status, answer);
    const parsed = schema.safeParse(answer);
    if (!parsed.success) throw unanswered("The answer is not what this version of the admin API gives.");
    return { body: parsed.data, etag: headers.get("etag") ?? undefined };
  };
}

/**
 * Names come from the command line: without one, or with `..`, the call would be another one, such as the removal of a tenant in place of its key's.
 * @throws RepriseError `invalid_request`
 */
function assertWholePath(path: string): void {
  const [bare = ""] = path.split("?", 1);
  const wrong = bare
    .slice(1)
    .split("/")
    .find((part) => /^\.{0,2}$/.test(part));
  if (wrong !== undefined)
    throw new RepriseError("invalid_request", `"${wrong}" is no id of a tenant or a key.`);
}

/** An origin: a key is not to be sent to wherever a longer address leads. */
function baseOf(url: string): string {
  const parsed = URL.parse(url);
  const isBare = parsed?.pathname === "/" && parsed.search === "" && parsed.username === "";
  if (parsed && isBare && /^https?:$/.test(parsed.protocol)) return parsed.origin;
  throw new RepriseError(
    "config_invalid",
    "REPRISE_URL must be the address of the API, such as https://reprise.example, without user and path.",
  );
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    // A redirect would take the key elsewhere.
    return await fetch(url, { ...init, redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (cause) {
    throw unanswered(`${new URL(url).origin} does not answer: ${reasonOf(cause)}`);
  }
}

async function readAnswer(response: Response): Promise<unknown> {
  try {
    const text = await response.text();
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    if (!response.ok) return undefined;
    throw unanswered("The answer broke off, or is not JSON.");
  }
}

function refusal(status: number, answer: unknown): RefusedError {
  const { data } = problemSchema.safeParse(answer);
  if (!data) return new RefusedError(status, `The platform answered with the status ${status}.`);
  return new RefusedError(status, `${data.error.code}: ${data.error.message}`);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return error.cause instanceof Error && error.cause.message !== "" ? error.cause.message : error.message;
}

function unanswered(message: string): RepriseError {
  return new RepriseError("connection_lost", message);
}
