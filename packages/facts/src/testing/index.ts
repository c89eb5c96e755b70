/** For tests of what is made of logs: other packages' as well. */
export { history, type StoredBytes } from "../fold/history.fixture.ts";
export { recount } from "../fold/recount.fixture.ts";
