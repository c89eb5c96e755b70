import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { RepriseError } from "@reprise/protocol";
import { runService } from "./lifecycle.ts";
import { createLogger } from "./logger.ts";

/* A process for the test beside it, which says how its service is to behave. */
const [behaviour = ""] = process.argv.slice(2);
const FOREVER = 2 ** 31 - 1;
/** Short for those that don't end by themselves; the others have as long as a busy machine needs. */
const DRAIN_MS: Record<string, number> = { leaky: 300, "stop-fails": 300, "fails-stuck": 2_100 };
const drainMs = DRAIN_MS[behaviour] ?? 60_000;

await runService("fixture", async () => {
  if (behaviour === "bad-config") throw new RepriseError("config_invalid", "REPRISE_PORT must be a number");
  if (behaviour === "no-broker")
    throw new RepriseError("broker_unavailable", "nats://user:secret@host: refused");
  if (behaviour === "port-taken") await listenTwice();
  if (behaviour === "broken") throw new TypeError("a defect");
  const logger = createLogger({ service: "fixture" });
  if (behaviour === "never-starts") {
    logger.info("starting");
    await delay(FOREVER);
  }
  if (behaviour === "starts-late") {
    const hangUp = once(process, "SIGHUP");
    logger.info("starting");
    const waiting = setInterval(() => {}, FOREVER);
    await hangUp;
    clearInterval(waiting);
  }
  const alive = setInterval(() => {}, FOREVER);
  const stop = async () => {
    if (behaviour === "stuck" || behaviour === "fails-stuck" || behaviour === "fails-brokerless")
      await delay(FOREVER);
    if (behaviour === "stop-fails") throw new Error("could not stop");
    if (behaviour !== "leaky") clearInterval(alive);
  };
  const failed = behaviour.startsWith("fails") ? delay(1).then(() => Promise.reject(failure())) : undefined;
  const reload = async () => {
    if (behaviour === "reload-fails") throw new RepriseError("config_invalid", "tenants[0].id is missing");
    if (behaviour === "reload-broken") throw new TypeError("a defect");
  };
  // Not before the signals are listened for.
  setImmediate(() => logger.info("started"));
  const announceStop = () => logger.info("not ready");
  const noticeMs = behaviour === "notices" ? FOREVER : 0;
  return { logger, drainMs, noticeMs, announceStop, stop, reload, ...(failed && { failed }) };
});

function failure(): RepriseError {
  return behaviour === "fails-brokerless"
    ? new RepriseError("broker_unavailable", "the broker is gone")
    : new RepriseError("broker_incompatible", "the broker has other shards");
}

async function listenTwice(): Promise<void> {
  const first = createServer().listen(0, "127.0.0.1").unref();
  await once(first, "listening");
  await once(createServer().listen((first.address() as AddressInfo).port, "127.0.0.1"), "listening");
}
