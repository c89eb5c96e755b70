import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import { commitmentOf } from "../segment/segment.ts";
import type { BlobStore } from "../store/blob-store.ts";
import type { DataKey, KeyOwner, Keyring } from "./keyring.ts";
import { KEY_BYTES, unwrapKey, wrapKey } from "./wrap.ts";

/*
 * What the store of the keys holds:
 *
 *   check                            something known under the master key, which tells another master key
 *   tenant/<tenant>/kek              the tenant's key under the master key
 *   tenant/<tenant>/subject/<tag>/<n>  the n-th key of a subject, under the tenant's: the next is made when it was destroyed
 *   tenant/<tenant>/page/<page>      keys of generations whose subject nobody named, one page per flush
 *
 * A kid says where its key lies: `s.<tag>.<n>`, `p.<page>.<i>`. What is destroyed is overwritten with the time.
 */

export interface KeyringOptions {
  store: BlobStore;
  /** 32 bytes. */
  masterKey: Uint8Array;
  /** Milliseconds since 1970. */
  now?: () => number;
}

type Entry = { readonly wrapped: string } | { readonly destroyed_at: string };
interface Page {
  readonly keys: Entry[];
}

/** A page that is not stored yet. */
interface OpenPage extends Page {
  readonly page: string;
  /** While it is being stored: nothing is added to it any more. */
  stored: Promise<void> | undefined;
}

const CHECK = "check";
/** How long another process may go on with a key that was destroyed. */
const RECHECK_MS = 10_000;
const MAX_CACHED = 20_000;
const TAG_CHARS = 16;

/**
 * @throws RepriseError `config_invalid` when the store's keys are under another master key; `archive_unavailable`
 */
export async function openKeyring(options: KeyringOptions): Promise<Keyring> {
  const { store, masterKey } = options;
  const check = { wrapped: wrapKey(Buffer.alloc(KEY_BYTES), masterKey, CHECK) };
  if ((await store.create(CHECK, encode(check))) === "exists") {
    const known = decode<{ wrapped: string }>(await store.get(CHECK));
    if (!known || !unwrapKey(known.wrapped, masterKey, CHECK)) throw wrongMaster();
  }
  return new StoredKeyring(options);
}

class StoredKeyring implements Keyring {
  readonly #store: BlobStore;
  readonly #masterKey: Uint8Array;
  readonly #now: () => number;
  readonly #tenantKeys = new Map<string, Promise<Uint8Array>>();
  readonly #opened = new Map<string, { key: DataKey; atMs: number }>();
  /** What `keyFor` gave and no page that is stored holds. */
  #unflushed = new Map<string, { key: DataKey; tenant: string; page: string }>();
  #pages = new Map<string, OpenPage[]>();

  constructor({ store, masterKey, now = Date.now }: KeyringOptions) {
    this.#store = store;
    this.#masterKey = masterKey;
    this.#now = now;
  }

  async keyFor(owner: KeyOwner): Promise<DataKey> {
    const { tenant, generation, subject } = owner;
    const tenantKey = await this.#tenantKey(tenant);
    if (subject !== undefined) return this.#subjectKey(tenant, tenantKey, subject);
    const name = `${tenant}/${generation}`;
    const known = this.#unflushed.get(name);
    if (known) return known.key;
    const page = this.#openPage(tenant);
    const kid = `p.${page.page}.${page.keys.length}`;
    const key = toDataKey(kid, randomBytes(KEY_BYTES));
    page.keys.push({ wrapped: wrapKey(key.key, tenantKey, contextOf(tenant, kid)) });
    this.#unflushed.set(name, { key, tenant, page: page.page });
    this.#remember(tenant, key);
    return key;
  }

