import {
  type BlobId,
  type BlobRecord,
  type GenerationRequest,
  type MediaMap,
  RepriseError,
  type TenantId,
} from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { AllowedHost } from "../egress/allowed-hosts.ts";

/** Blobs of requests and of tools' answers. The extension for blobs implements it; a node without that refuses what names a blob. */
export interface RequestBlobs {
  /** Hosts that https URLs may lead to. Undefined: none is fetched. */
  readonly allowed: readonly AllowedHost[] | undefined;
  /**
   * Finds a blob and renews its time. One of another tenant or another end user is missing too.
   * @returns undefined if it is missing
   * @throws RepriseError `broker_unavailable`
   */
  use(tenant: TenantId, blob: BlobId, options: UseBlob): Promise<BlobRecord | undefined>;
  /**
   * Fetches the https URLs of a request into blobs.
   * @returns undefined if the request has no URL
   */
  fetch(request: GenerationRequest, options: FetchMedia): Promise<FetchedMedia | undefined>;
}

export interface UseBlob {
  readonly endUser: string | undefined;
  /** Milliseconds that the generation may run: its blobs are kept for at least as long. */
  readonly forMs: number;
}

export interface FetchMedia {
  readonly principal: Principal;
  /** Media that the request names by blob. */
  readonly media: MediaMap | undefined;
  /** Milliseconds that the generation may run. */
  readonly forMs: number;
}

export interface FetchedMedia {
  /** All that the request and its prompt name. */
  readonly media: MediaMap;
  /** Removes what this request has stored, unless it was found by another since. Errors are reported. */
  remove(): Promise<void>;
}

export function withoutBlobs(param: string): RepriseError {
  return new RepriseError("capability_unsupported", `${param}: this server stores no blobs.`, { param });
}
