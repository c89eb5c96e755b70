import { expect, test } from "vitest";
import { createLogger } from "../lifecycle/logger.ts";
import { redactCredentials } from "./redact-credentials.ts";

test.each([
  ["nats://user:pass@host:4222", "nats://[redacted]@host:4222"],
  ["two: tls://a:b@h1,tls://t0ken@h2.", "two: tls://[redacted]@h1,tls://[redacted]@h2."],
  ["p@ss: nats://user:p@ss@host", "p@ss: nats://[redacted]@host"],
  ["https://host/path?mail=a@b", "https://host/path?mail=a@b"],
  ["nothing to hide", "nothing to hide"],
])("%j becomes %j", (text, shown) => expect(redactCredentials(text)).toBe(shown));

test("no line of the log holds the credentials of a URL, wherever they stand", () => {
  const lines: string[] = [];
  const logger = createLogger({ service: "test", destination: { write: (line) => void lines.push(line) } });
  logger.info(
    { nats: "nats://user:hidden@host", deep: { er: [{ url: "tls://hidden@host" }] } },
    "at nats://a:hidden@b",
  );
  logger.error({ err: new Error("can't reach nats://user:hidden@host") }, "failed");
  expect(lines.join("")).not.toContain("hidden");
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { nats: "nats://[redacted]@host", msg: "at nats://[redacted]@b" },
    { err: { message: "can't reach nats://[redacted]@host" } },
  ]);
});
