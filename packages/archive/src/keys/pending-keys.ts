import { randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import type { KeyEntry, KeyPages } from "./key-pages.ts";
import type { DataKey } from "./keyring.ts";
import { pageKid, placeOfKid } from "./kid.ts";

/** A page is rewritten as a whole to destroy a key on it, and kept in memory as a whole for another. */
const MAX_KEYS_PER_PAGE = 200;
const PAGE_NAME_BYTES = 9;

interface PendingPage {
  readonly tenant: string;
  readonly name: string;
  readonly entries: KeyEntry[];
  /** By owner and by kid, those of its keys. */
  readonly owners: string[];
  readonly kids: string[];
  writing: Promise<void> | undefined;
}

/**
 * Keys of generations that no store holds yet. They are stored as one page per tenant and flush: a file each would be as many as there are
 * generations. A page that is being written takes no more keys; one whose writing failed is written again by the next flush.
 */
export class PendingKeys {
  readonly #pages = new Set<PendingPage>();
  /** The page of each tenant that takes new keys. */
  readonly #open = new Map<string, PendingPage>();
  readonly #byOwner = new Map<string, DataKey>();
  readonly #byKid = new Map<string, DataKey>();

  of(tenant: string, generation: string): DataKey | undefined {
    return this.#byOwner.get(`${tenant}/${generation}`);
  }

  get(tenant: string, kid: string): DataKey | undefined {
    return this.#byKid.get(`${tenant}/${kid}`);
  }

  /** @param make gives a key its id, and wraps it */
  add(tenant: string, generation: string, make: (kid: string) => { key: DataKey; entry: KeyEntry }): DataKey {
    const page = this.#openPage(tenant);
    const { key, entry } = make(pageKid(page.name, page.entries.length));
    page.entries.push(entry);
    page.owners.push(`${tenant}/${generation}`);
    page.kids.push(`${tenant}/${key.kid}`);
    this.#byOwner.set(`${tenant}/${generation}`, key);
    this.#byKid.set(`${tenant}/${key.kid}`, key);
    return key;
  }

  /**
   * Resolves when all that `add` has given so far is stored, by whichever call.
   * @throws RepriseError `archive_unavailable`
   */
  async flush(pages: KeyPages): Promise<void> {
    await Promise.all([...this.#pages].map((page) => (page.writing ??= this.#write(page, pages))));
  }

  async #write(page: PendingPage, pages: KeyPages): Promise<void> {
    if (this.#open.get(page.tenant) === page) this.#open.delete(page.tenant);
    try {
      // A kid that `pageKid` made has a place.
      const { page: path } = placeOfKid(pageKid(page.name, 0))!;
      // Of an earlier try that failed after all, the same bytes are there.
      if ((await pages.create(page.tenant, path, page.entries)) === "exists")
        throw new RepriseError("archive_corrupt", `Another page of keys has the name ${page.name}.`);
    } catch (error) {
      page.writing = undefined;
      throw error;
    }
    this.#pages.delete(page);
    for (const owner of page.owners) this.#byOwner.delete(owner);
    for (const kid of page.kids) this.#byKid.delete(kid);
  }

  #openPage(tenant: string): PendingPage {
    const open = this.#open.get(tenant);
    if (open && open.entries.length < MAX_KEYS_PER_PAGE) return open;
    const name = randomBytes(PAGE_NAME_BYTES).toString("base64url");
    const page = { tenant, name, entries: [], owners: [], kids: [], writing: undefined };
    this.#pages.add(page);
    this.#open.set(tenant, page);
    return page;
  }
}
