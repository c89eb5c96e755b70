import { createHmac } from "node:crypto";
import { unixNow, RepriseError } from "@reprise/protocol";
import type { UsageSink } from "./usage-sink.ts";

export interface WebhookSinkOptions {
  readonly url: string;
  readonly key: WebhookKey;
  /** Timeout of the receiver. Default 20 s. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 20_000;

/**
 * A batch of CloudEvents as one POST, signed by the Standard Webhooks specification. A status of 2xx is a receipt; anything else, a redirect too, is none. The `webhook-id` of a batch is
 * the same at each try; its body is, too, unless a price was changed or metadata was erased between two of them.
 */
export function createWebhookSink({ url, key, timeoutMs = TIMEOUT_MS }: WebhookSinkOptions): UsageSink {
  return {
    name: "webhook",
    async deliver({ id, events }, signal) {
      const body = JSON.stringify(events);
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/cloudevents-batch+json",
          ...signWebhook(key, { id, body, atMs: unixNow() }),
        },
        body,
        redirect: "manual",
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      await response.body?.cancel();
      if (response.ok) return;
      throw new Error(`The receiver answered ${response.status}.`);
    },
  };
}

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
function signWebhook(
  key: WebhookKey,
  { id, body, atMs }: { id: string; body: string; atMs: number },
): Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
