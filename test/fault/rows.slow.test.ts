import { ROWS } from "./rows/all.ts";
import { testRows } from "./testing/test-rows.ts";

/* The rows that are content with the usual world, one for all of them. The others: `worlds.slow.test.ts`. */
testRows(ROWS.filter(({ world }) => Object.keys(world).length === 0));
