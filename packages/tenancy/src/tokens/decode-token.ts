import { claimsSchema, headerSchema, TOKEN_LIMITS, type TokenClaims } from "./claims.ts";

export interface DecodedToken {
  readonly keyId: string;
  readonly claims: TokenClaims;
}

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Returns true if a bearer token has the form of a stream token. An API key may have it too, so look for a known key first. */
export function isTokenShaped(text: string): boolean {
  return text.length <= TOKEN_LIMITS.length && COMPACT.test(text);
}

/**
 * The header and the claims of a token whose signature is not verified yet: which key to verify it with, and nothing to act on before.
 * @returns undefined for a text that no issuer may have signed
 */
export function decodeToken(text: string): DecodedToken | undefined {
  if (!isTokenShaped(text)) return undefined;
  const [header = "", payload = "", signature = ""] = text.split(".");
  if (![header, payload, signature].every(isCanonical)) return undefined;
  const { data: head } = headerSchema.safeParse(parseFlatJson(toText(header)));
  const { data: claims } = claimsSchema.safeParse(parseFlatJson(toText(payload)));
  return head && claims && { keyId: head.kid, claims };
}

/** One text for each sequence of bytes: `Buffer` also takes characters whose last bits mean nothing. */
function isCanonical(part: string): boolean {
  return Buffer.from(part, "base64url").toString("base64url") === part;
}

function toText(part: string): string {
  return Buffer.from(part, "base64url").toString("utf8");
}

/** A string of JSON, and what follows it where it is a name. */
const STRINGS = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/**
 * A JSON object without objects in it and without a name that is there twice: parsers differ in which of the two counts.
 * @returns undefined for any other text
 */
function parseFlatJson(text: string): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  if (entries.some(([, part]) => typeof part === "object" && part !== null)) return undefined;
  const names = text.matchAll(STRINGS).reduce((count, [, colon]) => count + (colon ? 1 : 0), 0);
  return names === entries.length ? Object.fromEntries(entries) : undefined;
}
