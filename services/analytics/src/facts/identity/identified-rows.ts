import type { RowSource } from "../row-source.ts";
import type { StoreIdentity } from "./store-identity.ts";

/** Rows that count only if the store, looked at after the reading, is the one that it was. */
export function identifyRows(
  rows: RowSource & AsyncDisposable,
  identity: Pick<StoreIdentity, "check">,
): RowSource & AsyncDisposable {
  const checked = async <T>(read: Promise<T>): Promise<T> => {
    const result = await read;
    await identity.check();
    return result;
  };
  return {
    read: (query, create) => checked(rows.read(query, create)),
    page: (query) => checked(rows.page(query)),
    objectsOf: (generations) => checked(rows.objectsOf(generations)),
    [Symbol.asyncDispose]: () => rows[Symbol.asyncDispose](),
  };
}
