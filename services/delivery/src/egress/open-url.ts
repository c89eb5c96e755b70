import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { raceAbort } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";
import { type AllowedHost, notAllowed, refused, type Target, toTarget } from "./allowed-hosts.ts";
import type { EgressPorts } from "./dial.ts";
import { isPublicAddress } from "./public-address.ts";

export interface EgressTimes {
  /** Milliseconds from the lookup of the name to an established connection. Default 3 s. */
  readonly connectMs?: number;
  /** From the request to the answer's headers. Default 5 s. */
  readonly headersMs?: number;
  /** From the first lookup to the last byte, redirects included. Default 15 s. */
  readonly totalMs?: number;
  /** For all URLs of one request. Default 30 s. */
  readonly requestMs?: number;
}

/** Hosts that may be fetched from, and the ports and times of a fetch. */
export interface Egress extends EgressPorts {
  readonly allowed: readonly AllowedHost[];
  readonly times: EgressTimes;
}

export interface OpenUrl {
  /** Content type that the server declares, if it does. */
  readonly type: string | undefined;
  /** Content length in bytes, if the server declares it. */
  readonly length: number | undefined;
  /** @throws RepriseError `media_unavailable` where it breaks off or its time is over, `invalid_request` beyond `maxBytes` */
  readonly content: AsyncIterable<Uint8Array>;
  /** Lets go of the connection. */
  close(): void;
}

export interface OpenUrlOptions {
  /** Whose URL it is. */
  readonly param: string;
  readonly maxBytes: number;
  /** Breaks it off. */
  readonly signal?: AbortSignal | undefined;
}

const CONNECT_MS = 3_000;
const HEADERS_MS = 5_000;
const TOTAL_MS = 15_000;
const MAX_REDIRECTS = 3;
const MAX_HEADER_BYTES = 16 * 1_024;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Fetches a client's URL, in a way that leads nowhere inside: the host is on the operator's list, every address that its name has is public, and
 * the connection is made to one of these very addresses. A redirect is a URL of the server's, and is judged like one of the client's.
 * Nothing of the platform is sent along: no key, no cookie, no address of a page.
 * @throws RepriseError `invalid_request` for what will never be fetched, `media_unavailable` for what can't be fetched now
 */
export async function openUrl(text: string, egress: Egress, options: OpenUrlOptions): Promise<OpenUrl> {
  const { param, signal } = options;
  const ownTime = AbortSignal.timeout(egress.times.totalMs ?? TOTAL_MS);
  const total = signal ? AbortSignal.any([ownTime, signal]) : ownTime;
  let target = toTarget(text, egress.allowed, param);
  for (let redirects = 0; ; redirects++) {
    const socket = await connectTo(target, egress, { param, total });
    try {
      const answer = await ask(target, socket, {
        total,
        headersMs: egress.times.headersMs ?? HEADERS_MS,
        param,
      });
      const location = redirectOf(answer);
      if (location === undefined) return toOpenUrl(answer, socket, { ...options, total });
      if (redirects === MAX_REDIRECTS) throw refused(param, `is redirected more than ${MAX_REDIRECTS} times`);
      target = toTarget(URL.parse(location, target.url)?.href ?? "", egress.allowed, param);
      socket.destroy();
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }
}

interface Context {
  readonly param: string;
  readonly total: AbortSignal;
}

async function connectTo(
  { host, port }: Target,
  { resolve, dial, times }: Egress,
  { param, total }: Context,
): Promise<Duplex> {
  const signal = AbortSignal.any([total, AbortSignal.timeout(times.connectMs ?? CONNECT_MS)]);
  const addresses = await raceAbort(resolve(host), signal).catch((cause: unknown) => {
    throw unavailable(param, "the host's name can't be resolved", cause);
  });
  // One that is not public is no mistake that the next one makes up for: it is how a name is made to lead inside.
  if (addresses.length === 0 || !addresses.every(isPublicAddress)) throw notAllowed(param);
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await dial({ address, port, host }, signal);
    } catch (error) {
      failure = error;
      if (signal.aborted) break;
    }
  }
  throw unavailable(param, "the host can't be reached", failure);
}

async function ask(
  { url, host, port }: Target,
  socket: Duplex,
  { param, total, headersMs }: Context & { headersMs: number },
): Promise<IncomingMessage> {
  const signal = AbortSignal.any([total, AbortSignal.timeout(headersMs)]);
  const asked = request({
    createConnection: () => socket,
    method: "GET",
    path: `${url.pathname}${url.search}`,
    maxHeaderSize: MAX_HEADER_BYTES,
    headers: {
      host: port === 443 ? host : `${host}:${port}`,
      accept: "*/*",
      "accept-encoding": "identity",
      "user-agent": "reprise",
      connection: "close",
    },
  });
  // A failure after the headers is reported by the content.
  asked.on("error", () => undefined);
  try {
    const answered = once(asked, "response", { signal }) as Promise<[IncomingMessage]>;
    asked.end();
    const [answer] = await answered;
    answer.on("error", () => undefined);
    return answer;
  } catch (cause) {
    throw unavailable(param, "the host did not answer", cause);
  }
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return REDIRECTS.has(statusCode) ? (headers.location ?? "") : undefined;
}

function toOpenUrl(
  answer: IncomingMessage,
  socket: Duplex,
  { param, maxBytes, total }: OpenUrlOptions & Context,
): OpenUrl {
  const { statusCode = 0, headers } = answer;
  if (statusCode !== 200) {
    const isPassing = statusCode === 429 || statusCode >= 500;
    if (isPassing) throw unavailable(param, `the host answers with status ${statusCode}`);
    throw refused(param, `is answered with status ${statusCode}, and not with 200`);
  }
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding !== "identity") throw refused(param, "is sent compressed, which was not asked for");
  const length = lengthOf(headers["content-length"]);
  if (length !== undefined && length > maxBytes) throw tooLarge(param, maxBytes);
  return {
    type: headers["content-type"],
    length,
    content: readContent(answer, { param, maxBytes, total }),
    close: () => socket.destroy(),
  };
}

async function* readContent(
  answer: IncomingMessage,
  { param, maxBytes, total }: OpenUrlOptions & Context,
): AsyncGenerator<Uint8Array> {
  const stop = () => answer.destroy();
  total.addEventListener("abort", stop, { once: true });
  if (total.aborted) stop();
  let bytes = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > maxBytes) throw tooLarge(param, maxBytes);
      yield piece;
    }
  } catch (error) {
    throw error instanceof RepriseError ? error : unavailable(param, "the host broke off", error);
  } finally {
    total.removeEventListener("abort", stop);
  }
}

function lengthOf(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

function tooLarge(param: string, maxBytes: number): RepriseError {
  return refused(param, `has more than ${maxBytes} bytes`);
}

/** The cause may name internal addresses, so it is never shown to clients. */
function unavailable(param: string, problem: string, cause?: unknown): RepriseError {
  return new RepriseError("media_unavailable", `${param}: ${problem}.`, { param, cause });
}
