import { hash } from "node:crypto";
import { retry } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";
import { AwsClient } from "aws4fetch";
import type { BlobInfo } from "./blob-store.ts";

export interface S3Request {
  readonly method: "GET" | "PUT" | "DELETE";
  readonly address: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** An answer, read to its end. */
export interface S3Answer {
  readonly status: number;
  readonly body: Uint8Array;
  /** S3's name for what is wrong, such as `NoSuchKey`; undefined where all is well, or it gives none. */
  readonly errorCode: string | undefined;
}

export interface S3Credentials {
  readonly region: string;
  readonly keyId: string;
  readonly secret: string;
}

export type SendS3 = (request: S3Request) => Promise<S3Answer>;

const ATTEMPTS = { maxAttempts: 4, pauseMs: 150, maxPauseMs: 600 };

/**
 * Signs requests, the hash of their body included, and sends each once.
 * @returns rejects with RepriseError `archive_unavailable` when there is no whole answer in time
 */
export function createS3Sender(credentials: S3Credentials, timeoutMs: number): SendS3 {
  const { region, keyId, secret } = credentials;
  const signer = { accessKeyId: keyId, secretAccessKey: secret, region, service: "s3", retries: 0 };
  const aws = new AwsClient(signer);
  return async ({ method, address, headers = {}, body }) => {
    const init: RequestInit = {
      method,
      headers: { ...headers, "x-amz-content-sha256": hash("sha256", body ?? "", "hex") },
      ...(body && { body: Uint8Array.from(body) }),
    };
    try {
      // The signal goes to fetch itself: of one inside the signed Request nothing is heard any more once that is collected as garbage.
      const response = await fetch(await aws.sign(address, init), { signal: AbortSignal.timeout(timeoutMs) });
      const bytes = new Uint8Array(await response.arrayBuffer());
      const errorCode = response.ok ? undefined : xmlField(Buffer.from(bytes).toString(), "Code");
      return { status: response.status, body: bytes, errorCode };
    } catch (cause) {
      throw new RepriseError("archive_unavailable", `The archive's store: ${method}: no answer.`, { cause });
    }
  };
}

/**
 * Sends until something comes of it that `settle` does not call undefined, at most four times, with growing pauses.
 * @param settle is also asked when there was no answer
 * @throws RepriseError `archive_unavailable`
 */
export async function sendUntilSettled<T>(
  send: SendS3,
  request: S3Request,
  settle: (answer: S3Answer | undefined) => T | undefined | Promise<T | undefined>,
): Promise<T> {
  let failure: unknown;
  const settled = await retry(async () => {
    const answer = await send(request).catch((error: unknown) => {
      failure = error;
      return undefined;
    });
    if (answer) failure = failureOf(request, answer);
    return settle(answer);
  }, ATTEMPTS);
  if (settled === undefined) throw failure;
  return settled;
}

/** The store, or what is in front of it, can't answer now. What it was doing may have happened. */
export function isPassing({ status }: S3Answer): boolean {
  return status === 429 || status >= 500;
}

export function failureOf({ method }: S3Request, { status, errorCode }: S3Answer): RepriseError {
  const reason = errorCode === undefined ? `${status}` : `${status} ${errorCode}`;
  return new RepriseError("archive_unavailable", `The archive's store: ${method}: ${reason}.`);
}

/** The text of the first element of this name that holds nothing but text. */
export function xmlField(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text
    ?.replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** The objects on a page of `ListObjectsV2`, under their whole keys. */
export function* readListing(page: string): Generator<BlobInfo> {
  for (const [, entry = ""] of page.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
    const key = xmlField(entry, "Key");
    if (key !== undefined) yield { key, bytes: Number(xmlField(entry, "Size")) };
  }
}
