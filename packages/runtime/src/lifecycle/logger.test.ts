import { expect, test } from "vitest";
import { createLogger, type LogLevel, redactCredentials } from "./logger.ts";

function record(level?: LogLevel) {
  const lines: string[] = [];
  const logger = createLogger({
    service: "delivery",
    ...(level && { level }),
    destination: { write: (line) => lines.push(line) },
  });
  return { logger, lines };
}

test("a line is one JSON object that names its service, level and time", () => {
  const { logger, lines } = record();
  logger.warn({ generation: "gen_0_x", after: 3 }, "repaired");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toEqual({
    level: "warn",
    time: expect.stringMatching(/^20\d\d-.*Z$/),
    service: "delivery",
    generation: "gen_0_x",
    after: 3,
    msg: "repaired",
  });
});

test("what is less severe than the level is not written", () => {
  const { logger, lines } = record("error");
  logger.warn("quiet");
  expect(lines).toEqual([]);
});

test.each([
  { authorization: "Bearer rk_demo_hunter2" },
  { headers: { authorization: "Bearer rk_demo_hunter2" } },
  { req: { headers: { authorization: "Bearer rk_demo_hunter2", cookie: "hunter2" } } },
  { tenant: { secret: "rk_demo_hunter2" } },
])("a key does not reach the log: %j", (fields) => {
  const { logger, lines } = record();
  for (const each of [logger, logger.child({ route: "create" })]) each.info(fields, "request");
  expect(lines.filter((line) => line.includes("[redacted]"))).toHaveLength(2);
  expect(lines.join("")).not.toContain("hunter2");
});

test.each([
  ["nats://user:pass@host:4222", "nats://[redacted]@host:4222"],
  ["two: tls://a:b@h1,tls://t0ken@h2.", "two: tls://[redacted]@h1,tls://[redacted]@h2."],
  ["p@ss: nats://user:p@ss@host", "p@ss: nats://[redacted]@host"],
  ["https://host/path?mail=a@b", "https://host/path?mail=a@b"],
  ["nothing to hide", "nothing to hide"],
])("%j becomes %j", (text, shown) => expect(redactCredentials(text)).toBe(shown));

test("no line of the log holds the credentials of a URL", () => {
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
