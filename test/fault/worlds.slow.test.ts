import { ROWS } from "./rows/all.ts";
import { testRows } from "./testing/test-rows.ts";

/* The rows that need a world of their own kind: proxies, a cluster, other settings. Apart from `rows.slow.test.ts`, to run beside it. */
testRows(ROWS.filter(({ world }) => Object.keys(world).length > 0));
