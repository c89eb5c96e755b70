import { unixNow } from "@reprise/protocol";
import { signWebhook, type WebhookKey } from "./sign-webhook.ts";
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