  async open(tenant: string, kid: string): Promise<DataKey | "destroyed" | "unknown"> {
    const cached = this.#opened.get(`${tenant}/${kid}`);
    if (cached && this.#now() - cached.atMs < RECHECK_MS) return cached.key;
    const entry = this.#pendingEntry(tenant, kid) ?? (await this.#readEntry(tenant, kid));
    if (!entry) return "unknown";
    if ("destroyed_at" in entry) return "destroyed";
    const key = unwrapKey(entry.wrapped, await this.#tenantKey(tenant), contextOf(tenant, kid));
    if (!key) throw new RepriseError("archive_corrupt", `The key ${kid} can't be unwrapped.`);
    return this.#remember(tenant, toDataKey(kid, key));
  }

  async flush(): Promise<void> {
    await Promise.all(
      [...this.#pages].flatMap(([tenant, pages]) =>
        // Several may ask for it at once: each waits until what it was given is stored, whoever stores it.
        pages.map((page) => (page.stored ??= this.#storePage(tenant, page))),
      ),
    );
  }

  async #storePage(tenant: string, page: OpenPage): Promise<void> {
    try {
      await this.#store.put(pageKey(tenant, page.page), encode({ keys: page.keys }));
    } catch (error) {
      page.stored = undefined;
      throw error;
    }
    const pages = this.#pages.get(tenant)!.filter((one) => one !== page);
    if (pages.length > 0) this.#pages.set(tenant, pages);
    else this.#pages.delete(tenant);
    for (const [name, pending] of this.#unflushed)
      if (pending.page === page.page) this.#unflushed.delete(name);
  }

  async destroy(tenant: string, kids: readonly string[]): Promise<void> {
    await this.flush();
    const destroyed = { destroyed_at: new Date(this.#now()).toISOString() };
    const byPage = Map.groupBy(kids, (kid) => kid.split(".")[1] ?? "");
    for (const [place, some] of byPage) {
      for (const kid of some) this.#opened.delete(`${tenant}/${kid}`);
      const [kind] = some[0]!.split(".");
      if (kind === "s") {
        for (const kid of some)
          await this.#store.put(subjectKey(tenant, place, Number(kid.split(".")[2])), encode(destroyed));
        continue;
      }
      const page = decode<Page>(await this.#store.get(pageKey(tenant, place)));
      if (!page) continue;
      for (const kid of some) page.keys[Number(kid.split(".")[2])] = destroyed;
      await this.#store.put(pageKey(tenant, place), encode(page));
    }
  }

  async kidsOf(tenant: string, subject: string): Promise<readonly string[]> {
    const tag = await this.tag(tenant, subjectText(subject));
    const kids: string[] = [];
    for (let n = 0; ; n++) {
      const entry = decode<Entry>(await this.#store.get(subjectKey(tenant, tag, n)));
      if (!entry) return kids;
      if ("wrapped" in entry) kids.push(`s.${tag}.${n}`);
    }
  }

  async tag(tenant: string, text: string): Promise<string> {
    const key = hkdfSync("sha256", await this.#tenantKey(tenant), "", "reprise tags v1", KEY_BYTES);
    return createHmac("sha256", Buffer.from(key)).update(text).digest("hex").slice(0, TAG_CHARS);
  }

  async #subjectKey(tenant: string, tenantKey: Uint8Array, subject: string): Promise<DataKey> {
    const tag = await this.tag(tenant, subjectText(subject));
    for (let n = 0; ; n++) {
      const kid = `s.${tag}.${n}`;
      const there = await this.open(tenant, kid);
      if (there === "destroyed") continue;
      if (there !== "unknown") return there;
      const key = toDataKey(kid, randomBytes(KEY_BYTES));
      const entry = { wrapped: wrapKey(key.key, tenantKey, contextOf(tenant, kid)) };
      const outcome = await this.#store.create(subjectKey(tenant, tag, n), encode(entry));
      if (outcome === "created") return this.#remember(tenant, key);
      n--;
    }
  }

  #openPage(tenant: string): OpenPage {
    const pages = this.#pages.get(tenant) ?? [];
    let page = pages.find(({ stored }) => stored === undefined);
    if (!page) {
      page = { page: randomBytes(9).toString("base64url"), keys: [], stored: undefined };
      this.#pages.set(tenant, [...pages, page]);
    }
    return page;
  }

  #pendingEntry(tenant: string, kid: string): Entry | undefined {
    const [, place, i] = kid.split(".");
    return this.#pages.get(tenant)?.find(({ page }) => page === place)?.keys[Number(i)];
  }

  async #readEntry(tenant: string, kid: string): Promise<Entry | undefined> {
    const [kind, place = "", i] = kid.split(".");
    if (kind === "s") return decode<Entry>(await this.#store.get(subjectKey(tenant, place, Number(i))));
    return decode<Page>(await this.#store.get(pageKey(tenant, place)))?.keys[Number(i)];
  }

  #tenantKey(tenant: string): Promise<Uint8Array> {
    let key = this.#tenantKeys.get(tenant);
    if (!key) {
      key = this.#readTenantKey(tenant);
      this.#tenantKeys.set(tenant, key);
      key.catch(() => this.#tenantKeys.delete(tenant));
    }
    return key;
  }

  async #readTenantKey(tenant: string): Promise<Uint8Array> {
    const place = `tenant/${tenant}/kek`;
    let wrapped = decode<{ wrapped: string }>(await this.#store.get(place))?.wrapped;
    if (wrapped === undefined) {
      const made = wrapKey(randomBytes(KEY_BYTES), this.#masterKey, place);
      const outcome = await this.#store.create(place, encode({ wrapped: made }));
      wrapped =
        outcome === "created" ? made : decode<{ wrapped: string }>(await this.#store.get(place))!.wrapped;
    }
    const key = unwrapKey(wrapped, this.#masterKey, place);
    if (!key) throw wrongMaster();
    return key;
  }

  #remember(tenant: string, key: DataKey): DataKey {
    const name = `${tenant}/${key.kid}`;
    this.#opened.delete(name);
    this.#opened.set(name, { key, atMs: this.#now() });
    if (this.#opened.size > MAX_CACHED) this.#opened.delete(this.#opened.keys().next().value!);
    return key;
  }
}

function subjectText(subject: string): string {
  return `subject:${subject}`;
}

function toDataKey(kid: string, key: Uint8Array): DataKey {
  return { kid, key, commitment: commitmentOf(key) };
}

function contextOf(tenant: string, kid: string): string {
  return `${tenant}/${kid}`;
}

function pageKey(tenant: string, page: string): string {
  return `tenant/${tenant}/page/${page}`;
}

function subjectKey(tenant: string, tag: string, n: number): string {
  return `tenant/${tenant}/subject/${tag}/${n}`;
}

function encode(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function decode<T>(bytes: Uint8Array | undefined): T | undefined {
  return bytes && (JSON.parse(Buffer.from(bytes).toString()) as T);
}

function wrongMaster(): RepriseError {
  return new RepriseError(
    "config_invalid",
    "The audit log's keys are under another master key than this one.",
  );
}
