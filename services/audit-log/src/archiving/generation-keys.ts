import {
  type Archive,
  type ArchiveFile,
  type ByteRange,
  type DataKey,
  fingerprintOf,
  holdsFingerprint,
  type Keyring,
  openSegmentFile,
} from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { SKEW_US } from "@reprise/facts/lane";
import type { MessageOwner } from "./lane/lane-kind.ts";

const MAX_KNOWN = 50_000;

/**
 * Which key seals what of a generation. All its segments have one key as a rule: the one that its first was sealed with. Two archivers that
 * meet a new generation at the same moment may each make one; both are named where they were used.
 */
export class GenerationKeys {
  readonly #archive: Archive;
  readonly #keyring: Keyring;
  readonly #onDamaged: (error: unknown) => void;
  readonly #kids = new Map<string, string>();

  /** @param onDamaged called for files that can't be read: their keys are not known then */
  constructor(archive: Archive, keyring: Keyring, onDamaged: (error: unknown) => void = () => {}) {
    this.#archive = archive;
    this.#keyring = keyring;
    this.#onDamaged = onDamaged;
  }

  /**
   * For a log's first segment: the key of its subject, or one of its own.
   * @param sinceUs when its first message was stored: nothing of it is older, so nearly all files are passed over
   * @throws RepriseError `archive_unavailable`
   */
  async begin(owner: MessageOwner, subject: string | undefined, sinceUs: number): Promise<DataKey> {
    // Its verdict may have been archived before it, or itself, in an earlier epoch.
    if (subject === undefined) return this.#goOn(owner, sinceUs - SKEW_US);
    return this.#remember(owner, await this.#keyring.keyFor({ ...owner, subject }));
  }

  /**
   * For everything else of a generation.
   * @throws RepriseError `archive_unavailable`
   */
  goOn(owner: MessageOwner): Promise<DataKey> {
    return this.#goOn(owner, 0);
  }

  async #goOn(owner: MessageOwner, sinceUs: number): Promise<DataKey> {
    const kid = this.#kids.get(nameOf(owner)) ?? (await this.#findKid(owner, sinceUs));
    const key = kid === undefined ? "unknown" : await this.#keyring.open(owner.tenant, kid);
    // A key may have gone without the generation: with others of its subject, or with a day that is kept no longer.
    return this.#remember(owner, typeof key === "string" ? await this.#keyring.keyFor(owner) : key);
  }

  #remember(owner: MessageOwner, key: DataKey): DataKey {
    const name = nameOf(owner);
    this.#kids.delete(name);
    this.#kids.set(name, key.kid);
    const [oldest] = this.#kids.keys();
    if (oldest !== undefined && this.#kids.size > MAX_KNOWN) this.#kids.delete(oldest);
    return key;
  }

  /** After a restart the archive knows: most probably one of its newest files. */
  async #findKid({ tenant, generation }: MessageOwner, sinceUs: number): Promise<string | undefined> {
    const fingerprint = fingerprintOf(generation);
    for (const file of this.#archive.state.files(tenant).toReversed()) {
      if (file.last_at < sinceUs || !holdsFingerprint(file, fingerprint)) continue;
      const kid = await this.#kidIn(file, generation);
      if (kid) return kid;
    }
    return undefined;
  }

  /** One file that is damaged must not end archiving. */
  async #kidIn({ key, bytes }: ArchiveFile, generation: string): Promise<string | undefined> {
    const { store } = this.#archive;
    const read = async (range: ByteRange) => (await store.get(key, range)) ?? new Uint8Array();
    try {
      const [row] = await (await openSegmentFile(read, bytes)).rowsOf(generation);
      return row?.header.kid;
    } catch (error) {
      if (!(error instanceof RepriseError) || error.code !== "archive_corrupt") throw error;
      this.#onDamaged(error);
      return undefined;
    }
  }
}

function nameOf({ tenant, generation }: MessageOwner): string {
  return `${tenant}.${generation}`;
}
