import { PRIVATE_KEY } from "./private-key.ts";
import type { ShapeSource } from "./shape-source.ts";

/** Length of the longest token that is redacted whole. Of a longer one, this many characters are redacted from the start, prefix included. */
const TOKEN = 1_024;

/** Number of characters of which more than a few differ, if they are random. */
const DRAWN_LENGTH = 16;
const FEW = 4;

/** Keys and tokens of well-known shapes. What is random by design needs no dictionary; `isRandom` keeps kebab-case words out. */
export const SECRETS: readonly ShapeSource[] = [
  {
    name: "aws-access-key",
    pattern: String.raw`\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b`,
    maxLength: 20,
    check: ifDrawn,
  },
  {
    name: "github-token",
    pattern: String.raw`\b(?:gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})`,
    maxLength: TOKEN,
    check: ifDrawn,
  },
  {
    name: "gitlab-token",
    pattern: String.raw`\bgl(?:pat|rt|dt)-[\w-]{20,}`,
    maxLength: TOKEN,
    check: ifCapitalsOrDigits,
  },
  { name: "npm-token", pattern: String.raw`\bnpm_[A-Za-z0-9]{36}\b`, maxLength: 40, check: ifDrawn },
  {
    name: "hugging-face-token",
    pattern: String.raw`\bhf_[A-Za-z0-9]{30,}`,
    maxLength: TOKEN,
    check: ifRandom,
  },
  { name: "anthropic-key", pattern: String.raw`\bsk-ant-[\w-]{20,}`, maxLength: TOKEN, check: ifRandom },
  { name: "openai-key", pattern: String.raw`\bsk-[\w-]{20,}`, maxLength: TOKEN, check: openAiKey },
  {
    name: "slack-token",
    pattern: String.raw`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`,
    maxLength: TOKEN,
    check: ifDigits,
  },
  {
    name: "slack-webhook",
    pattern: String.raw`\bhooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}`,
    maxLength: TOKEN,
    check: ifDrawn,
  },
  { name: "google-api-key", pattern: String.raw`\bAIza[\w-]{35}`, maxLength: 39, check: ifDrawn },
  {
    name: "stripe-key",
    pattern: String.raw`\b(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}`,
    maxLength: TOKEN,
    check: ifDrawn,
  },
  { name: "sendgrid-key", pattern: String.raw`\bSG\.[\w-]{22}\.[\w-]{43}`, maxLength: 69, check: ifDrawn },
  { name: "jwt", pattern: String.raw`\beyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?`, maxLength: TOKEN },
  {
    name: "bearer-token",
    pattern: String.raw`\b[Bb](?:earer|EARER) {1,4}[\w.~+/-]{20,}=*`,
    maxLength: TOKEN,
    check: ifRandom,
  },
  PRIVATE_KEY,
];

function openAiKey(text: string): number {
  return text.startsWith("sk-ant-") ? 0 : ifRandom(text);
}

/** Counts what looks drawn at random: digits, and capitals or no words between hyphens. */
function ifRandom(text: string): number {
  const random = /\d/.test(text) && (/[a-z].*[A-Z]|[A-Z].*[a-z]/.test(text) || /[a-z0-9]{24}/.test(text));
  return random ? text.length : 0;
}

/** Accepts a token after a unique prefix if it is neither a few repeated characters nor words. */
function ifCapitalsOrDigits(text: string): number {
  return /[A-Z0-9]/.test(text) ? ifDrawn(text) : 0;
}

/** Rejects placeholders of a key: `xxxxxxxx`, `00000000`. */
function ifDrawn(text: string): number {
  return new Set(text.slice(-DRAWN_LENGTH)).size > FEW ? text.length : 0;
}

function ifDigits(text: string): number {
  return /\d{3}/.test(text) ? text.length : 0;
}
