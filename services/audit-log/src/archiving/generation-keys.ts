import {
  type Archive,
  type ByteRange,
  type DataKey,
  type Keyring,
  mayHold,
  openSegmentFile,
} from "@reprise/archive";
import type { MessageOwner } from "./lane-kind.ts";

const MAX_KNOWN = 50_000;

/**
 * Which key seals what of a generation. All its segments have one key as a rule: the one that its first was sealed with. Two archivers that
 * meet a new generation at the same moment may each make one; both are named where they were used.
 */
export class GenerationKeys {
  readonly #archive: Archive;
  readonly #keyring: Keyring;
  readonly #kids = new Map<string, string>();

  constructor(archive: Archive, keyring: Keyring) {
    this.#archive = archive;
    this.#keyring = keyring;
  }

  /**
   * For a log's first segment: the key of its subject, or one of its own.
   * @throws RepriseError `archive_unavailable`
   */
  async begin(owner: MessageOwner, subject: string | undefined): Promise<DataKey | "destroyed"> {
    // The log may be archived for the second time, in a later epoch.
    if (subject === undefined) return this.goOn(owner);
    return this.#remember(owner, await this.#keyring.keyFor({ ...owner, subject }));
  }

  /**
   * For everything else of a generation.
   * @throws RepriseError `archive_unavailable`
   */
  async goOn(owner: MessageOwner): Promise<DataKey | "destroyed"> {
    const kid = this.#kids.get(nameOf(owner)) ?? (await this.#findKid(owner));
    const key = kid === undefined ? "unknown" : await this.#keyring.open(owner.tenant, kid);
    if (key === "destroyed") return key;
    return this.#remember(owner, key === "unknown" ? await this.#keyring.keyFor(owner) : key);
  }

  #remember(owner: MessageOwner, key: DataKey): DataKey {
    const name = nameOf(owner);
    this.#kids.delete(name);
    this.#kids.set(name, key.kid);
    if (this.#kids.size > MAX_KNOWN) this.#kids.delete(this.#kids.keys().next().value!);
    return key;
  }

  /** After a restart the archive knows. */
  async #findKid({ tenant, generation }: MessageOwner): Promise<string | undefined> {
    const { state, store } = this.#archive;
    for (const file of state.files(tenant)) {
      if (!mayHold(file, generation)) continue;
      const read = async (range: ByteRange) => (await store.get(file.key, range)) ?? new Uint8Array();
      const [row] = await (await openSegmentFile(read, file.bytes)).rowsOf(generation);
      if (row) return row.header.kid;
    }
    return undefined;
  }
}

function nameOf({ tenant, generation }: MessageOwner): string {
  return `${tenant}.${generation}`;
}
