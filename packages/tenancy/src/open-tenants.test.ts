import { TENANTS_STREAM } from "@reprise/protocol";
import { expect, test } from "vitest";
import { parseTenantsFile } from "./file/tenants-file.ts";
import { openTenants } from "./open-tenants.ts";
import { openWorld } from "./testing/world.ts";

const KEY = "rk_acme_0123456789abcdef";
const FILE = JSON.stringify({ tenants: [{ id: "acme", keys: [{ secret: KEY, roles: ["read"] }] }] });

test.each(["seed", "file"] as const)(
  "a file is applied though the broker leaves a few reads of the bucket unanswered: source %s",
  async (source) => {
    await using world = await openWorld();
    const { main } = world.broker;
    let unanswered = 0;
    const publish: typeof main.publish = (subject, ...rest) => {
      const isLost = subject === `$JS.API.STREAM.INFO.${TENANTS_STREAM}` && unanswered-- > 0;
      main.publish(isLost ? "nowhere" : subject, ...rest);
    };
    const lossy = Object.assign(Object.create(main) as typeof main, { publish });
    const broker = { ...world.broker, main: lossy };
    await using tenants = await openTenants({ broker, source, onRefused: () => {} });
    unanswered = 3;
    await tenants.apply(parseTenantsFile(FILE, "test"));
    expect(tenants.directory.authenticate(KEY)).toMatchObject({ tenant: "acme" });
  },
);
