import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dashboardHashes, DRAWN_FROM } from "./drawing/dashboard-hashes.ts";

const FOLDER = join(import.meta.dirname, "../../docs/observability");

test("the pictures in docs are of the dashboards as they are: after a change of one, `npm run screenshots` draws them anew", () => {
  expect(JSON.parse(readFileSync(join(FOLDER, DRAWN_FROM), "utf8"))).toEqual(dashboardHashes());
});
