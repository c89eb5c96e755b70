import { asStreamSeq } from "@reprise/protocol";
import { createNoteKey } from "../note/note-key.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { type Archive, openArchive } from "./archive.ts";
import type { Draft } from "./draft.ts";
import type { ArchiveState } from "./archive-state.ts";
import type { ArchiveRecord } from "./record.ts";

export const NAME = "test";
export const signer = createNoteKey(NAME, Buffer.alloc(32, 9));

export interface Writer {
  readonly archive: Archive;
  /** The errors that were reported to it. */
  readonly errors: unknown[];
}

/** Two writers of one name can make the very same commit, and would both have made it. */
let writers = 0;

export async function openWriter(store: BlobStore, name = `writer-${++writers}`): Promise<Writer> {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  return { archive: await openArchive({ store, name: NAME, writer: { name, signer, onError } }), errors };
}

/** A range of a stream with nothing in it that is to be archived. */
export function stretch(stream: string, first: number, last = first, tenants: Draft["tenants"] = []): Draft {
  return {
    lane: {
      stream,
      epoch: 0,
      created: "2026-11-21T00:00:00Z",
      first: asStreamSeq(first),
      last: asStreamSeq(last),
      last_seq_stored: asStreamSeq(0),
      last_at: 0,
      events: 0,
      gaps: [],
      skipped: [[asStreamSeq(first), asStreamSeq(last)]],
    },
    tenants,
  };
}

/** Returns a draft of the next place of a stream, after the archived ones. */
export function nextOf(state: ArchiveState, stream: string): Draft {
  return stretch(stream, (state.lanes.get(stream)?.last ?? 0) + 1);
}

/** A record of a tenant, which is one leaf of its tree. */
export function hold(id: string, tenant = "acme"): Draft {
  const record: ArchiveRecord = { kind: "hold_set", at: "2026-11-21T00:00:00Z", id, by: "ann", reason: "" };
  return { tenants: [{ tenant, leaves: [], files: [], removes: [], records: [record] }] };
}
