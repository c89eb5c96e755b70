import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";

export interface S3Access {
  readonly region: string;
  readonly keyId: string;
  readonly secret: string;
}

const CREDENTIAL =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
const REQUIRED = ["host", "x-amz-content-sha256", "x-amz-date"];

/**
 * True if a request has a valid AWS Signature Version 4, written from Amazon's text alone. The hash of the body is compared with the body,
 * and conditions must be signed: a proxy on the way could leave them out.
 */
export function isSigned(request: IncomingMessage, body: Uint8Array, access: S3Access): boolean {
  const [, keyId, day = "", region = "", names = "", signature] =
    CREDENTIAL.exec(request.headers.authorization ?? "") ?? [];
  const signed = names.split(";");
  const conditions = Object.keys(request.headers).filter((name) => name.startsWith("if-"));
  if (keyId !== access.keyId || region !== access.region) return false;
  if (![...REQUIRED, ...conditions].every((name) => signed.includes(name))) return false;
  const bodyHash = createHash("sha256").update(body).digest("hex");
  if (request.headers["x-amz-content-sha256"] !== bodyHash) return false;

  const url = new URL(request.url ?? "/", "http://any");
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join("&");
  const path = decodeURIComponent(url.pathname).split("/").map(encode).join("/");
  const headers = signed.map((name) => `${name}:${String(request.headers[name]).trim()}\n`).join("");
  const canonical = [request.method, path, query, headers, names, bodyHash].join("\n");
  const time = String(request.headers["x-amz-date"]);
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", time, scope, createHash("sha256").update(canonical).digest("hex")];
  const key = [day, region, "s3", "aws4_request"].reduce<Uint8Array>(
    (last, part) => hmac(last, part),
    Buffer.from(`AWS4${access.secret}`),
  );
  return time.startsWith(day) && hmac(key, toSign.join("\n")).toString("hex") === signature;
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
