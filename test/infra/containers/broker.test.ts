import { beforeAll, expect, test } from "vitest";
import { run } from "../../../scripts/pack/run.ts";
import { ensureBaseImages, NATS_IMAGE } from "./testing/base-images.ts";
import { docker, ROOT } from "./testing/docker.ts";

/** Of the broker itself, and of packages and services that it is started for. */
const TESTS = [
  "packages/testkit/src/broker/test-broker.test.ts",
  "packages/log/src/nats/publisher.test.ts",
  "packages/log/src/append/retention.test.ts",
  "packages/log/src/backup/backup.test.ts",
  "packages/service/src/broker/broker-service.test.ts",
  "packages/tenancy/src/tokens/platform-keys.test.ts",
  "services/audit-log/src/answering/answering.test.ts",
  "services/analytics/src/queries/start-answering.test.ts",
];

beforeAll(async () => void (await ensureBaseImages()), 1_800_000);

test("tests with a broker pass where testcontainers starts it", async () => {
  const env = { ...process.env, TEST_BROKER_IMAGE: NATS_IMAGE, NO_COLOR: "1" };
  const containers = () => docker(["ps", "--all", "--quiet", "--filter", `ancestor=${NATS_IMAGE}`]);
  const before = await containers();
  const args = ["node_modules/vitest/vitest.mjs", "run", ...TESTS];
  const { stdout } = await run(process.execPath, args, { cwd: ROOT, env });
  const [counts] = /^ *Tests .*$/m.exec(stdout) ?? [];
  process.stdout.write(`with ${NATS_IMAGE}: ${counts}\n`);
  expect(counts).toMatch(/ [1-9]\d* passed/);
  expect(await containers()).toBe(before);
}, 1_800_000);
