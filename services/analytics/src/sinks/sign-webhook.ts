import { createHmac } from "node:crypto";
import { RepriseError } from "@reprise/protocol";

/** A key of Standard Webhooks, 24 to 64 bytes. */
export type WebhookKey = Uint8Array;

const PREFIX = "whsec_";
const [MIN_BYTES, MAX_BYTES] = [24, 64];

/** @throws RepriseError `config_invalid`; the message does not repeat the secret */
export function parseWebhookSecret(secret: string): WebhookKey {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  const key = Buffer.from(text, "base64");
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  if (isBase64 && key.length >= MIN_BYTES && key.length <= MAX_BYTES) return key;
  const message = `A webhook's secret must be ${PREFIX} and ${MIN_BYTES} to ${MAX_BYTES} bytes in base64.`;
  throw new RepriseError("config_invalid", message);
}

/** The headers by which a receiver knows who has sent a body, and when: Standard Webhooks 1.0.0. */
export function signWebhook(
  key: WebhookKey,
  { id, body, atMs }: { id: string; body: string; atMs: number },
): Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
