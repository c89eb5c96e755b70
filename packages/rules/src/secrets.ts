import type { ShapeSource } from "./shape-source.ts";

/** The longest token that is redacted whole. Of a longer one the first so many characters are, its prefix among them. */
const TOKEN = 1_024;
/** A 4,096-bit RSA key in PEM takes 3,300. */
const PRIVATE_KEY = 8_192;

/** Between two lines of a PEM block; also where JSON or a shell escaped the line ends. */
const LINE_END = String.raw`(?:\s|\\[nr])`;

/** Keys and tokens of well-known shapes. What is random by design needs no dictionary; `isRandom` keeps kebab-case words out. */
export const SECRETS: readonly ShapeSource[] = [
  {
    name: "aws-access-key",
    pattern: String.raw`\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b`,
    maxLength: 20,
  },
  {
    name: "github-token",
    pattern: String.raw`\b(?:gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})`,
    maxLength: TOKEN,
  },
  {
    name: "gitlab-token",
    pattern: String.raw`\bgl(?:pat|rt|dt)-[\w-]{20,}`,
    maxLength: TOKEN,
    check: ifRandom,
  },
  { name: "npm-token", pattern: String.raw`\bnpm_[A-Za-z0-9]{36}\b`, maxLength: 40 },
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
  },
  { name: "google-api-key", pattern: String.raw`\bAIza[\w-]{35}`, maxLength: 39 },
  {
    name: "stripe-key",
    pattern: String.raw`\b(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}`,
    maxLength: TOKEN,
  },
  { name: "sendgrid-key", pattern: String.raw`\bSG\.[\w-]{22}\.[\w-]{43}`, maxLength: 69 },
  { name: "jwt", pattern: String.raw`\beyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?`, maxLength: TOKEN },
  {
    name: "bearer-token",
    pattern: String.raw`\b[Bb](?:earer|EARER) {1,4}[\w.~+/-]{20,}=*`,
    maxLength: TOKEN,
    check: ifRandom,
  },
  {
    name: "private-key",
    pattern:
      String.raw`-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----` +
      String.raw`(?:${LINE_END}+(?:Proc-Type|DEK-Info): [\w, -]{1,80})*` +
      String.raw`(?:${LINE_END}+[A-Za-z0-9+/=]{16,})*` +
      String.raw`(?:(?:${LINE_END}+[A-Za-z0-9+/=]{1,16})?${LINE_END}*-----END [A-Z0-9 ]{1,40}-----)?`,
    maxLength: PRIVATE_KEY,
  },
];

function openAiKey(text: string): number {
  return text.startsWith("sk-ant-") ? 0 : ifRandom(text);
}

/** Counts what looks drawn at random: digits, and capitals or no words between hyphens. */
function ifRandom(text: string): number {
  const random = /\d/.test(text) && (/[a-z].*[A-Z]|[A-Z].*[a-z]/.test(text) || /[a-z0-9]{24}/.test(text));
  return random ? text.length : 0;
}

function ifDigits(text: string): number {
  return /\d{3}/.test(text) ? text.length : 0;
}
